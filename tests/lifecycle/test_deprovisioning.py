"""The one loop: an emptiness command from its proposal to its end, and all that comes between."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tests import builders
from tests.builders import condition, disruption, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import CONDITIONS, DEPROVISIONING, MACHINE, TERMINATION
from unmoor.lifecycle.effects import Create, Delete, Patch
from unmoor.model import names
from unmoor.model.disruption import Disruption, DisruptionPhase, LeftOut, LeftOutReason
from unmoor.model.kinds import DISRUPTIONS, MACHINES
from unmoor.model.machine import LIVING_CONDITIONS, MACHINE_EMPTY, Machine
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason

EVERYTHING = (DEPROVISIONING, TERMINATION, MACHINE, CONDITIONS)
HELD = "example.org/hold"


def empty_machine(name: str = "a", **fields: Any) -> Machine:
    living = tuple(condition(kind) for kind in LIVING_CONDITIONS)
    return machine(
        f"m-{name}",
        node_name=name,
        conditions=(*living, condition(MACHINE_EMPTY)),
        **fields,
    )


def empties(letters: str = "ab", *others: Any, settings: Settings = Settings()) -> World:
    """Nodes that have been empty for a day, with a TTL of 30 s."""
    return World(
        provisioner(ttl_after_empty_s=30),
        *(node(name) for name in letters),
        *(empty_machine(name) for name in letters),
        *others,
        instances=[instance(name) for name in letters],
        settings=settings,
    )


def command(world: World) -> Disruption:
    commands = world.view.sorted(DISRUPTIONS)
    assert len(commands) == 1
    return commands[0]


def reasons(world: World) -> list[Reason]:
    return [verdict.reason for verdict in world.step(DEPROVISIONING, "all").verdicts]


def test_empty_nodes_go_together() -> None:
    world = empties("ab")
    world.run(*EVERYTHING, for_s=30)

    assert world.names("Node") == world.names("Machine") == []
    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert [one.name for one in command(world).spec.nodes] == ["a", "b"]
    assert world.counted("deprovisioning_actions_performed") == 1
    assert world.counted("machines_terminated") == 2
    assert len(world.events("DeprovisioningTerminating")) == 4


def test_a_machine_that_is_not_launched_keeps_no_other_node_from_going() -> None:
    """R39: the cloud may refuse it for hours."""
    world = empties("a", machine("m-new", provider_id=""))
    world.run(DEPROVISIONING, TERMINATION, CONDITIONS, for_s=30)

    assert world.names("Node") == []
    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert [one.name for one in world.view.sorted(MACHINES) if not one.provider_id] == ["m-new"]


def test_the_command_is_written_before_anything_is_touched() -> None:
    world = empties("a")
    step = world.step(DEPROVISIONING, "all")

    assert [type(effect) for effect in step.effects] == [Create]


def test_what_may_go_is_counted_at_each_look_and_not_during_a_command() -> None:
    world = empties("ab")
    counted = {
        fact.labels["deprovisioner"]: fact.value
        for fact in world.step(DEPROVISIONING, "all").facts
        if fact.name == "deprovisioning_eligible_machines"
    }

    assert counted["emptiness"] == 2
    assert world.step(DEPROVISIONING, "all").facts == ()


def test_r2_every_node_is_cordoned_with_the_commands_name_in_one_patch() -> None:
    world = empties("a")
    world.settle(DEPROVISIONING)
    marked = world.view.node("a")

    assert marked is not None
    assert marked.is_cordoned
    assert marked.disruption == command(world).name
    patches = [p for p in world.done(Patch) if p.ref.kind == "Node"]
    assert len(patches) == 1


def test_nodes_are_deleted_only_after_the_object_says_so() -> None:
    world = empties("a")
    world.fails = lambda effect: isinstance(effect, Patch) and "Deleting" in str(effect.body)
    world.run(*EVERYTHING, for_s=30)

    assert world.names("Node") == ["a"]
    assert [e for e in world.done(Delete) if e.ref.kind == "Node"] == []


def test_c17_one_that_got_a_pod_is_left_out_and_the_others_go() -> None:
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.put(pod(on="a"))
    world.run(*EVERYTHING, for_s=30)

    assert world.names("Node") == ["a"]
    left = world.view.node("a")
    assert left is not None
    assert (left.is_cordoned, left.disruption, left.is_cordoned_by_us) == (False, "", False)
    assert list(command(world).status.left_out) == ["a"]
    assert command(world).phase is DisruptionPhase.SUCCEEDED


def test_r30_what_is_left_out_is_written_down_before_the_mark_goes() -> None:
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.put(pod(on="a"))
    world.fails = lambda effect: isinstance(effect, Patch) and effect.subresource == "status"
    world.run(DEPROVISIONING, for_s=20)

    left = world.view.node("a")
    assert left is not None
    assert left.disruption == command(world).name


def test_when_all_are_left_out_the_command_is_cancelled() -> None:
    world = empties("a")
    world.settle(DEPROVISIONING)
    world.put(pod(on="a"))
    world.run(*EVERYTHING, for_s=30)

    assert command(world).phase is DisruptionPhase.CANCELLED
    assert not world.view.node("a").is_cordoned  # type: ignore[union-attr]


def test_c15_a_nominated_node_is_left_out() -> None:
    world = empties("a")
    world.settle(DEPROVISIONING)
    world.put(pod("coming", on="", nominated_to="a", phase="Pending"))
    world.run(DEPROVISIONING, for_s=10)

    assert world.names("Node") == ["a"]
    assert command(world).phase is DisruptionPhase.CANCELLED


def test_r27_a_cordon_of_a_person_is_never_removed() -> None:
    world = empties("a")
    world.change(world.view.node("a"), spec__unschedulable=True)
    world.settle(DEPROVISIONING)
    world.put(pod(on="a"))
    world.run(DEPROVISIONING, for_s=30)
    left = world.view.node("a")

    assert left is not None
    assert (left.is_cordoned, left.disruption) == (True, "")


@pytest.mark.parametrize(
    ("names_of_nodes", "summary"),
    [("a", "a"), ("ab", "a, b"), ("abc", "a, b and 1 more"), ("abcde", "a, b and 3 more")],
)
def test_a_command_sums_its_nodes_up(names_of_nodes: str, summary: str) -> None:
    world = empties(names_of_nodes)
    world.settle(DEPROVISIONING)

    assert command(world).spec.summary == summary


def test_a_persons_uncordon_cancels_and_is_respected() -> None:
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.change(world.view.node("a"), spec__unschedulable=False)
    assert Reason.CANCELLED_BY_UNCORDON in reasons(world)

    first = command(world)
    world.run(*EVERYTHING, for_s=60)
    assert first.phase is DisruptionPhase.CANCELLED
    # The other one goes with the next command; the one taken back is left alone.
    assert world.names("Node") == ["a"]
    assert not world.view.node("a").is_cordoned  # type: ignore[union-attr]
    assert Reason.TAKEN_BACK in reasons(world)
    assert {event.regarding.name for event in world.events("DeprovisioningBlocked")} == {"a", "m-a"}

    world.run(*EVERYTHING, for_s=900, tick_s=5)
    assert world.names("Node") == []


def test_a_persons_deletion_is_respected() -> None:
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.change(world.view.node("a"), metadata__deletion_timestamp=world.moment.wall)
    world.run(*EVERYTHING, for_s=30)

    assert world.names("Node") == []
    assert command(world).phase is DisruptionPhase.SUCCEEDED


def test_a_mark_without_its_object_is_rolled_back() -> None:
    world = World(node(disruption="emptiness-lost"), machine(), pod())
    world.run(DEPROVISIONING, for_s=2)
    left = world.view.node("a")

    assert left is not None
    assert (left.is_cordoned, left.disruption, left.is_cordoned_by_us) == (False, "", False)


def test_a_mark_of_a_finished_command_is_rolled_back() -> None:
    finished = disruption("old", phase=DisruptionPhase.SUCCEEDED)
    world = World(node(disruption="old"), machine(), pod(), finished)
    step = world.step(DEPROVISIONING, "all")

    assert Reason.ROLLED_BACK in [verdict.reason for verdict in step.verdicts]
    assert not world.view.node("a").is_cordoned  # type: ignore[union-attr]


def test_e20_a_restart_resumes_what_was_begun() -> None:
    world = empties("ab")
    for _ in range(200):
        world.step(DEPROVISIONING, "all")
        world.wait(0.5)
        world.restart()
        if command(world).phase is not DisruptionPhase.PENDING:
            break
    # The memory is lost at every step, so the last look never comes; nothing is lost by it.
    assert command(world).phase is DisruptionPhase.PENDING

    world.run(*EVERYTHING, for_s=30)
    assert world.names("Node") == []
    assert len(world.view.all(DISRUPTIONS)) == 1


def test_one_command_at_a_time() -> None:
    world = empties("a")
    world.settle(DEPROVISIONING)
    world.put(node("b"))
    world.put(empty_machine("b"))
    world.run(DEPROVISIONING, for_s=20)

    assert len(world.view.all(DISRUPTIONS)) == 1
    assert Reason.COMMAND_RUNNING in reasons(world)


def test_a_node_of_the_same_name_is_another() -> None:
    world = World(
        node(), machine(), pod(), disruption(phase=DisruptionPhase.DELETING), provisioner()
    )
    world.change(world.view.node("a"), metadata__uid="uid-successor")
    world.settle(DEPROVISIONING)

    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert world.names("Node") == ["a"]


def test_the_same_nodes_again_get_another_name() -> None:
    world = empties("a")
    world.settle(DEPROVISIONING)
    first = command(world)
    world.put(pod(on="a"))
    world.run(DEPROVISIONING, for_s=10)
    world.drop(world.view._objects["Pod"]["shop", "web-1"])
    world.settle(DEPROVISIONING)

    assert world.names("Disruption") == [first.name, f"{first.name}-2"]


def test_the_ledger_is_bounded() -> None:
    old = [
        disruption(
            f"old-{number:03}",
            phase=DisruptionPhase.SUCCEEDED,
            finished_at=builders.NOW - timedelta(hours=number),
        )
        for number in range(8)
    ]
    world = World(*old, settings=Settings(kept_disruptions=5))
    world.settle(DEPROVISIONING)

    assert world.names("Disruption") == [f"old-{number:03}" for number in range(5)]


def test_the_ledger_keeps_the_last_however_our_clock_jumps() -> None:
    """Else the back-off after a failure would be forgotten at once."""
    made = [
        disruption(
            f"old-{number}",
            phase=DisruptionPhase.SUCCEEDED,
            created_at=builders.at(number),
            finished_at=builders.at(-3_600 * number),
        )
        for number in range(3)
    ]
    world = World(*made, settings=Settings(kept_disruptions=1))
    world.settle(DEPROVISIONING)

    assert world.names("Disruption") == ["old-2"]


@pytest.mark.parametrize("word", ["Deleting", "Succeeded"])
def test_a_lost_status_is_written_again(word: str) -> None:
    world = empties("a")
    world.fails = lambda effect: isinstance(effect, Patch) and word in str(effect.body)
    world.run(*EVERYTHING, for_s=20)
    assert not command(world).phase.is_final

    world.fails = lambda _: False
    world.run(*EVERYTHING, for_s=30)
    assert command(world).phase is DisruptionPhase.SUCCEEDED


def test_the_foreign_finalizer_of_a_node_holds_the_command() -> None:
    world = empties("a")
    world.change(world.view.node("a"), metadata__finalizers=(HELD, names.TERMINATION_FINALIZER))
    world.run(*EVERYTHING, for_s=60)

    assert command(world).phase is DisruptionPhase.DELETING
    assert world.view.node("a").metadata.finalizers == (HELD,)  # type: ignore[union-attr]


def test_an_uncordon_while_deleting_cancels_what_is_not_deleted_yet() -> None:
    """What was asked to go goes on; what was not is let go."""
    world = empties("ab")
    world.fails = lambda effect: isinstance(effect, Delete) and effect.ref.name == "b"
    world.run(*EVERYTHING, for_s=8)
    assert command(world).phase is DisruptionPhase.DELETING

    world.change(world.view.node("b"), spec__unschedulable=False)
    world.fails = lambda _: False
    world.run(DEPROVISIONING, TERMINATION, MACHINE, for_s=30)
    assert command(world).phase is DisruptionPhase.CANCELLED
    assert world.names("Node") == ["b"]
    assert world.view.node("b").disruption == ""  # type: ignore[union-attr]


def test_nodes_that_are_gone_before_anything_was_asked_end_the_command() -> None:
    world = empties("a")
    world.step(DEPROVISIONING, "all")
    world.drop(world.view.node("a"))
    world.settle(DEPROVISIONING)

    assert command(world).phase is DisruptionPhase.CANCELLED


def test_a_mark_whose_object_the_server_knows_is_kept() -> None:
    """Our picture of the Disruption may be older than that of the node."""
    world = World(node(disruption="emptiness-new"), machine(), pod())
    world.fails = lambda effect: not isinstance(effect, Patch)
    world.run(DEPROVISIONING, for_s=20)

    assert world.view.node("a").disruption == "emptiness-new"  # type: ignore[union-attr]


def test_a_time_that_utc_has_no_year_for_holds_nobody() -> None:
    end_of_time = datetime(9999, 12, 31, 22, tzinfo=timezone(timedelta(hours=-14)))
    odd = disruption(
        nodes=("a",),
        phase=DisruptionPhase.CANCELLED,
        finished_at=end_of_time,
        left_out={"a": LeftOut(reason=LeftOutReason.UNCORDONED)},
    )
    world = empties("ab", odd)
    world.run(*EVERYTHING, for_s=60)

    assert world.names("Node") == []


@pytest.mark.parametrize(("ahead_s", "is_held"), [(899, True), (900, False), (1e9, False)])
def test_what_a_clock_has_written_that_was_wrong_holds_nobody_for_long(
    ahead_s: float, *, is_held: bool
) -> None:
    over = disruption(
        nodes=("a",),
        phase=DisruptionPhase.CANCELLED,
        finished_at=builders.at(ahead_s),
        left_out={"a": LeftOut(reason=LeftOutReason.UNCORDONED)},
    )
    world = empties("ab", over)
    world.settle(DEPROVISIONING)

    [made] = [one for one in world.view.sorted(DISRUPTIONS) if one.is_running]
    assert ("a" not in [one.name for one in made.spec.nodes]) is is_held
