"""A node that the server does not let us change: a webhook, a policy, rights that are missing."""

from __future__ import annotations

from tests.builders import pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import DEPROVISIONING, MACHINE, TERMINATION
from tests.lifecycle.test_deprovisioning import EVERYTHING, command, empties, reasons
from unmoor.lifecycle.effects import AnyEffect, Delete, Patch
from unmoor.model.cadence import Cadence
from unmoor.model.disruption import DisruptionPhase, LeftOutReason
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason

BAD = "uid-node-a"
REFUSED = "the API server refuses to change it"


def is_about_it(effect: AnyEffect) -> bool:
    return isinstance(effect, Patch | Delete) and effect.ref.uid == BAD


def unpatchable(nodes: str, settings: Settings = Settings()) -> World:
    """These nodes are empty, and node a cannot be changed."""
    world = empties(nodes, settings=settings)
    world.refuses = is_about_it
    return world


def test_the_others_go_without_it_after_a_minute_and_it_is_told_in_the_servers_words() -> None:
    world = unpatchable("ab")
    world.run(*EVERYTHING, for_s=55)
    assert command(world).phase is DisruptionPhase.PENDING

    world.run(*EVERYTHING, for_s=40)
    assert world.names("Node") == ["a"]
    assert command(world).phase is DisruptionPhase.SUCCEEDED
    left_out = command(world).status.left_out["a"]
    assert left_out.reason is LeftOutReason.WRITE_REFUSED
    assert left_out.message.startswith(f"{REFUSED} (forbidden): a webhook says no; emptiness-")
    (event,) = {(one.regarding.name, one.is_warning) for one in world.events("WriteRefused")}
    assert event == ("a", True)


def test_alone_it_ends_the_command_and_is_left_alone_for_a_while() -> None:
    world = unpatchable("a")
    world.run(*EVERYTHING, for_s=100)
    assert command(world).phase is DisruptionPhase.CANCELLED
    assert Reason.WRITE_REFUSED in reasons(world)
    assert any(REFUSED in one.message for one in world.events("DeprovisioningBlocked"))
    assert len(world.names("Disruption")) == 1

    world.refuses = lambda _: False
    world.run(*EVERYTHING, for_s=900, tick_s=5)
    assert world.names("Node") == []


def test_how_long_is_a_setting() -> None:
    world = unpatchable("a", Settings(cadence=Cadence(refused_write_limit_s=5)))
    world.run(DEPROVISIONING, for_s=8)

    assert command(world).phase is DisruptionPhase.CANCELLED


def test_one_that_may_be_changed_again_in_time_goes_with_the_others() -> None:
    world = unpatchable("ab")
    world.run(*EVERYTHING, for_s=50)
    world.refuses = lambda _: False
    world.run(*EVERYTHING, for_s=30)

    assert world.names("Node") == []
    assert command(world).status.left_out == {}


def test_a_server_that_says_nothing_refuses_nothing() -> None:
    world = unpatchable("a")
    world.refuses, world.fails = lambda _: False, is_about_it
    world.run(DEPROVISIONING, for_s=300)

    assert command(world).phase is DisruptionPhase.PENDING


def test_an_old_refusal_says_nothing_about_a_new_command() -> None:
    world = unpatchable("a")
    world.run(DEPROVISIONING, for_s=10)
    world.refuses, world.fails = lambda _: False, is_about_it
    world.memories.clear()
    world.run(DEPROVISIONING, for_s=300)

    assert command(world).phase is DisruptionPhase.PENDING


def test_a_restart_costs_time_and_nothing_else() -> None:
    world = unpatchable("ab")
    world.run(*EVERYTHING, for_s=50)
    world.restart()
    world.run(*EVERYTHING, for_s=50)
    assert command(world).phase is DisruptionPhase.PENDING

    world.run(*EVERYTHING, for_s=50)
    assert world.names("Node") == ["a"]


def test_one_that_cannot_be_let_go_holds_nobody() -> None:
    """It bears the mark already; then a pod comes, and a webhook."""
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.put(pod(on="a"))
    world.refuses = is_about_it
    world.run(*EVERYTHING, for_s=60)
    assert world.names("Node") == ["a"]
    assert command(world).phase is DisruptionPhase.SUCCEEDED

    world.refuses = lambda _: False
    world.run(*EVERYTHING, for_s=20)
    left = world.view.node("a")
    assert left is not None
    assert (left.is_cordoned, left.disruption) == (False, "")


def test_one_that_may_not_be_deleted_is_left_out_after_the_last_look_too() -> None:
    world = empties("ab")
    world.refuses = lambda effect: is_about_it(effect) and isinstance(effect, Delete)
    world.run(DEPROVISIONING, TERMINATION, MACHINE, for_s=100)

    assert world.names("Node") == ["a"]
    assert command(world).phase is DisruptionPhase.SUCCEEDED
    left = world.view.node("a")
    assert left is not None
    assert (left.is_cordoned, left.disruption) == (False, "")
