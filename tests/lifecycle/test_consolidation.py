"""Consolidation as it is carried out: nodes are cordoned, and looked at again (11.5, 11.8)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import instance
from tests.lifecycle.driver import World
from tests.lifecycle.replacing import (
    QUIET_S,
    ROWS,
    bodies,
    command,
    deleted_nodes,
    first_command,
    is_free,
    joins,
)
from tests.policy.underused import LARGE, SMALL, TYPES, consolidated, node, pod
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.settings import Settings


def world_of(*objects: Object | tuple[Object, ...], nodes: str) -> World:
    """A world of these; ``nodes``: which have an instance, a letter each."""
    flat = [one for some in objects for one in (some if isinstance(some, tuple) else (some,))]
    world = World(consolidated(), *flat, instances=[instance(name) for name in nodes])
    world.types = TYPES
    return world


def small(nodes: str, *pods: Object) -> World:
    """Nodes of the cheapest type, so that none is replaced by one."""
    return world_of(*(node(name, SMALL) for name in nodes), *pods, nodes=nodes)


def going(world: World) -> list[str]:
    return [one.name for one in command(world).spec.nodes]


def of_nodes(world: World, some: list[str]) -> Disruption:
    """The command that was made for these."""
    made = world.view.sorted(DISRUPTIONS)
    [found] = [one for one in made if [node.name for node in one.spec.nodes] == some]
    return found


def test_t029_a_pod_that_must_not_be_evicted_comes_meanwhile() -> None:
    """C15."""
    world = small("ab", pod("web-1", "a", "100m"), pod("api-1", "b", "100m"))
    world.run(*ROWS, for_s=QUIET_S - 5)
    assert going(world) == ["a"]

    world.put(pod("job-1", "a", "100m", annotations={names.DO_NOT_EVICT: "true"}))
    world.run(*ROWS, for_s=10)

    assert first_command(world).phase is DisruptionPhase.CANCELLED
    assert "a" not in deleted_nodes(world)
    assert is_free(world, "a")


# T054
@pytest.mark.parametrize(
    "pods",
    [
        (),  # T030
        (pod("api-1", "b", "100m"),),  # T031
    ],
)
def test_a_node_goes_when_it_has_been_looked_at_again(pods: tuple[Object, ...]) -> None:
    world = small("ab", pod("web-1", "a", "100m"), pod("web-2", "a", "100m"), *pods)

    world.run(*ROWS, for_s=QUIET_S - 2)
    assert (going(world), deleted_nodes(world)) == (["b"], [])

    world.run(*ROWS, for_s=20)
    assert deleted_nodes(world) == ["b"]
    assert [one.node_name for one in world.view.pods_on("a")] == ["a", "a"]


def test_t032_an_empty_node_gets_a_pod_that_must_stay() -> None:
    world = small("ab", pod("web-1", "a", "1850m"))
    world.run(*ROWS, for_s=QUIET_S - 5)
    assert going(world) == ["b"]

    world.put(pod("job-1", "b", "100m", annotations={names.DO_NOT_EVICT: "true"}))
    world.run(*ROWS, for_s=60)

    assert deleted_nodes(world) == []
    assert is_free(world, "b")


def test_t039_two_dear_nodes_become_one_after_the_second_look() -> None:
    dear = [node(name, LARGE) for name in "ab"]
    world = world_of(*dear, pod("web-1", "a"), pod("api-1", "b"), nodes="ab")

    world.run(*ROWS, for_s=QUIET_S - 2)
    assert bodies(world, "Machine") == []
    world.run(*ROWS, for_s=5)
    assert going(world) == ["a", "b"]
    assert len(bodies(world, "Machine")) == 1

    joins(world)
    world.run(*ROWS, for_s=60)
    assert deleted_nodes(world)[:2] == ["a", "b"]


def test_t040_empty_nodes_that_get_pods_are_merged_instead() -> None:
    world = world_of(*(node(name, LARGE) for name in "abc"), nodes="abc")
    world.run(*ROWS, for_s=QUIET_S - 5)
    assert going(world) == ["a", "b", "c"]

    for name in "abc":
        world.put(pod(f"web{name}-1", name))
    world.run(*ROWS, for_s=QUIET_S)

    assert first_command(world).phase is DisruptionPhase.CANCELLED
    assert deleted_nodes(world) == []
    last = [one for one in world.view.sorted(DISRUPTIONS) if one.is_running]
    assert [len(one.spec.nodes) for one in last] == [3]
    assert [len(one.spec.replacements) for one in last] == [1]


def test_t041_when_several_do_not_hold_one_still_goes() -> None:
    world = world_of(
        *(node(name, SMALL) for name in "abc"),
        *(pod(f"web{name}-1", name, "300m") for name in "abc"),
        nodes="abc",
    )
    world.run(*ROWS, for_s=QUIET_S - 5)
    first = going(world)
    assert len(first) == 2

    for name in first:
        world.put(pod(f"api{name}-1", name, "1200m"))
    world.run(*ROWS, for_s=90)

    [left_out] = of_nodes(world, first).status.left_out.values()
    assert "would find no place any more" in left_out.message
    assert deleted_nodes(world)[0] in first


def test_a_pod_that_comes_meanwhile_keeps_its_own_node_alone() -> None:
    world = world_of(
        *(node(name, SMALL) for name in "abcde"),
        *(pod(f"web{name}-1", name, "400m") for name in "abcde"),
        nodes="abcde",
    )
    world.run(*ROWS, for_s=QUIET_S - 5)
    first = going(world)
    assert len(first) == 3

    world.put(pod("new-1", first[0], "1500m"))
    for name in "de":
        world.put(pod(f"api{name}-1", name, "200m"))
    world.run(*ROWS, for_s=30)

    assert list(of_nodes(world, first).status.left_out) == [first[0]]
    assert is_free(world, first[0])
    assert deleted_nodes(world)[:2] == first[1:]


@pytest.mark.parametrize(
    ("annotations", "settings"),
    [
        ({names.BUDGETS: '[{"nodes": "1", "reasons": ["Empty"]}]'}, Settings()),
        ({names.BUDGETS: '[{"nodes": "1", "reasons": ["Underutilized"]}]'}, None),
        ({}, Settings(nodes_going_most=1)),
    ],
)
def test_when_less_may_go_by_now_only_as_many_do(
    annotations: dict[str, str], settings: Settings | None
) -> None:
    world = small("abc")
    world.run(*ROWS, for_s=QUIET_S - 5)
    assert going(world) == ["a", "b", "c"]

    world.change(world.view.provisioner("default"), metadata__annotations=annotations)
    world.view.settings = settings or Settings()
    world.run(*ROWS, for_s=8)

    first = first_command(world)
    assert first.phase is not DisruptionPhase.CANCELLED
    assert deleted_nodes(world) == (["a", "b", "c"] if settings is None else ["a"])
    assert sorted(first.status.left_out) == ([] if settings is None else ["b", "c"])


def test_t015_a_machine_that_somebody_holds_is_waited_for() -> None:
    held = node("a", LARGE)
    machine = builders.changed(
        held[1],
        metadata=builders.changed(
            held[1].metadata, finalizers=(names.TERMINATION_FINALIZER, "example.com/hold")
        ),
    )
    world = world_of(held[0], machine, pod("web-1", "a"), nodes="a")
    world.run(*ROWS, for_s=QUIET_S + 5)
    joins(world)

    world.run(*ROWS, for_s=30)
    assert deleted_nodes(world) == ["a"]
    assert "m-a" in world.names("Machine")
    kept: Any = world.view.machine("m-a")
    world.drop(kept)
    world.run(*ROWS, for_s=10)

    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert world.names("Node") == ["new"]


def test_every_reason_on_one_node_is_told_and_none_hides_another() -> None:
    """First a budget, then the annotation, then the price: three events, each with its words."""
    held = builders.budget("held", namespace="shop", allowed=0, selector={"app": "web"})
    world = small("a", pod("web-1", "a", "1500m"))
    world.put(held)
    world.run(*ROWS, for_s=12)
    world.drop(held)
    world.change(world.view.node("a"), metadata__annotations={names.DO_NOT_CONSOLIDATE: "true"})
    world.run(*ROWS, for_s=12)
    world.change(world.view.node("a"), metadata__annotations={})
    world.run(*ROWS, for_s=12)

    told = [one for one in world.events("Unconsolidatable") if one.regarding.kind == "Node"]
    words = list(dict.fromkeys(one.message for one in told))
    assert words[0] == "pdb shop/held prevents pod evictions"
    assert names.DO_NOT_CONSOLIDATE in words[1]
    assert words[2] == "can't replace with a cheaper node"
    assert len(words) == 3


def test_what_did_not_hold_is_not_tried_again_at_once_but_a_minute_later() -> None:
    world = small(
        "ab", pod("web-1", "a", "100m"), pod("api-1", "b", "100m"), pod("api-2", "b", "1m")
    )
    world.run(*ROWS, for_s=QUIET_S - 5)
    assert going(world) == ["a"]

    world.put(pod("api-3", "b", "1850m", annotations={names.DO_NOT_EVICT: "true"}))
    world.run(*ROWS, for_s=10)
    first = first_command(world)
    assert (first.phase, first.was_withdrawn) == (DisruptionPhase.CANCELLED, True)
    assert is_free(world, "a")

    world.put(pod("api-3", "b", "1m", annotations={names.DO_NOT_EVICT: "true"}))
    world.run(*ROWS, for_s=50)
    assert len(world.view.sorted(DISRUPTIONS)) == 1
    assert is_free(world, "a")

    world.run(*ROWS, for_s=40)
    assert deleted_nodes(world) == ["a"]
