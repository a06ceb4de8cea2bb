"""Which nodes go together: never worse than the bisection, never what the oracle refuses."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from tests.engine.scenes import instance_type
from tests.lifecycle.pending import APART
from tests.policy.underused import LARGE, MEDIUM, SMALL, bought, going, look, node, pod, proposed
from unmoor.engine.oracle import solve
from unmoor.engine.scenery import Scenery
from unmoor.model import kinds, names
from unmoor.policy import candidates, consolidation, disruption_cost, multi_node
from unmoor.policy.command import Candidate
from unmoor.policy.look import Look
from unmoor.policy.removal import Removal, removal_of
from unmoor.policy.room import Room
from unmoor.policy.set_search import Purse
from unmoor.policy.verdict import Method

SEEDS = range(12)
ALL = 10**9


def drawn(seed: int) -> Look:
    """A small cluster at about half its requests, with some that keep apart, in three zones."""
    dice = Random(f"multi-node/{seed}")
    objects: list[Any] = []
    for number in range(dice.randint(4, 9)):
        name = f"n{number}"
        of = dice.choice((SMALL, MEDIUM, MEDIUM, LARGE))
        kind = dice.choice((names.ON_DEMAND, names.ON_DEMAND, names.SPOT))
        objects.append(node(name, of, kind=kind))
        left = of.allocatable["cpu"] * dice.uniform(0.1, 0.8)
        while left >= 100:
            cpu = dice.choice((100, 300, 700, 1500))
            spec = {"affinity": APART} if dice.random() < 0.15 else {}
            if cpu <= left:
                objects.append(pod(f"web{len(objects)}-1", name, f"{cpu}m", spec=spec))
            left -= cpu
    return look(*objects)


def ordered(asked: Look) -> list[Candidate]:
    found = candidates.find(asked.view, Method.CONSOLIDATION, consolidation.wants, asked.moment)
    order = asked.view.settings.consolidation_order
    eligible = (one for one in found.candidates if one.pods)
    return disruption_cost.ordered(eligible, order, asked.moment)


def bisected_by_hand(asked: Look, eligible: list[Candidate]) -> Removal | None:
    """The bisection as the page has it, in which every prefix is simulated."""
    best, low, high = None, 1, len(eligible) - 1
    while low <= high:
        middle = (low + high) // 2
        removal = removal_of(asked, eligible[: middle + 1])
        if isinstance(removal, Removal):
            best, low = removal, middle + 1
        else:
            high = middle - 1
    return best


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bisection_loses_nothing_by_what_it_does_not_simulate(seed: int) -> None:
    asked = drawn(seed)
    eligible = ordered(asked)
    assert asked.simulation is not None
    room, purse = Room(asked.simulation, eligible), Purse(ALL)

    assert multi_node.bisected(asked, eligible, room, purse) == bisected_by_hand(asked, eligible)


@pytest.mark.parametrize("seed", SEEDS)
def test_never_less_is_saved_than_by_the_bisection(seed: int) -> None:
    asked = drawn(seed)
    eligible = ordered(asked)

    best, plain = multi_node.find(asked, eligible), bisected_by_hand(asked, eligible)

    if plain is not None:
        single = consolidation.propose(asked).command if best is None else None
        found = best if best is not None else single
        assert found is not None
        assert (found.saving_usd_per_h or 0) >= (plain.saving_usd_per_h or 0) - 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_the_oracle_has_a_place_for_each_pod_of_those_that_go(seed: int) -> None:
    asked = drawn(seed)
    removal = multi_node.find(asked, ordered(asked))
    if removal is None:
        return
    types = asked.simulation.types.values() if asked.simulation is not None else ()
    scene = Scenery().scene_of(asked.view, tuple(types))
    gone = [one.node.name for one in removal.nodes]
    pods = [one for name in gone for one in asked.view.pods_on(name)]

    plan = solve(scene.without(gone), pods)

    assert not plan.refused
    assert len(plan.machines) == len(removal.plan.machines)
    assert set(plan.placements) == {one.key for one in pods}


def test_some_random_clusters_are_consolidated_by_a_set_that_is_no_beginning_of_the_order() -> None:
    better = 0
    for seed in SEEDS:
        asked = drawn(seed)
        eligible = ordered(asked)
        best, plain = multi_node.find(asked, eligible), bisected_by_hand(asked, eligible)
        saved = (plain.saving_usd_per_h or 0) if plain is not None else 0
        better += best is not None and (best.saving_usd_per_h or 0) > saved
    assert better >= 2


def test_the_same_cluster_gets_the_same_answer() -> None:
    first, second = (multi_node.find(one, ordered(one)) for one in (drawn(3), drawn(3)))

    assert first is not None
    assert second is not None
    assert [one.node.name for one in first.nodes] == [one.node.name for one in second.nodes]


def test_the_dear_ones_go_though_the_cheap_ones_are_as_empty() -> None:
    dear = instance_type("dear", cpu=2, memory_gib=8, pods=100, price=0.5)
    nodes = [node(name, SMALL) for name in "ab"] + [node(name, dear) for name in "cd"]
    pods = [pod(f"web{name}-1", name, "900m") for name in "abcd"]

    assert sorted(going(proposed(*nodes, *pods, types=(SMALL, dear)))) == ["c", "d"]


def test_who_lacks_a_place_stays_and_the_others_go() -> None:
    nodes = [node(name, SMALL) for name in "abcd"]
    apart = [pod(f"web-{name}", name, "100m", spec={"affinity": APART}) for name in "abc"]
    free = [pod("api-1", "d", "100m", labels={"app": "api"})]
    held = node("e", SMALL, annotations={names.DO_NOT_CONSOLIDATE: "true"})

    proposal = proposed(*nodes, held, *apart, *free)

    assert len(going(proposal)) == 2  # e takes one of those that keep apart, and api-1 may be there


def test_several_become_one_though_the_first_of_the_order_may_not_be_replaced() -> None:
    """A beginning of the order has the spot node in it, which nothing replaces (R9)."""
    spot = node("a", LARGE, kind=names.SPOT, labels={"mine": "a"})
    kept = {"nodeSelector": {"mine": "a"}}
    nodes = [spot, *(node(name) for name in "bcd")]
    pods = [pod("one-1", "a", spec=kept)]
    pods += [pod(f"web{name}-{i}", name, "6") for name in "bcd" for i in range(2)]

    proposal = proposed(*nodes, *pods)

    assert len(going(proposal)) >= 2
    assert "a" not in going(proposal)


def test_nothing_replaces_several_where_one_that_goes_saves_as_much() -> None:
    """Three times 0.1 become 0.2: that saves what a third of it costs, which can just go."""
    nodes = [node(name, SMALL) for name in "abc"]
    pods = [pod(f"web{name}-1", name, "300m") for name in "abc"]
    pods += [pod(f"api{name}-1", name, "1200m") for name in "ab"]

    proposal = proposed(*nodes, *pods)

    assert going(proposal) == ["c"]
    assert bought(proposal) == []


def test_with_an_empty_purse_nothing_is_simulated() -> None:
    asked = look(node("a"), node("b"), pod("web-1", "a"), pod("api-1", "b"))
    eligible = ordered(asked)
    assert asked.simulation is not None

    assert multi_node.bisected(asked, eligible, Room(asked.simulation, eligible), Purse(0)) is None


def test_without_prices_as_many_as_possible_go() -> None:
    unknown = msgspec.structs.replace(
        SMALL,
        offerings=tuple(
            msgspec.structs.replace(one, price_usd_per_h=None) for one in SMALL.offerings
        ),
    )
    nodes = [node(name, unknown) for name in "abcd"]
    pods = [pod(f"web{name}-1", name, "400m") for name in "abcd"]

    proposal = proposed(*nodes, *pods, types=(unknown,))

    assert len(going(proposal)) == 3
    assert bought(proposal) == []


def test_a_cordoned_node_gives_no_room_and_takes_none_along() -> None:
    nodes = [node("a", SMALL), node("b", SMALL), node("c", SMALL, is_cordoned=True)]
    pods = [pod(f"web{name}-1", name, "500m") for name in "abc"]
    asked = look(*nodes, *pods)
    eligible = ordered(asked)
    assert asked.simulation is not None
    room = Room(asked.simulation, eligible)
    [cordoned] = [one for one in eligible if one.node.name == "c"]

    assert room.share_of(cordoned).free == (0, 0, 0)
    assert room.overflow([cordoned]) == (0, 0, 0)
    assert asked.view.all(kinds.NODES)["", "c"].is_cordoned
