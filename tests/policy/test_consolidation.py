"""Which nodes are consolidated, with what, and the reason for each that stays (001:77-107)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at, budget
from tests.engine.scenes import instance_type
from tests.lifecycle.pending import APART, waiting
from tests.policy.underused import (
    HELD,
    LARGE,
    MEDIUM,
    SMALL,
    bought,
    consolidated,
    going,
    look,
    node,
    pod,
    proposed,
    two,
    verdict_on,
)
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase, MovedOwner
from unmoor.model.settings import LEAST_COST, Settings
from unmoor.policy import candidates, consolidation
from unmoor.policy.verdict import Method, Reason

# Replace (11.2).


def test_t007_a_dear_node_is_replaced_by_a_cheaper_one() -> None:
    proposal = proposed(node("a"), pod("web-1", "a"))

    assert going(proposal) == ["a"]
    assert bought(proposal) == [("small", "medium")]
    assert proposal.command is not None
    assert proposal.command.action == "consolidation/replace"
    assert proposal.command.saving_usd_per_h == pytest.approx(1.5)


def test_t008_a_provisioner_without_types_stands_in_nobodys_way() -> None:
    other = consolidated("other", requirements=[{"key": "x.y/z", "operator": "Exists"}])

    assert going(proposed(consolidated(), other, node("a"), pod("web-1", "a"))) == ["a"]


def test_t009_a_budget_keeps_a_node() -> None:
    proposal = proposed(node("a"), *(pod(f"web-{i}", "a") for i in range(3)), HELD)

    assert going(proposal) == []
    told = verdict_on(proposal, "a")
    assert (told.reason, told.event) == (Reason.BUDGET, "Unconsolidatable")  # R10
    assert told.message == "pdb shop/held prevents pod evictions"  # 001:106
    assert [one.kind for one in told.also_on] == ["Machine"]


def test_t011_a_budget_of_another_namespace_keeps_nothing() -> None:
    elsewhere = budget("held", namespace="other", allowed=0, selector={"app": "web"})

    assert going(proposed(node("a"), pod("web-1", "a"), elsewhere)) == ["a"]


def test_t012_the_one_that_must_not_be_consolidated_takes_the_pods() -> None:
    kept = node("b", annotations={names.DO_NOT_CONSOLIDATE: "true"})

    proposal = proposed(node("a"), kept, pod("web-1", "a"), pod("api-1", "b"))

    assert going(proposal) == ["a"]
    assert bought(proposal) == []
    told = verdict_on(proposal, "b")
    assert (told.reason, told.event) == (Reason.DO_NOT_CONSOLIDATE, "Unconsolidatable")


def spot_by_zone(name: str, *prices: float, on_demand: float | None = None) -> Any:
    made = instance_type(name, cpu=32, memory_gib=128, pods=100)
    zones = [("test-zone-1", "spot"), ("test-zone-2", "spot"), ("test-zone-3", "spot")]
    sold = [(*where, price) for where, price in zip(zones, prices, strict=False)]
    if on_demand is not None:
        sold += [("test-zone-1", "on-demand", on_demand)]
    offerings = tuple(
        builders.changed(made.offerings[0], zone=zone, capacity_type=kind, price_usd_per_h=price)
        for zone, kind, price in sold
    )
    return builders.changed(made, offerings=offerings)


def test_t013_the_dearest_spot_offering_counts() -> None:
    current = builders.changed(spot_by_zone("current", on_demand=0.5))
    other = spot_by_zone("other", 1.0, 0.2, 0.4)

    proposal = proposed(node("a", current), pod("web-1", "a"), types=(current, other))

    assert going(proposal) == []
    told = verdict_on(proposal, "a")
    assert (told.reason, told.event) == (Reason.NOT_CHEAPER, "Unconsolidatable")
    assert told.message == "can't replace with a cheaper node"  # 001:107


def test_t014_what_the_provisioner_does_not_allow_is_not_cheaper() -> None:
    current = spot_by_zone("current", on_demand=0.5)
    other = spot_by_zone("other", 0.2, on_demand=0.6)
    bought_only = [{"key": names.CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]}]

    proposal = proposed(
        consolidated(requirements=bought_only),
        node("a", current),
        pod("web-1", "a"),
        types=(current, other),
    )

    assert going(proposal) == []


# Delete (11.3). Nodes are of the cheapest type, so none is replaced.


def test_t016_the_node_with_the_fewest_pods_goes() -> None:
    proposal = two()

    assert going(proposal) == ["node2"]
    assert bought(proposal) == []
    assert proposal.command is not None
    assert proposal.command.saving_usd_per_h == pytest.approx(0.1)


def test_t018_pods_go_to_a_node_that_is_not_ours() -> None:
    stranger = builders.node("other", labels={names.PROVISIONER_NAME: ""}, is_ours=False)

    proposal = proposed(
        node("a", SMALL), *(pod(f"web-{i}", "a", "100m") for i in range(3)), stranger
    )

    assert going(proposal) == ["a"]


def test_t019_the_one_whose_budget_allows_it_goes() -> None:
    held = budget("held", namespace="shop", allowed=0, selector={"app": "api"})

    assert going(two(held, of_last={"labels": {"app": "api"}})) == ["node1"]


def test_t020_a_pod_that_must_not_be_evicted_keeps_its_node() -> None:
    kept = {"annotations": {names.DO_NOT_EVICT: "true"}}

    assert going(two(of_last=kept)) == ["node1"]


def test_t022_nobody_is_moved_onto_a_node_that_is_not_up() -> None:
    young = node("node1", SMALL, labels={names.INITIALIZED: ""})

    proposal = two(first=young)

    assert going(proposal) == []
    told = verdict_on(proposal, "node2")
    assert told.event == "Unconsolidatable"
    assert told.message == f"can't replace with a cheaper node; {consolidation.YOUNG}"
    full = two(pod("web-9", "node1", cpu="1800m"), first=young)
    assert verdict_on(full, "node2").message == "can't replace with a cheaper node"


def test_t024_a_pod_that_fits_nowhere_holds_nobody_back() -> None:
    """C18."""
    assert going(two(waiting("huge", cpu="1000"))) == ["node2"]


def test_t025_pods_that_need_their_own_node_keep_it() -> None:
    proposal = proposed(
        node("a", SMALL, labels={"example.com/foo": "1"}),
        node("b", SMALL, labels={"example.com/foo": "2"}),
        pod("web-1", "a", spec={"nodeSelector": {"example.com/foo": "1"}}),
        pod("api-1", "b", spec={"nodeSelector": {"example.com/foo": "2"}}),
    )

    assert going(proposal) == []
    assert "pod shop/web-1" in verdict_on(proposal, "a").message


def test_t026_what_expires_soon_counts_less_by_the_formula() -> None:
    old = node("node1", SMALL, created_at=at(-2.5))
    young = node("node2", SMALL, created_at=at(-0.5))
    expiring = consolidated(ttlSecondsUntilExpired=3)

    by_formula = two(
        expiring, first=old, second=young, settings=Settings(consolidation_order=LEAST_COST)
    )

    assert going(by_formula) == ["node1"]
    assert going(two(expiring, first=old, second=young)) == ["node2"]  # R8


def test_t028_pods_that_keep_apart_keep_their_nodes() -> None:
    nodes = [node(name, SMALL) for name in "abc"]
    pods = [pod(f"web-{name}", name, "100m", spec={"affinity": APART}) for name in "abc"]

    assert going(proposed(*nodes, *pods)) == []


def test_until_the_cloud_has_said_what_it_sells_nothing_goes_and_nobody_is_told() -> None:
    asked = look(node("a"), pod("web-1", "a"))
    asked.view._answers.clear()

    proposal = consolidation.propose(asked)

    assert going(proposal) == []
    assert (verdict_on(proposal, "a").reason, verdict_on(proposal, "a").event) == (
        Reason.TYPES_UNKNOWN,
        "",
    )


# Several (11.8).


def test_t037_three_dear_nodes_become_one_cheaper() -> None:
    proposal = proposed(*(node(n) for n in "abc"), *(pod(f"web{n}-1", n) for n in "abc"))

    assert going(proposal) == ["a", "b", "c"]
    assert bought(proposal) == [("medium",)]


def test_t038_two_of_the_cheapest_are_not_replaced_by_one_of_it() -> None:
    proposal = two()

    assert going(proposal) == ["node2"]
    assert bought(proposal) == []


def test_a_set_is_found_where_no_beginning_of_the_order_can_go() -> None:
    """The first of the order has one pod that fits nowhere else; the others can go."""
    stuck = node("a", LARGE, labels={"example.com/disk": "fast"})
    pinned = pod("db-1", "a", spec={"nodeSelector": {"example.com/disk": "fast"}})
    others = [node(name, LARGE) for name in "bcd"]
    pods = [pod(f"{app}{name}-1", name) for name in "bcd" for app in ("web", "api")]

    proposal = proposed(stuck, pinned, *others, *pods)

    assert going(proposal) == ["b", "c", "d"]
    assert bought(proposal) == []


# What is ours (R6, R9, R16, worth it).


def test_r6_what_is_not_switched_on_does_nothing() -> None:
    proposal = proposed(consolidated(consolidation={"enabled": False}), node("a"))

    assert going(proposal) == []
    assert verdict_on(proposal, "a").reason is Reason.NOT_CONFIGURED
    assert verdict_on(proposal, "a").event == ""  # R10


# T055
def test_empty_nodes_go_together_and_first() -> None:
    proposal = proposed(node("a"), node("b"), node("c"), pod("web-1", "c"))

    assert going(proposal) == ["a", "b"]
    assert proposal.command is not None
    assert proposal.command.reason == "empty"
    assert proposal.command.saving_usd_per_h == pytest.approx(3.2)


def test_r9_a_spot_node_is_not_replaced() -> None:
    proposal = proposed(node("a", kind="spot"), pod("web-1", "a"))

    assert going(proposal) == []
    assert verdict_on(proposal, "a").reason is Reason.SPOT_TO_SPOT


def test_r9_a_spot_node_goes_when_its_pods_fit_elsewhere() -> None:
    proposal = proposed(
        node("a", kind="spot"), node("b"), pod("web-1", "a"), pod("api-1", "b", "8")
    )

    assert "a" in going(proposal)


@pytest.mark.parametrize(("cheaper", "goes"), [(15, True), (14, False)])
def test_c06_spot_by_spot_needs_fifteen_cheaper_types(cheaper: int, *, goes: bool) -> None:
    many = [
        instance_type(f"t{i:02}", cpu=2, memory_gib=8, pods=100, price=0.1) for i in range(cheaper)
    ]
    allowed = Settings(spot_to_spot=True)

    proposal = proposed(
        node("a", kind="spot"), pod("web-1", "a"), types=(*many, LARGE), settings=allowed
    )

    assert going(proposal) == (["a"] if goes else [])
    if not goes:
        assert "where 15 cheaper types would do" in verdict_on(proposal, "a").message
        assert "here 14 would" in verdict_on(proposal, "a").message


@pytest.mark.parametrize(("share", "goes"), [(0.5, True), (0.51, False), (0.0, True)])
def test_a_replacement_must_save_its_share(share: float, *, goes: bool) -> None:
    proposal = proposed(node("a", MEDIUM), pod("web-1", "a"), settings=Settings(least_saving=share))

    assert going(proposal) == (["a"] if goes else [])
    if not goes:
        assert "unmoor.leastSaving (0.51)" in verdict_on(proposal, "a").message


@pytest.mark.parametrize(
    ("after_s", "goes"), [(1_799.0, False), (1_800.0, True), (-1_799.0, False), (-1_800.0, True)]
)
def test_no_replacement_moves_a_workload_again_soon(after_s: float, *, goes: bool) -> None:
    moved = MovedOwner(kind="ReplicaSet", namespace="shop", name="web", uid="uid-ReplicaSet-web")
    before = builders.disruption(
        "consolidation-1", phase=DisruptionPhase.SUCCEEDED, finished_at=at(0)
    )
    before = builders.changed(before, spec=builders.changed(before.spec, moved=(moved,)))

    proposal = proposed(node("a"), pod("web-1", "a"), before, after_s=after_s)

    assert going(proposal) == (["a"] if goes else [])
    if not goes:
        assert (
            "ReplicaSet shop/web was moved by consolidation-1" in verdict_on(proposal, "a").message
        )


@pytest.mark.parametrize("price", [None, 0.0])
def test_what_has_no_price_is_not_replaced(price: float | None) -> None:
    unknown = instance_type("odd", cpu=32, memory_gib=128, pods=100, price=price)

    proposal = proposed(node("a", unknown), pod("web-1", "a"), types=(SMALL, unknown))

    assert going(proposal) == []
    assert verdict_on(proposal, "a").reason is Reason.PRICE_UNKNOWN


@pytest.mark.parametrize("price", [None, 0.0])
def test_nothing_without_a_price_is_a_replacement(price: float | None) -> None:
    unknown = instance_type("odd", cpu=2, memory_gib=8, pods=100, price=price)

    proposal = proposed(node("a"), pod("web-1", "a"), types=(unknown, LARGE))

    assert going(proposal) == []
    assert verdict_on(proposal, "a").reason is Reason.NOT_CHEAPER


def test_pods_that_come_later_can_make_it_wrong() -> None:
    nodes = (node("a", SMALL), node("b", SMALL))
    before = look(*nodes, pod("web-1", "a"), pod("api-1", "b", "100m"))
    assert going(consolidation.propose(before)) == ["a"]

    after = look(*nodes, pod("web-1", "a"), pod("api-1", "b", "1800m"))
    found = candidates.find(after.view, Method.CONSOLIDATION, consolidation.wants, after.moment)
    nodes_of_it = [one for one in found.candidates if one.node.name == "a"]

    why = consolidation.holds(after, builders.disruption(), nodes_of_it)

    assert why is not None
    assert why.reason is Reason.NOT_CHEAPER
    assert consolidation.holds(before, builders.disruption(), nodes_of_it) is None


# What the page says besides.


def test_a_preference_keeps_a_node() -> None:
    """001:68: what the scheduler would do without, consolidation does not."""
    apart = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "podAffinityTerm": {
                        "topologyKey": names.HOSTNAME,
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    },
                }
            ]
        }
    }
    nodes = (node("a", SMALL), node("b", SMALL))
    pods = [pod(f"web-{name}", name, "100m", spec={"affinity": apart}) for name in "ab"]

    assert going(proposed(*nodes, *pods)) == []
    assert going(proposed(*nodes, *(pod(f"web-{name}", name, "100m") for name in "ab"))) == ["a"]


def test_more_than_one_new_machine_is_no_replacement() -> None:
    pods = [pod(f"web-{number}", "a", spec={"affinity": APART}) for number in range(3)]

    proposal = proposed(node("a"), *pods)

    assert going(proposal) == []
    told = verdict_on(proposal, "a")
    assert (told.reason, told.message) == (
        Reason.NEEDS_MACHINES,
        "can't remove without creating 3 nodes",
    )
