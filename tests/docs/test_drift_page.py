"""What docs/drift.md shows is taken, and means what the page says."""

import re
from datetime import UTC, datetime

import msgspec
import pytest
import yaml

from tests.docs.test_docs import FENCE
from tests.policy.test_drift_examples import finding
from tests.tidy import tree
from unmoor.model import settings
from unmoor.model.drift_fields import NODE_TEMPLATE, PROVISIONER, Reason
from unmoor.model.provisioner import Provisioner, validate
from unmoor.model.static_hash import DIGITS, SHOWN_CHARS_MAX
from unmoor.policy import budgets

TEXT = (tree.ROOT / "docs/drift.md").read_text()
BLOCKS = FENCE.findall(TEXT)
BODIES = {
    body["metadata"]["name"]: body
    for kind, block in BLOCKS
    if kind == "yaml"
    for body in yaml.safe_load_all(block)
}
EXAMPLES = [block for kind, block in BLOCKS if kind == "text"]
FIELD = re.compile(rf"({PROVISIONER}|{NODE_TEMPLATE}) (\w+): (.*)")
LABEL = re.compile(r"label (.+)=(.+) on the node")


def told(example: str) -> str:
    """What its Machine says in the end."""
    before: dict[tuple[str, str], str] = {}
    now: dict[tuple[str, str], str] = {}
    labels, image = {}, ""
    for line in example.splitlines():
        when, _, what = line.partition(": ")
        if found := FIELD.fullmatch(what):
            kind, field, value = found.groups()
            (before if when == "before" else now)[kind, field] = value
        elif found := LABEL.fullmatch(what):
            labels[found[1]] = found[2]
        elif what.startswith("image "):
            image = what.removeprefix("image ")
        else:
            assert when == "told"
    said = finding(before, now, image, labels)
    assert said.unknown == ()
    return f"{said.differences[0].reason}: {said.message}" if said.differences else "nothing"


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_comes_out_as_it_is_shown(example: str) -> None:
    *_, last = example.splitlines()

    assert f"told: {told(example)}" == last


def test_there_are_examples_of_what_is_drift_and_what_is_not() -> None:
    shown = [example.splitlines()[-1] for example in EXAMPLES]

    assert len(shown) == 7
    assert shown.count("told: nothing") == 2


def test_the_table_has_each_reason_in_its_order() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)

    assert rows == [str(one) for one in Reason]


def test_what_is_not_shown_is_as_long_as_the_page_says() -> None:
    assert f"more than {SHOWN_CHARS_MAX} characters" in TEXT
    assert f"`#` and {DIGITS} digits" in TEXT


def test_the_settings_can_be_used() -> None:
    read, errors = settings.read(BODIES[settings.CONFIG_MAP_NAME]["data"])

    assert errors == ()
    assert (read.observe, read.drift_share_most) == (("drift",), 0.5)
    named = set(re.findall(r"`((?:unmoor|featureGates|cadence)\.[a-z]\w+)[`:]", TEXT))
    assert named - {"unmoor.dev"} <= {one.key for one in settings.SETTINGS}


@pytest.mark.parametrize(
    ("at", "most"),
    [
        ("2026-11-27T09:01", 2),  # a Friday
        ("2026-11-27T16:59", 2),
        ("2026-11-27T17:01", 0),
        ("2026-11-28T12:00", 0),
        ("2026-11-30T08:59", 0),
        ("2026-11-30T09:01", 2),
    ],
)
def test_the_provisioner_drifts_by_day(at: str, most: int) -> None:
    by_day = msgspec.convert(BODIES["by-day"], Provisioner)
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    found, errors = budgets.budgets_of(by_day)

    assert validate(by_day) == ()
    assert (len(found), errors) == (3, ())
    assert budgets.allowed(by_day, budgets.DRIFTED, 100, moment).most == most
    assert budgets.allowed(by_day, budgets.EMPTY, 100, moment).most is None
