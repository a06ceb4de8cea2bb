"""A candidate or a replacement is taken away in the middle: the command is looked at again (R18).

Whoever takes it, an interruption, a person or the cloud, deletes the Node or the Machine, or the
instance is gone. In each phase of a command: nobody is left without a place for want of a look.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lifecycle.driver import World
from tests.lifecycle.replacing import (
    QUIET_S,
    ROWS,
    command,
    deleted_nodes,
    first_command,
    is_free,
    joins,
    launched,
    replacement,
    underused,
)
from tests.lifecycle.rows import DEPROVISIONING
from unmoor.lifecycle.effects import Create, Delete, Patch
from unmoor.model.disruption import DisruptionPhase, LeftOutReason

Take = Callable[[World, str], None]
"""Take away the node of this name, or its machine, or both."""


def by_node(world: World, name: str) -> None:
    world.change(world.view.node(name), metadata__deletion_timestamp=world.moment.wall)


def by_machine(world: World, name: str) -> None:
    node = world.view.node(name)
    assert node is not None
    world.change(world.view.machine_of(node), metadata__deletion_timestamp=world.moment.wall)


def at_once(world: World, name: str) -> None:
    """No finalizer held it: it is gone."""
    node = world.view.node(name)
    assert node is not None
    world.drop(world.view.machine_of(node))
    world.drop(node)


TAKEN: tuple[Take, ...] = (by_node, by_machine, at_once)


def pending() -> World:
    world = underused()
    world.run(*ROWS, for_s=QUIET_S - 5)
    assert command(world).phase is DisruptionPhase.PENDING
    return world


def launching() -> World:
    world = launched()
    assert command(world).phase is DisruptionPhase.LAUNCHING
    return world


def deleting() -> World:
    """The phase says that the node goes, and nobody has deleted it yet."""
    world = launched()
    joins(world)
    world.fails = lambda effect: isinstance(effect, Delete)
    world.run(*ROWS, for_s=20)
    assert command(world).phase is DisruptionPhase.DELETING
    world.fails = lambda _: False
    world.restart()
    world.effects.clear()
    return world


@pytest.mark.parametrize("take", TAKEN)
@pytest.mark.parametrize("state", [pending, launching, deleting])
def test_a_candidate_that_is_taken_away_goes_and_its_command_ends(
    state: Callable[[], World], take: Take
) -> None:
    world = state()
    take(world, "a")
    world.run(*ROWS, for_s=60)

    assert first_command(world).phase.is_final
    assert "a" not in world.names("Node")
    assert len(world.done(Create)) <= 2  # the command, and at most one machine


@pytest.mark.parametrize("take", TAKEN)
def test_a_replacement_that_is_taken_away_before_the_node_goes_keeps_it(take: Take) -> None:
    world = launched()
    joins(world)
    world.fails = lambda effect: isinstance(effect, Patch) and "Deleting" in str(effect.body)
    world.run(*ROWS, for_s=5)
    world.fails = lambda _: False

    take(world, "new")
    world.run(*ROWS, for_s=20)

    first = first_command(world)
    assert first.phase is DisruptionPhase.CANCELLED
    assert {one.reason for one in first.status.left_out.values()} == {
        LeftOutReason.REPLACEMENT_FAILED
    }
    assert is_free(world)
    assert "a" not in deleted_nodes(world)


@pytest.mark.parametrize("take", TAKEN)
def test_a_replacement_that_is_taken_away_at_the_last_moment_keeps_the_node(take: Take) -> None:
    """The phase says that it goes, but nobody has deleted it: that can be taken back."""
    world = deleting()

    take(world, "new")
    world.run(*ROWS, for_s=20)

    first = first_command(world)
    assert first.phase is DisruptionPhase.CANCELLED
    assert "its replacement" in first.status.left_out["a"].message
    assert is_free(world)
    assert "a" not in deleted_nodes(world)
    assert world.events("DeprovisioningCancelled")


@pytest.mark.parametrize("take", TAKEN)
def test_once_the_node_is_deleted_nothing_is_taken_back(take: Take) -> None:
    world = deleting()
    world.step(DEPROVISIONING, "all")
    assert "a" in deleted_nodes(world)

    take(world, "new")
    world.run(*ROWS, for_s=60)

    assert first_command(world).phase is DisruptionPhase.SUCCEEDED
    assert "a" not in world.names("Node")
    assert replacement(world) is None
