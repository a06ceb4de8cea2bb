"""A drifted node goes by the same steps as any other (002:14, 001:15-23)."""

from __future__ import annotations

from tests.builders import changed, condition, instance
from tests.lifecycle.driver import World
from tests.lifecycle.pending import provisioner
from tests.lifecycle.replacing import (
    LIMIT_S,
    QUIET_S,
    ROWS,
    bodies,
    command,
    deleted_nodes,
    first_command,
    is_free,
    joins,
    replacement,
)
from tests.policy.test_graceful import due
from tests.policy.underused import TYPES, node, pod
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.machine import MACHINE_DRIFTED
from unmoor.policy.verdict import Method


def test_a_drifted_node_is_cordoned_its_replacement_waited_for_and_then_it_is_deleted() -> None:
    world = World(
        provisioner("default"),
        *due("a", Method.DRIFT),
        pod("web-1", "a"),
        instances=[instance("a")],
    )
    world.types = TYPES
    world.run(*ROWS, for_s=1)
    assert (command(world).spec.method, is_free(world, "a")) == ("drift", False)

    world.run(*ROWS, for_s=QUIET_S + 5)
    assert len(bodies(world, "Machine")) == 1
    assert deleted_nodes(world) == []  # nothing is up yet

    joins(world)
    world.run(*ROWS, for_s=60)
    assert deleted_nodes(world) == ["a"]


def test_without_its_replacement_it_is_let_go_again() -> None:
    world = World(
        provisioner("default"),
        *due("a", Method.DRIFT),
        pod("web-1", "a"),
        instances=[instance("a")],
    )
    world.types = TYPES
    world.run(*ROWS, for_s=QUIET_S + LIMIT_S + 10, tick_s=5)

    assert first_command(world).phase is DisruptionPhase.CANCELLED
    assert deleted_nodes(world) == []
    assert is_free(world, "a")


def test_d09_a_replacement_that_is_born_drifted_ends_its_command() -> None:
    """The cloud makes machines otherwise than it says: without this the roll would never end."""
    world = World(
        provisioner("default"),
        *due("a", Method.DRIFT),
        pod("web-1", "a"),
        instances=[instance("a")],
    )
    world.types = TYPES
    world.run(*ROWS, for_s=QUIET_S + 5)
    born = replacement(world)
    assert born is not None
    amiss = condition(MACHINE_DRIFTED, reason="RequirementsDrifted")
    world.put(changed(born, status__conditions=(*born.status.conditions, amiss)))
    world.run(*ROWS, for_s=10)

    assert first_command(world).phase is DisruptionPhase.CANCELLED
    assert "RequirementsDrifted" in first_command(world).status.message
    assert deleted_nodes(world) == []
    assert is_free(world, "a")
    assert world.view.machine(born.name) is None


def test_several_without_pods_go_in_one_command() -> None:
    drifted = [one for name in "ab" for one in due(name, Method.DRIFT)]
    world = World(provisioner("default"), *drifted, *node("c"), instances=map(instance, "abc"))
    world.types = TYPES
    world.run(*ROWS, for_s=QUIET_S + 20)

    assert deleted_nodes(world) == ["a", "b"]
