"""Two Machines that stand for one instance: whichever goes, goes alone; the last takes it along."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import instance, machine, node, owner, pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import ALL, MACHINE, TERMINATION
from tests.lifecycle.worlds import the_node
from unmoor.lifecycle.effects import Delete, Evict, Patch, Terminate
from unmoor.model import names
from unmoor.model.base import Object, OwnerReference
from unmoor.model.observation import Problem, ProblemKind
from unmoor.policy.verdict import Reason

FIRST = owner("Machine", "m-a", "uid-machine-m-a")
SECOND = owner("Machine", "m-b", "uid-machine-m-b")
UNREGISTERED = (
    builders.condition("MachineLaunched"),
    builders.condition("MachineRegistered", "False", since=builders.NOW),
)
STRAY = machine("m-b", provider_id="sim:///a")


def owners_of(world: World) -> list[str]:
    return [one.uid for one in the_node(world).metadata.owner_references]


def deleted(*others: Object, owners: tuple[OwnerReference, ...] = (FIRST,)) -> World:
    return World(
        machine(deleted_at=builders.NOW),
        node(owners=owners),
        pod(),
        *others,
        instances=[instance()],
    )


def test_the_one_that_is_deleted_goes_alone() -> None:
    world = deleted(STRAY)
    world.run(MACHINE, TERMINATION, for_s=300, tick_s=5)

    assert world.names("Machine") == ["m-b"]
    assert world.names("Node") == ["a"]
    assert world.done(Terminate) == world.done(Delete) == world.done(Evict) == []


def test_its_node_is_handed_over_before() -> None:
    """A node whose only owner is gone would be collected, and with it the instance."""
    world = deleted(STRAY)
    world.step(MACHINE, "m-a")
    assert owners_of(world) == [SECOND.uid]
    assert world.names("Machine") == ["m-a", "m-b"]

    world.step(MACHINE, "m-a")
    assert world.names("Machine") == ["m-b"]


@pytest.mark.parametrize(
    ("other", "left"),
    [
        (STRAY, [SECOND.uid]),
        (machine("m-b", provider_id="sim:///a", is_ours=False), []),
        (machine("m-b", is_new=True, annotations={names.LINKED: "sim:///a"}), [SECOND.uid]),
    ],
    ids=["ours", "somebody-elses", "linked-and-not-launched"],
)
def test_whoever_stands_for_it_keeps_the_instance(other: Object, left: list[str]) -> None:
    world = deleted(other)
    world.settle(MACHINE)

    assert world.view.machine("m-a") is None
    assert owners_of(world) == left
    assert world.done(Terminate) == world.done(Delete) == []


def test_a_person_is_told_on_both() -> None:
    world = deleted(STRAY, owners=(FIRST, SECOND))
    world.settle(MACHINE)
    alone = [one for one in world.events("ClaimedTwice") if "goes alone" in one.message]

    assert sorted(one.regarding.name for one in alone) == ["m-a", "m-b"]
    assert "delete that one, too, to end it" in alone[0].message


def test_the_last_takes_the_instance_along() -> None:
    world = deleted(machine("m-b", provider_id="sim:///a", deleted_at=builders.NOW))
    world.run(MACHINE, TERMINATION, for_s=60)

    assert world.names("Machine") == world.names("Node") == []
    assert {one.provider_id for one in world.done(Terminate)} == {"sim:///a"}


def test_who_deletes_the_node_ends_the_machine_whoever_stands_for_it() -> None:
    world = World(
        node(deleted_at=builders.NOW),
        machine(),
        machine("m-b", provider_id="sim:///a"),
        machine("m-c", is_new=True, annotations={names.LINKED: "sim:///a"}),
        instances=[instance()],
    )
    world.run(TERMINATION, MACHINE, for_s=30)

    assert world.names("Node") == world.names("Machine") == []
    assert world.cloud["sim:///a"].state.is_going


def test_as_long_as_both_live_each_says_so_and_nothing_happens() -> None:
    world = World(machine(), STRAY, node(), instances=[instance()])
    world.run(*ALL, for_s=120)
    said = [
        one for one in world.step(MACHINE, "m-b").verdicts if one.reason is Reason.CLAIMED_TWICE
    ]

    assert "instance sim:///a, and so does m-a: delete the one that should not" in said[0].message
    assert {one.regarding.name for one in world.events("ClaimedTwice")} == {"m-a", "m-b"}
    assert world.done(Delete) == world.done(Terminate) == []


def test_the_second_to_register_owns_the_node_as_well() -> None:
    second = machine("m-b", provider_id="sim:///a", conditions=UNREGISTERED)
    world = World(machine(), second, node(owners=(FIRST,)), instances=[instance()])
    world.settle(MACHINE)

    assert owners_of(world) == [FIRST.uid, SECOND.uid]
    found = world.view.machine("m-b")
    assert found is not None
    assert found.is_registered


def test_a_node_of_somebody_else_is_not_written_to() -> None:
    theirs = machine(is_ours=False)
    second = machine("m-b", provider_id="sim:///a", conditions=UNREGISTERED)
    world = World(theirs, second, node(owners=(FIRST,), is_ours=False), instances=[instance()])
    world.settle(MACHINE)

    assert [one for one in world.done(Patch) if one.ref.kind == "Node"] == []


# ---------------------------------------------------------------------------- links to nowhere


def test_a_link_to_another_cloud_holds_nobody() -> None:
    """Nobody has ever seen that instance, and ours could not end it."""
    linked = {names.LINKED: "aws:///us-east-1a/i-1"}
    world = World(
        machine(deleted_at=builders.NOW, provider_id="", conditions=(), annotations=linked)
    )
    world.settle(MACHINE)

    assert world.names("Machine") == []
    assert world.done(Terminate) == []


def test_a_link_that_no_cloud_can_make_sense_of_holds_nobody() -> None:
    linked = {names.LINKED: "sim://nonsense"}
    world = World(
        machine(deleted_at=builders.NOW, provider_id="", conditions=(), annotations=linked)
    )
    world.termination_problem = Problem(ProblemKind.INVALID, "that is no provider id")
    world.run(MACHINE, for_s=10)

    assert world.names("Machine") == []


def test_a_machine_that_the_cloud_will_not_end_is_told_of() -> None:
    world = World(machine(deleted_at=builders.NOW), instances=[instance()])
    world.termination_problem = Problem(ProblemKind.FORBIDDEN, "no rights")
    world.run(MACHINE, for_s=30)

    assert world.names("Machine") == ["m-a"]
    event = world.events("TerminationRefused")[0]
    assert (event.regarding.name, event.is_warning) == ("m-a", True)
    assert "sim:///a (forbidden): no rights" in event.message
