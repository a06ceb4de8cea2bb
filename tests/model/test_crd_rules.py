"""The patterns in our definitions mean what the readers of the same texts mean."""

import re
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from unmoor.model import crd_rules, kubelet, names, quantity
from unmoor.model.kubelet import KubeletConfiguration
from unmoor.model.validation import Findings

NUMBERS = st.text("019.+-eEkMGimn%", max_size=7) | st.from_regex(
    r"[+-]?[01]{0,3}\.?[09]{0,2}([eE][+-]?[0-9]|[nmkM]|[KM]i)?%?", fullmatch=True
)
DURATIONS = st.text("019.+-hmsnu\u00b5\u03bcd", max_size=7) | st.from_regex(
    r"[+-]?([01]?\.?[09]?([hmds]|[mnu\u00b5\u03bc]s)?){0,2}", fullmatch=True
)
NAMES = st.text("aA0-_./ \n", max_size=9) | st.text("a", min_size=60, max_size=66)


def fits(pattern: str, text: str) -> bool:
    """As the server has it: there "$" is the end of the text."""
    return re.search(pattern.removesuffix("$") + r"\Z", text) is not None


def is_taken(judge: Callable[[Findings], object]) -> bool:
    findings = Findings("it")
    judge(findings)
    return not findings.errors


@given(NUMBERS)
def test_an_amount_is_a_quantity_that_is_not_negative(text: str) -> None:
    is_amount = quantity.is_quantity(text) and quantity.parse(text) >= 0

    assert fits(crd_rules.AMOUNT, text) == is_amount


@given(NUMBERS)
def test_a_threshold_is_an_amount_or_a_percentage(text: str) -> None:
    configuration = KubeletConfiguration(eviction_hard={"memory.available": text})
    is_threshold = is_taken(lambda findings: kubelet.check(findings, "it", configuration))

    assert fits(crd_rules.THRESHOLD, text) == is_threshold


@given(DURATIONS)
def test_a_duration_is_one_that_is_not_negative(text: str) -> None:
    is_duration = is_taken(lambda findings: findings.duration("it", text))

    assert fits(crd_rules.DURATION, text) == is_duration


@given(NAMES)
def test_a_key_is_a_qualified_name(text: str) -> None:
    assert fits(crd_rules.QUALIFIED_NAME, text) == (not names.qualified_name_problem(text))


@given(NAMES)
def test_a_value_is_one_of_a_label(text: str) -> None:
    assert fits(crd_rules.LABEL_VALUE, text) == (not names.label_value_problem(text))
