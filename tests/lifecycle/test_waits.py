"""Whatever is refused, or waited for, is an event: the same words, however long it waits."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import builders
from tests.builders import disruption, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import Row, World
from tests.lifecycle.rows import DEPROVISIONING, GARBAGE, MACHINE, TERMINATION
from tests.lifecycle.test_drain import attached, claimed
from tests.lifecycle.test_moved_pods import moving
from unmoor import lifecycle
from unmoor.lifecycle import garbage, ledger
from unmoor.lifecycle.effects import Observe, Terminate
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.node import Node
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.model.settings import Settings

LOST = Problem(ProblemKind.UNKNOWN, "timeout")
ELSEWHERE = {names.PROVISIONER_NAME: "lost"}
Story = Callable[[], tuple[World, Row]]


def deleted(*others: Object, held: Node = node(), settings: Settings = Settings()) -> World:
    gone = builders.changed(held, metadata__deletion_timestamp=builders.NOW)
    return World(gone, *others, instances=[instance()], settings=settings)


def load_balancer() -> tuple[World, Row]:
    settings = Settings(load_balancer_wait_s=60)
    return deleted(machine(), pod(), settings=settings), TERMINATION


def young_cordon() -> tuple[World, Row]:
    return deleted(machine()), TERMINATION


def volumes() -> tuple[World, Row]:
    return deleted(machine(), attached("data"), claimed("data")), TERMINATION


def refused() -> tuple[World, Row]:
    world = deleted(machine())
    world.fails = lambda effect: isinstance(effect, Terminate)
    return world, TERMINATION


def refused_to_a_machine() -> tuple[World, Row]:
    world = World(machine(deleted_at=builders.NOW, node_name=""), instances=[instance()])
    world.termination_problem = Problem(ProblemKind.FORBIDDEN, "no")
    return world, MACHINE


def refused_to_nobody() -> tuple[World, Row]:
    world = World(instances=[instance()])
    world.termination_problem = Problem(ProblemKind.FORBIDDEN, "no")
    return world, GARBAGE


def not_ours() -> tuple[World, Row]:
    return deleted(machine(is_ours=False), held=node(is_ours=False)), TERMINATION


def machine_unknown() -> tuple[World, Row]:
    return deleted(held=node(provider_id="aws:///z/i-1")), TERMINATION


def not_our_machine() -> tuple[World, Row]:
    return World(machine(is_ours=False, deleted_at=builders.NOW)), MACHINE


def our_machine_elsewhere() -> tuple[World, Row]:
    return World(machine(provider_id="aws:///z/i-1")), MACHINE


def nodes_left() -> tuple[World, Row]:
    return World(machine(deleted_at=builders.NOW), node()), MACHINE


def pods_settling() -> tuple[World, Row]:
    return moving(2, pod("web-1", on="b")), DEPROVISIONING


def nodes_still_there() -> tuple[World, Row]:
    going = disruption(phase=DisruptionPhase.DELETING)
    held = node(deleted_at=builders.NOW, disruption=going.name)
    return World(going, held, machine(), instances=[instance()]), DEPROVISIONING


def mark_unclear() -> tuple[World, Row]:
    world = World(node(disruption="lost"))
    world.fails = lambda effect: isinstance(effect, Observe)
    return world, DEPROVISIONING


def launch_refused() -> tuple[World, Row]:
    world = World(machine(is_new=True))
    world.launch_problems = [Problem(ProblemKind.FAILED, "quota")] * 9
    return world, MACHINE


def pods_unclear() -> tuple[World, Row]:
    world = deleted(machine())
    world.roll_call_problem = LOST
    return world, TERMINATION


def instance_unclear() -> tuple[World, Row]:
    world = World(machine())
    world.fails = lambda effect: isinstance(effect, Observe) and effect.asked is Asked.INSTANCE
    return world, GARBAGE


def nobodys_instance_unclear() -> tuple[World, Row]:
    world = World(instances=[instance()])
    world.fails = lambda effect: isinstance(effect, Observe) and effect.asked is Asked.INSTANCE
    return world, GARBAGE


def its_machine_unclear() -> tuple[World, Row]:
    world = World(node(), instances=[instance()])
    world.fails = lambda effect: isinstance(effect, Observe) and effect.asked is Asked.OBJECT
    return world, GARBAGE


def nobodys_node() -> tuple[World, Row]:
    return World(node(is_ours=False), instances=[instance()]), GARBAGE


def nobodys_provisioner() -> tuple[World, Row]:
    return World(instances=[instance(labels=ELSEWHERE, machine_name="m-b")]), GARBAGE


STORIES: tuple[tuple[Story, str, str], ...] = (
    (load_balancer, "AwaitingLoadBalancers", "a"),
    (young_cordon, "AwaitingScheduler", "a"),
    (volumes, "AwaitingVolumeDetachment", "a"),
    (refused, "TerminationRefused", "a"),
    (refused_to_a_machine, "TerminationRefused", "m-a"),
    (refused_to_nobody, "TerminationRefused", "m-a"),
    (not_ours, "NotOurs", "a"),
    (machine_unknown, "MachineUnknown", "a"),
    (not_our_machine, "NotOurs", "m-a"),
    (our_machine_elsewhere, "MachineUnknown", "m-a"),
    (nodes_left, "AwaitingNodes", "m-a"),
    (pods_settling, "DeprovisioningWaiting", "emptiness-1"),
    (nodes_still_there, "DeprovisioningWaiting", "emptiness-1"),
    (mark_unclear, "NotConfirmed", "a"),
    (launch_refused, "LaunchFailed", "m-a"),
    (pods_unclear, "NotConfirmed", "a"),
    (instance_unclear, "NotConfirmed", "m-a"),
    (nobodys_instance_unclear, "NotConfirmed", "m-a"),
    (its_machine_unclear, "NotConfirmed", "a"),
    (nobodys_node, "InstanceLeftAlone", "a"),
    (nobodys_provisioner, "InstanceLeftAlone", "m-b"),
)


@pytest.mark.parametrize(
    ("story", "event", "about"), [pytest.param(*row, id=row[0].__name__) for row in STORIES]
)
def test_it_is_an_event_and_always_the_same(story: Story, event: str, about: str) -> None:
    world, row = story()
    world.run(row, for_s=40)

    assert {one.regarding.name for one in world.events(event)} == {about}
    assert len({one.message for one in world.events(event)}) == 1


@pytest.mark.parametrize("story", [load_balancer, young_cordon, volumes, refused, not_ours])
def test_a_node_that_waits_says_it_once_in_two_minutes(story: Story) -> None:
    world, row = story()
    world.run(row, for_s=100)
    told = world.events()

    assert told
    assert len({(one.reason, one.message) for one in told}) == len(told)


def test_machines_that_are_none_of_our_business_are_left_in_peace() -> None:
    world = World(machine(is_ours=False), node(is_ours=False))
    world.run(MACHINE, TERMINATION, for_s=100)

    assert world.effects == []


def test_an_instance_made_for_nobody_we_know_is_told_in_the_log_alone() -> None:
    """No object would show the event."""
    nobodys = builders.changed(instance(), machine="")
    world = World(instances=[nobodys])
    world.termination_problem = Problem(ProblemKind.FORBIDDEN, "no")
    world.settle(GARBAGE)
    step = world.step(GARBAGE, "all")

    assert "termination-refused" in {one.reason for one in step.verdicts}
    assert world.events() == []


def test_many_of_a_kind_are_not_all_told_and_hold_nothing_up() -> None:
    many = [instance(f"i{n:04}", labels=ELSEWHERE) for n in range(garbage.SUSPECTS_MAX + 50)]
    world = World(provisioner(), instances=[*many, instance("z")])
    world.settle(GARBAGE)

    assert len(world.events()) % garbage.TOLD_MAX == 0
    assert len({one.regarding.name for one in world.events()}) == garbage.TOLD_MAX
    assert [one.provider_id for one in world.done(Terminate)] == ["sim:///z"]


def test_many_marks_that_nobody_can_speak_of_do_not_keep_the_others() -> None:
    many = [node(f"n{n:04}", disruption="unclear") for n in range(ledger.MARKS_MAX + 50)]
    last = node("z", disruption="gone")
    world = World(*many, last)
    world.fails = lambda effect: isinstance(effect, Observe) and "unclear" in effect.subject
    world.settle(DEPROVISIONING)

    found = world.view.node("z")
    assert found is not None
    assert found.disruption == ""
    assert len({one.regarding.name for one in world.events("NotConfirmed")}) == ledger.TOLD_MAX


# ------------------------------------------------------------------------------------ the whole


def _silent_refusals() -> list[str]:
    """Where a verdict is made that refuses, or waits, and no event is given."""
    found = []
    for path in sorted(Path(*lifecycle.__path__).glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "Verdict":
                given = {one.arg: ast.unparse(one.value) for one in call.keywords}
                if given.get("is_refusal") != "False" and "event" not in given:
                    found.append(f"{path.name} {given['reason']}")
    return found


def test_no_refusal_of_the_state_machines_is_made_without_an_event() -> None:
    """What ends an instance that nobody stands for is no refusal; its node shows what happens."""
    assert _silent_refusals() == ["garbage.py reason"]
