"""Clusters of public bug reports, and what consolidation makes of them (`tests/reports.toml`)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.engine.scenes import instance_type
from tests.lifecycle.pending import APART
from tests.policy.underused import (
    LARGE,
    SMALL,
    bought,
    going,
    look,
    node,
    pod,
    proposed,
    verdict_on,
)
from unmoor.model import names
from unmoor.model.settings import FEWEST_PODS
from unmoor.policy import candidates, consolidation, disruption_cost, drain
from unmoor.policy.command import Candidate
from unmoor.policy.verdict import Method, Reason

RATHER_APART = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "podAffinityTerm": {
                    "topologyKey": names.HOSTNAME,
                    "labelSelector": {"matchLabels": {"app": "dns"}},
                },
            }
        ]
    }
}


@pytest.mark.parametrize(
    "price",
    [0.6984, 0.6984 + 1e-13, 0.6984 - 1e-13, 0.7],
)
def test_c03_two_nodes_do_not_become_one_of_the_same_price(price: float) -> None:
    half = instance_type("c6a.2xlarge", cpu=8, memory_gib=16, pods=58, price=0.3492)
    whole = instance_type("c6a.4xlarge", cpu=16, memory_gib=32, pods=234, price=price)
    pods = [pod(f"{app}{on}-1", on, "3500m") for on in "ab" for app in ("web", "api")]

    proposal = proposed(node("a", half), node("b", half), *pods, types=(half, whole))

    assert going(proposal) == []


def test_c08_a_node_is_not_replaced_by_one_of_its_own_type() -> None:
    pods = [pod(f"web{number}-1", "a", "7") for number in range(4)]

    proposal = proposed(node("a", LARGE), *pods)

    assert going(proposal) == []
    assert verdict_on(proposal, "a").reason is Reason.NOT_CHEAPER


def test_c08_of_two_of_a_type_one_goes_and_none_is_bought() -> None:
    pods = [pod("web-1", "a", "100m"), pod("web-2", "a", "100m"), pod("api-1", "b", "100m")]

    proposal = proposed(node("a", SMALL), node("b", SMALL), *pods)

    assert (going(proposal), bought(proposal)) == (["b"], [])


@pytest.mark.parametrize(("of", "goes"), [(SMALL, False), (LARGE, True)])
def test_c09_pods_that_must_keep_apart_are_moved_to_a_cheaper_machine_at_most(
    of: Any, *, goes: bool
) -> None:
    nodes = [node(name, of) for name in "abc"]
    pods = [pod(f"web-{name}", name, "100m", spec={"affinity": APART}) for name in "abc"]

    proposal = proposed(*nodes, *pods)

    assert len(going(proposal)) == goes
    if goes:
        assert bought(proposal) == [("small", "medium")]


def test_c10_what_pods_would_rather_have_is_respected_and_said() -> None:
    """Nine pods that would rather be apart share a node; two others have room for all of them."""
    stays: dict[str, Any] = {"annotations": {names.DO_NOT_CONSOLIDATE: "true"}}
    nodes = [node("a"), node("b", **stays), node("c", **stays)]
    apart: dict[str, Any] = {"labels": {"app": "dns"}, "spec": {"affinity": RATHER_APART}}
    pods = [pod(f"dns-{i}", "a", "100m", **apart) for i in range(9)]

    told = verdict_on(proposed(*nodes, *pods), "a")

    assert told.reason is Reason.NEEDS_MACHINES
    assert told.message == "can't remove without creating 7 nodes"
    assert going(proposed(*nodes, *(pod(f"web{i}-1", "a", "100m") for i in range(9)))) == ["a"]


@pytest.mark.parametrize(
    ("more", "goes"),
    [
        ({}, False),
        ({"nodeTaintsPolicy": "Honor"}, False),
        ({"minDomains": 2}, False),
        ({"maxSkew": 2}, True),
        ({"whenUnsatisfiable": "ScheduleAnyway"}, False),
    ],
)
def test_c13_pods_spread_over_hosts_keep_their_nodes(more: dict[str, Any], *, goes: bool) -> None:
    """R50."""
    over_hosts = {
        "topologyKey": names.HOSTNAME,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    spec = {"topologySpreadConstraints": [over_hosts | more]}
    pods = [pod(f"web-{name}", name, "100m", spec=spec) for name in "abcde"]

    assert bool(going(proposed(*(node(name, SMALL) for name in "abcde"), *pods))) is goes


def test_c27_what_every_node_runs_does_not_make_one_full() -> None:
    """Of seven eighths of a node that agents take nothing moves; the rest fits elsewhere."""
    agent = [msgspec.to_builtins(builders.DAEMON_SET)]
    agents = [pod(f"agent-{on}", on, "1500m", owners=agent) for on in "ab"]
    mirror = [msgspec.to_builtins(builders.owner("Node", "a"))]

    proposal = proposed(
        node("a", SMALL),
        node("b", SMALL),
        *agents,
        pod("proxy-1", "a", "300m", owners=mirror),
        pod("web-1", "a", "50m"),
        *(pod(f"api-{i}", "b", "50m") for i in range(2)),
    )

    assert (going(proposal), bought(proposal)) == (["a"], [])


def test_c23_of_two_that_may_go_the_one_with_fewer_pods_does() -> None:
    """R8: as the page has it, however full it is; by the formula pods are weighed."""
    full = pod("big-1", "x", "1700m")
    crowd = [pod(f"web{i}-1", "y", "10m") for i in range(10)]
    room = node("z", LARGE, annotations={names.DO_NOT_CONSOLIDATE: "true"})

    ordered = [one.node.name for one in _ordered(node("x", SMALL), node("y", SMALL), full, *crowd)]
    held = proposed(node("x", SMALL), node("y", SMALL), room, full, *crowd)

    assert ordered == ["x", "y"]
    assert sorted(going(held)) == ["x", "y"]  # with room for both, both do


def _ordered(*objects: Any) -> list[Candidate]:
    seen = look(*objects)
    found = candidates.find(seen.view, Method.CONSOLIDATION, consolidation.wants, seen.moment)
    return disruption_cost.ordered(found.candidates, FEWEST_PODS, seen.moment)


def test_e23_a_single_replica_that_must_be_available_keeps_its_node() -> None:
    only = builders.budget("web", selector={"app": "web"}, healthy=1, needed=1)

    told = verdict_on(proposed(node("a"), node("b"), pod("web-1", "a"), only), "a")

    assert (told.reason, told.message) == (Reason.BUDGET, "pdb shop/web prevents pod evictions")
    words = drain.about_budgets(pod("web-1", "a"), (only,))
    assert "0 disruptions allowed (1 of 1 pods healthy, 1 needed)" in words
    assert "more ready pods or a wider budget would let it go" in words
