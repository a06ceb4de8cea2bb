"""A pod waits for a place while a command has cordoned nodes that it would fit onto."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import changed
from tests.lifecycle.driver import World
from tests.lifecycle.pending import waiting
from tests.lifecycle.replacing import (
    QUIET_S,
    ROWS,
    bodies,
    command,
    deleted_nodes,
    first_command,
    is_free,
    underused,
)
from tests.lifecycle.rows import PROVISIONING
from tests.lifecycle.test_consolidation import going, world_of
from tests.policy.underused import SMALL, node, pod
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.kinds import NODES
from unmoor.model.taint import Taint

BOTH = (*ROWS, PROVISIONING)
CORDON = Taint(key=names.UNSCHEDULABLE, effect="NoSchedule")


def scheduled(world: World) -> None:
    """The scheduler puts everybody who waits where there is room: on a node without a cordon."""
    free = [one for one in world.view.sorted(NODES) if not one.is_cordoned]
    for one in world.view.pods_without_node():
        if free:
            world.put(pod(one.name, free[0].name, "1"))


def cordoned(*given: Any, **more: Any) -> World:
    world = world_of(*(node(name, SMALL) for name in "abc"), *given, nodes="abc", **more)
    world.run(*BOTH, for_s=3)
    assert going(world) == ["a", "b", "c"]
    for name in "abc":
        held = world.view.node(name)
        assert held is not None
        assert held.is_cordoned
        world.put(changed(held, spec=changed(held.spec, taints=(CORDON,))))
    return world


def test_the_node_is_called_back_and_no_machine_is_made() -> None:
    world = cordoned()
    world.put(waiting("new-1", cpu="1"))
    world.run(*BOTH, for_s=6)
    assert is_free(world, "a")

    scheduled(world)
    world.run(*BOTH, for_s=60)
    assert bodies(world, "Machine") == []
    assert deleted_nodes(world) == ["b", "c"]
    assert first_command(world).phase is DisruptionPhase.SUCCEEDED


def test_as_many_as_are_needed_are_called_back() -> None:
    world = cordoned()
    for number in range(2):
        world.put(waiting(f"new-{number}", cpu="1"))
    world.run(*BOTH, for_s=6)

    assert [is_free(world, name) for name in "abc"] == [True, True, False]
    assert bodies(world, "Machine") == []


def test_a_node_that_was_to_be_replaced_is_called_back_as_well() -> None:
    world = underused()
    world.run(*BOTH, for_s=3)
    assert command(world).phase is DisruptionPhase.PENDING
    world.put(waiting("new-1", cpu="1"))
    world.run(*BOTH, for_s=6)

    assert first_command(world).phase is DisruptionPhase.CANCELLED
    assert is_free(world)
    assert bodies(world, "Machine") == []


@pytest.mark.parametrize("cordon_again", [True, False])
def test_past_the_last_look_a_machine_is_made(*, cordon_again: bool) -> None:
    """And a person's cordon stays closed at any time."""
    world = world_of(node("a", SMALL, is_cordoned=cordon_again), nodes="a")
    if not cordon_again:
        world.run(*BOTH, for_s=QUIET_S + 1)
        assert first_command(world).phase is not DisruptionPhase.PENDING
    world.put(waiting("new-1", cpu="1"))
    world.run(*BOTH, for_s=6)

    assert len(bodies(world, "Machine")) == 1
