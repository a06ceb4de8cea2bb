"""What people do to commands, nodes and the ledger in the middle."""

from __future__ import annotations

from typing import Any

from tests import builders
from tests.builders import disruption, machine, node
from tests.lifecycle.driver import World
from tests.lifecycle.rows import DEPROVISIONING, TERMINATION
from tests.lifecycle.test_deprovisioning import command, empties, reasons
from tests.lifecycle.worlds import the_node
from unmoor.lifecycle.effects import Create, Delete
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS, NODES
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason

HELD: dict[str, Any] = {
    "metadata__finalizers": ("example.org/hold",),
    "metadata__deletion_timestamp": builders.NOW,
}


def test_a_node_that_changed_hands_is_not_deleted() -> None:
    world = World(
        node(is_ours=False, disruption="emptiness-1"),
        machine(is_ours=False),
        disruption(phase=DisruptionPhase.DELETING),
    )
    world.settle(DEPROVISIONING)

    assert not the_node(world).is_deleting
    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert "managed-by" in command(world).status.left_out["a"].message
    assert not the_node(world).is_cordoned


def test_whoever_takes_mark_and_cordon_away_has_taken_the_node_back() -> None:
    world = World(node(), machine(), disruption(phase=DisruptionPhase.DELETING))
    world.settle(DEPROVISIONING)

    assert not the_node(world).is_deleting
    assert command(world).phase is DisruptionPhase.CANCELLED


def test_a_command_that_is_being_deleted_lets_go_whoever_holds_it() -> None:
    world = empties("a")
    world.settle(DEPROVISIONING)
    world.change(command(world), **HELD)
    world.step(DEPROVISIONING, "all")
    assert not the_node(world).is_cordoned

    (first,) = world.names("Disruption")
    world.run(DEPROVISIONING, for_s=12)
    assert world.names("Disruption") == [first, f"{first}-2"]
    assert len(world.done(Create)) == 2


def test_a_finished_command_that_somebody_holds_stops_nobody() -> None:
    old = disruption("old", phase=DisruptionPhase.SUCCEEDED)
    held = builders.changed(old, **HELD)
    world = empties("a", held, settings=Settings(kept_disruptions=0))
    world.step(DEPROVISIONING, "all")

    assert len(world.done(Create)) == 1
    assert world.done(Delete) == []


def test_a_mark_that_cannot_be_taken_back_stops_nobody() -> None:
    old = disruption("old", phase=DisruptionPhase.CANCELLED)
    world = empties("a", node("b", disruption="old"), old)
    world.fails = lambda effect: getattr(effect, "ref", None) == NODES.ref("b", uid="uid-node-b")
    world.step(DEPROVISIONING, "all")

    assert len(world.done(Create)) == 1
    assert Reason.ROLLED_BACK in reasons(world)


def test_a_long_ledger_is_shortened_some_at_a_time() -> None:
    old = [disruption(f"old-{i}", phase=DisruptionPhase.SUCCEEDED) for i in range(250)]
    world = World(*old, settings=Settings(kept_disruptions=5))
    world.step(DEPROVISIONING, "all")
    assert len(world.done(Delete)) == 100

    world.settle(DEPROVISIONING)
    assert len(world.names("Disruption")) == 5


def test_of_two_commands_the_first_is_done_with_first() -> None:
    """Two instances have made them; names say nothing."""
    older = disruption("emptiness-b", nodes=("b",), created_at=builders.at(-60))
    younger = disruption("emptiness-a", nodes=("a",))
    world = empties("ab", older, younger)
    world.settle(DEPROVISIONING)

    assert world.view.node("b").is_cordoned  # type: ignore[union-attr]
    assert not world.view.node("a").is_cordoned  # type: ignore[union-attr]


def test_what_somebody_has_called_observed_holds_nobody_up_and_gives_back_what_it_has() -> None:
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.change(command(world), status__phase=DisruptionPhase.OBSERVED)
    before = command(world).name
    world.run(DEPROVISIONING, TERMINATION, for_s=30)

    assert [one.phase for one in world.view.sorted(DISRUPTIONS) if one.name != before] == [
        DisruptionPhase.SUCCEEDED
    ]
    assert world.names("Node") == []
