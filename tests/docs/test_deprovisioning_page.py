"""What docs/deprovisioning.md shows is taken, and means what the page says."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml

from tests.builders import moment
from tests.docs.test_docs import FENCE
from tests.policy.test_graceful import PROPOSE, due
from tests.policy.underused import LARGE, MEDIUM, SMALL, consolidated, look, node, pod, proposed
from tests.tidy import tree
from unmoor.lifecycle import commitment
from unmoor.model import names, settings
from unmoor.model.base import Object
from unmoor.model.provisioner import Provisioner, validate
from unmoor.model.snapshot import View
from unmoor.policy import budgets, methods, observing, pause
from unmoor.policy.command import Command, Proposal
from unmoor.policy.verdict import Method, Reason

TEXT = (tree.ROOT / "docs/deprovisioning.md").read_text()
BLOCKS = FENCE.findall(TEXT)
BODIES = [body for kind, block in BLOCKS if kind == "yaml" for body in yaml.safe_load_all(block)]
EXAMPLES = [block for kind, block in BLOCKS if kind == "text"]
PROVISIONERS = {
    body["metadata"]["name"]: msgspec.convert(body, Provisioner)
    for body in BODIES
    if body["kind"] == "Provisioner"
}
TYPES = {one.name: one for one in (SMALL, MEDIUM, LARGE)}
NODE = re.compile(r"node (\w+) (\w+)( spot| expired| drifted)?:(.*)")
DUE = {"expired": Method.EXPIRATION, "drifted": Method.DRIFT}


def objects_of(example: str) -> Iterator[Any]:
    for line in example.splitlines():
        if found := NODE.fullmatch(line):
            name, of, mark, pods = found.groups()
            if mark and mark.strip() in DUE:
                yield due(name, DUE[mark.strip()], of=TYPES[of])
            else:
                yield node(name, TYPES[of], kind=names.SPOT if mark else names.ON_DEMAND)
            for each in filter(None, pods.split(",")):
                called, cpu = each.split()
                yield pod(called, name, cpu)


def proposal_of(example: str) -> Proposal:
    """By the method that the example is of."""
    objects = tuple(objects_of(example))
    for word, of in DUE.items():
        if f" {word}:" in example:
            ttl_s = PROVISIONERS["renewing"].spec.ttl_seconds_until_expired
            owner = consolidated(consolidation=None, ttlSecondsUntilExpired=ttl_s)
            return PROPOSE[of](look(owner, *objects))
    return proposed(*objects)


def told(proposal: Proposal) -> list[str]:
    """As the log says a command, and each refusal, in a line."""
    if proposal.command is not None:
        return [_said(proposal.command)]
    return [f"{one.subject.name} stays: {one.message}" for one in proposal.verdicts]


def _said(command: Command) -> str:
    return commitment.commit(View(), command, moment()).why


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_comes_out_as_it_is_shown(example: str) -> None:
    shown = [line for line in example.splitlines() if not NODE.fullmatch(line)]

    assert told(proposal_of(example)) == shown


def test_each_search_has_its_example() -> None:
    assert len(EXAMPLES) == 8
    assert all(any(isinstance(one, tuple) for one in objects_of(each)) for each in EXAMPLES)


@pytest.mark.parametrize("name", sorted(PROVISIONERS))
def test_each_provisioner_is_in_order(name: str) -> None:
    assert validate(PROVISIONERS[name]) == ()


def test_the_careful_one_has_what_the_page_says() -> None:
    careful = PROVISIONERS["careful"]
    found, errors = budgets.budgets_of(careful)
    said = pause.read(careful.metadata.annotations[names.PAUSED])

    assert errors == ()
    assert [one.nodes for one in found] == ["10%", "0"]
    assert str(said) == "paused by anna until 2026-12-01T18:00:00Z: the database moves"
    assert observing.why(View(), Method.CONSOLIDATION, careful)


def test_the_settings_can_be_used() -> None:
    [config] = [body for body in BODIES if body["kind"] == "ConfigMap"]
    read, errors = settings.read(config["data"])

    assert errors == ()
    assert (read.observe, read.least_saving) == (("consolidation",), 0.2)
    assert config["metadata"]["name"] == settings.CONFIG_MAP_NAME
    named = set(re.findall(r"`(unmoor\.[a-z]\w+)[`:]", TEXT)) - {"unmoor.dev"}
    assert named <= {one.key for one in settings.SETTINGS}


def test_each_event_and_reason_of_the_tables_exists() -> None:
    said = TEXT.partition("## What is said")[2]
    events, reasons = said.split("| reason |")
    source = "".join(one.text for one in tree.sources() if one.path.startswith("src/unmoor/"))

    for row in re.findall(r"^\| (`.*?) \|", events, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", row):
            assert f'"{name}"' in source, name
    for row in re.findall(r"^\| (`.*?) \|", reasons, re.MULTILINE):
        for name in re.findall(r"`([a-z-]+)`", row):
            assert name in {str(one) for one in Reason}, name


def test_the_table_has_the_methods_in_their_order() -> None:
    rows = re.findall(r"^\| \[(\w+)\]\(#\1\) \|", TEXT, re.MULTILINE)

    assert rows == [str(row.method) for row in methods.METHODS]


def test_only_what_a_provisioner_asks_for_is_done() -> None:
    kept: list[Object] = [PROVISIONERS["emptying"], PROVISIONERS["consolidating"]]

    assert [bool(one.ttl_after_empty_s) for one in kept if isinstance(one, Provisioner)] == [
        True,
        False,
    ]
    assert [one.is_consolidation_enabled for one in kept if isinstance(one, Provisioner)] == [
        False,
        True,
    ]
