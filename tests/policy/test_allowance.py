"""How many nodes of a provisioner go, with those that are going already (spec 4.3)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.builders import at
from tests.engine.scenes import instance_type
from tests.lifecycle.pending import waiting
from tests.policy.underused import LARGE, SMALL, TYPES, consolidated, look, node, pod
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.settings import Settings
from unmoor.policy import consolidation
from unmoor.policy.command import Proposal
from unmoor.policy.verdict import Reason


def limited(*written: dict[str, Any], name: str = "default") -> Object:
    made = consolidated(name)
    made.metadata.annotations[names.BUDGETS] = msgspec.json.encode(written).decode()
    return made


def proposed(*objects: Any, **given: Any) -> Proposal:
    return consolidation.propose(look(*objects, **given))


def going(proposal: Proposal) -> list[str]:
    return [] if proposal.command is None else [one.name for one in proposal.command.nodes]


def empties(count: int, **given: Any) -> list[Any]:
    return [node(f"n{number}", SMALL, **given) for number in range(count)]


@pytest.mark.parametrize(("nodes", "most"), [("0", 0), ("2", 2), ("40%", 2), ("9", 5)])
def test_so_many_empty_nodes_go_at_once(nodes: str, most: int) -> None:
    proposal = proposed(limited({"nodes": nodes}), *empties(5))

    assert going(proposal) == [f"n{number}" for number in range(most)]
    held = [one for one in proposal.verdicts if one.reason is Reason.BUDGET_SPENT]
    assert len(held) == 5 - most
    if held:
        assert f"a budget allows {nodes} of 5 nodes to be going" in held[0].message


@pytest.mark.parametrize(
    "gone",
    [{"deleted_at": at(0)}, {"disruption": "drift-1"}, {"is_ready": False}],
)
def test_what_goes_already_uses_it_up(gone: dict[str, Any]) -> None:
    busy = node("z", SMALL, **gone)

    assert going(proposed(limited({"nodes": "2"}), *empties(3), busy)) == ["n0"]


def test_w08_nodes_that_are_not_up_yet_do_not_enlarge_a_share() -> None:
    young = [node(f"y{i}", SMALL, labels={names.INITIALIZED: ""}) for i in range(10)]

    assert len(going(proposed(limited({"nodes": "10%"}), *empties(10), *young))) == 1


def test_w10_what_goes_already_is_not_counted_twice() -> None:
    busy = node("z", SMALL)
    ends = builders.changed(busy[1], metadata__deletion_timestamp=at(0))

    assert len(going(proposed(limited({"nodes": "100%"}), *empties(9), (busy[0], ends)))) == 9


def test_each_reason_has_its_own() -> None:
    full = [pod("web-1", "n0", "100m"), pod("api-1", "n1", "100m")]
    for_empty = limited({"nodes": "0", "reasons": ["Empty"]})
    for_filled = limited({"nodes": "0", "reasons": ["Underutilized"]})

    assert going(proposed(for_empty, *empties(2), *full)) == ["n0"]
    assert going(proposed(for_filled, *empties(2), *full)) == []
    assert going(proposed(for_filled, *empties(3), *full)) == ["n2"]


def test_one_that_cannot_be_read_holds_its_own_provisioner_alone() -> None:
    """W01: other provisioners go on."""
    broken, other = limited({"nodes": "many"}), consolidated("other")
    nodes = [node("a", SMALL), node("b", SMALL, provisioner="other")]

    proposal = proposed(broken, other, *nodes)

    assert going(proposal) == ["b"]
    [held] = [one for one in proposal.verdicts if one.subject.name == "a"]
    assert "[0].nodes" in held.message


@pytest.mark.parametrize(("nodes", "most"), [("1", 1), ("2", 2)])
def test_who_is_empty_and_who_is_not_use_up_the_same(nodes: str, most: int) -> None:
    """The empty one is needed for a pod that waits, so only both together could be replaced."""
    between = instance_type("between", cpu=64, memory_gib=128, pods=100, price=2.0)
    full = (node("e", LARGE), node("f", LARGE), pod("web-1", "f", "31"), waiting("new", cpu="20"))

    proposal = proposed(limited({"nodes": nodes}), *full, types=(*TYPES, between))

    assert len(going(proposal)) <= most
    assert (len(going(proposal)) == 2) is (most == 2)


@pytest.mark.parametrize(
    ("limits", "busy", "count", "words"),
    [
        ({}, 0, 6, ""),
        ({"nodes_going_most": 2}, 0, 2, "unmoor.nodesGoingMost lets 2 nodes go at once"),
        ({"nodes_going_most": 2}, 1, 1, "and 2 go"),
        ({"nodes_going_most": 1}, 1, 0, "and 1 go"),
        ({"nodes_going_most": 0}, 0, 0, "lets 0 nodes go at once"),
        ({"nodes_going_most_of_one": 2}, 0, 4, "unmoor.nodesGoingMostPerProvisioner lets 2 nodes"),
        ({"nodes_going_most_of_one": 2}, 1, 3, "nodes of default go at once, and 2 go"),
        ({"nodes_going_most_of_one": 2, "nodes_going_most": 3}, 0, 3, "unmoor.nodesGoingMost "),
    ],
)
def test_so_many_nodes_are_going_at_once_at_most(
    limits: dict[str, Any], busy: int, count: int, words: str
) -> None:
    """Those of the command and those that are deleted, or in a command, already."""
    leaving = [node(f"z{number}", SMALL, disruption="drift-1") for number in range(busy)]
    others = [node(f"m{number}", SMALL, provisioner="other") for number in range(3)]
    both = (consolidated(), consolidated("other"))

    proposal = proposed(*both, *empties(3), *others, *leaving, settings=Settings(**limits))

    assert len(going(proposal)) == count
    held = [one for one in proposal.verdicts if one.reason is Reason.AT_LIMIT]
    assert len(held) == 6 - count
    assert all(words in " | ".join(one.message for one in held) for _ in held)


def test_a_node_that_is_not_ready_uses_up_budgets_and_no_limit() -> None:
    broken = node("z", SMALL, is_ready=False)

    assert len(going(proposed(*empties(3), broken, settings=Settings(nodes_going_most=2)))) == 2


@pytest.mark.parametrize("limits", [{"nodes_going_most": 1}, {"nodes_going_most_of_one": 1}])
def test_the_first_that_cannot_go_does_not_stand_in_the_way_of_the_next(
    limits: dict[str, Any],
) -> None:
    """Where one may go, each is looked at: not only the first of the order."""
    own = {"nodeSelector": {"example.com/foo": "1"}}
    first = node("a", SMALL, labels={"example.com/foo": "1"})
    pods = [pod("web-1", "a", "100m", spec=own), pod("api-1", "b", "100m"), pod("api-2", "b", "1m")]
    nodes = [
        first,
        node("b", SMALL),
        node("c", SMALL),
        pod("db-1", "c", "1"),
        pod("db-2", "c", "1m"),
    ]
    nodes.append(pod("db-3", "c", "1m"))

    assert going(proposed(*nodes, *pods, settings=Settings(**limits))) == ["b"]
    assert going(proposed(limited({"nodes": "1"}), *nodes, *pods)) == ["b"]


def test_several_go_together_within_the_limit() -> None:
    nodes = [node(name, SMALL) for name in "abcd"]
    pods = [pod(f"{name}-1", name, "100m") for name in "abcd"]

    assert len(going(proposed(*nodes, *pods))) == 3
    assert len(going(proposed(*nodes, *pods, settings=Settings(nodes_going_most=2)))) == 2
