"""Taints and tolerations, as the scheduler and the node controller read them."""

from datetime import UTC, datetime

import msgspec
import pytest

from unmoor.model import taint
from unmoor.model.taint import Taint, Toleration

SPOT = Taint(key="spot", value="true", effect="NoSchedule")


def toleration(key: str = "", operator: str = "", value: str = "", effect: str = "") -> Toleration:
    return Toleration(key=key, operator=operator, value=value, effect=effect)


@pytest.mark.parametrize(
    ("one", "is_tolerated"),
    [
        (toleration("spot", "Equal", "true", "NoSchedule"), True),
        (toleration("spot", "", "true", "NoSchedule"), True),
        (toleration("spot", "Equal", "true"), True),
        (toleration("spot", "Equal", "false"), False),
        (toleration("spot", "Equal"), False),
        (toleration("spot", "Exists"), True),
        (toleration("other", "Exists"), False),
        (toleration("spot", "Exists", effect="NoExecute"), False),
        (toleration("", "Exists"), True),
        (toleration("", "Exists", effect="NoSchedule"), True),
        (toleration("", "Exists", effect="NoExecute"), False),
        (toleration("spot", "exists"), False),
        (toleration("spot", "In", "true"), False),
    ],
)
def test_what_a_toleration_covers(one: Toleration, *, is_tolerated: bool) -> None:
    assert taint.tolerates(one, SPOT) is is_tolerated


@pytest.mark.parametrize(
    ("operator", "tolerated", "tainted", "expected"),
    [
        ("Gt", "100", "200", True),
        ("Gt", "200", "100", False),
        ("Gt", "100", "100", False),
        ("Lt", "200", "100", True),
        ("Lt", "100", "200", False),
        ("Lt", "100", "100", False),
        ("Gt", "-100", "-50", True),
        ("Lt", "0", "-1", True),
        ("Gt", "0", "9223372036854775807", True),
        ("Gt", "0", "9223372036854775808", False),
        ("Lt", "0", "-9223372036854775808", True),
        ("Gt", "0100", "200", False),
        ("Gt", "+100", "200", False),
        ("Gt", "1.5", "200", False),
        ("Gt", "", "200", False),
        ("Gt", "100", "many", False),
        ("Lt", "100", " 5 ", False),
        ("Lt", "100", "-0", False),
    ],
)
def test_numbers_compare_the_taint_with_the_toleration(
    operator: str, tolerated: str, tainted: str, *, expected: bool
) -> None:
    failing = Taint(key="failing", value=tainted, effect="NoSchedule")

    assert taint.tolerates(toleration("failing", operator, tolerated), failing) is expected


def test_preferences_keep_nobody_out_unless_asked_for() -> None:
    hint = Taint(key="busy", effect="PreferNoSchedule")

    assert taint.tolerates_all((), (hint,))
    assert not taint.tolerates_all((), (hint,), effects=taint.EFFECTS)


def test_the_first_taint_in_the_way_is_the_witness() -> None:
    gpu = Taint(key="gpu", effect="NoExecute")

    assert taint.first_untolerated((), (SPOT, gpu)) == SPOT
    assert taint.first_untolerated((toleration("spot", "Exists"),), (SPOT, gpu)) == gpu
    assert taint.first_untolerated((toleration("", "Exists"),), (SPOT, gpu)) is None


def test_a_taint_is_its_key_and_effect() -> None:
    other_value = Taint(key="spot", value="false", effect="NoSchedule")
    other_effect = Taint(key="spot", value="true", effect="NoExecute")

    assert taint.is_same(SPOT, other_value)
    assert not taint.is_same(SPOT, other_effect)
    assert taint.has((other_value,), SPOT)
    assert not taint.has((other_effect,), SPOT)


def test_merging_keeps_what_is_there() -> None:
    there = Taint(
        key="spot", value="old", effect="NoSchedule", time_added=datetime(2026, 1, 1, tzinfo=UTC)
    )
    added = Taint(key="gpu", effect="NoSchedule")

    assert taint.merge((there,), (SPOT, added, added)) == (there, added)
    assert taint.without((there, added), (SPOT,)) == (added,)


def test_a_taint_is_written_as_kubectl_writes_it() -> None:
    assert str(SPOT) == "spot=true:NoSchedule"
    assert str(Taint(key="gpu", effect="NoExecute")) == "gpu:NoExecute"


def test_wire_names() -> None:
    raw = b'{"key":"a","operator":"Exists","tolerationSeconds":5}'
    assert msgspec.json.decode(raw, type=Toleration).toleration_seconds == 5

    raw = b'{"key":"a","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}'
    assert msgspec.json.decode(raw, type=Taint).time_added == datetime(2026, 1, 1, tzinfo=UTC)
