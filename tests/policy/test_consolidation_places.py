"""Whose pods fit where when nodes go: budgets, young nodes, spreading (11.2 to 11.4)."""

from __future__ import annotations

from typing import Any

from tests import builders
from tests.lifecycle.pending import waiting
from tests.policy.underused import (
    HELD,
    LARGE,
    SMALL,
    bought,
    consolidated,
    going,
    node,
    pod,
    proposed,
    two,
)
from unmoor.model import names


def test_t010_pods_that_are_not_ready_may_go_where_their_budget_says_so() -> None:
    always = builders.changed(
        HELD, spec=builders.changed(HELD.spec, unhealthy_pod_eviction_policy="AlwaysAllow")
    )
    sick: dict[str, Any] = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}

    assert going(proposed(node("a"), pod("web-1", "a", **sick), always)) == ["a"]
    assert going(proposed(node("a"), pod("web-1", "a", **sick), HELD)) == []


def test_t017_a_provisioner_without_types_changes_nothing_for_a_deletion() -> None:
    other = consolidated("other", requirements=[{"key": "x.y/z", "operator": "Exists"}])

    assert going(two(consolidated(), other)) == ["node2"]


def test_t021_pods_without_an_owner_hold_nothing_back() -> None:
    nodes = (node("node1", SMALL), node("node2", SMALL))
    naked = [pod(f"web-{number}", "node1", "100m", owners=[]) for number in range(2)]

    assert going(proposed(*nodes, *naked, pod("api-1", "node2", "100m"))) == ["node2"]


def test_t023_of_many_nodes_the_one_that_is_up_takes_the_pod() -> None:
    young: dict[str, Any] = {"labels": {names.INITIALIZED: ""}}
    up: dict[str, Any] = {"annotations": {names.DO_NOT_CONSOLIDATE: "true"}}
    given = [up if number == 37 else young for number in range(99)]
    others = [node(f"n{number:02}", LARGE, **one) for number, one in enumerate(given)]
    pods = [pod(f"web{number}-1", f"n{number:02}", "2") for number in range(99)]

    proposal = proposed(node("small", SMALL), pod("api-1", "small"), *others, *pods)

    assert going(proposal) == ["small"]
    assert bought(proposal) == []
    assert proposal.command is not None
    assert proposal.command.plan.placements == {("shop", "api-1"): "n37"}


def test_t027_a_replacement_keeps_the_pods_spread() -> None:
    spread = {
        "topologySpreadConstraints": [
            {
                "topologyKey": names.ZONE,
                "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    }
    nodes = [
        node(f"n{zone}", of, labels={names.ZONE: f"test-zone-{zone}"})
        for zone, of in ((1, SMALL), (2, LARGE), (3, SMALL))
    ]
    pods = [pod(f"web-{zone}", f"n{zone}", "1", spec=spread) for zone in (1, 2, 3)]

    proposal = proposed(*nodes, *pods)

    assert going(proposal) == ["n2"]
    assert proposal.command is not None
    [machine] = proposal.command.replacements
    assert machine.instance_types == ("small", "medium")
    assert machine.requirements.get(names.ZONE).values == {"test-zone-2"}


def test_t036_a_node_that_is_needed_for_pods_of_one_that_goes_stays() -> None:
    gone = node("a", SMALL, deleted_at=builders.at(0))
    needed = (gone, node("c", SMALL), pod("web-1", "a", "1500m"))

    assert going(proposed(*needed)) == []
    assert going(proposed(*needed, node("d", SMALL))) == ["c"]  # either would do


def test_t056_a_node_that_a_waiting_pod_needs_is_not_replaced_by_a_smaller_one() -> None:
    assert going(proposed(node("a"), pod("web-1", "a"))) == ["a"]
    assert going(proposed(node("a"), pod("web-1", "a"), waiting("large-1", cpu="30"))) == []
