"""As much at once as the largest cluster can have: no step does too much, all are dealt with."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import condition, disruption, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import Row, World
from tests.lifecycle.rows import DEPROVISIONING, GARBAGE, TERMINATION
from unmoor.lifecycle import deprovisioning
from unmoor.lifecycle.effects import Delete, Evict, Observe, Publish, Terminate
from unmoor.lifecycle.step import EFFECTS_MAX
from unmoor.model import names
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import NODES
from unmoor.model.machine import LIVING_CONDITIONS, MACHINE_EMPTY, MACHINE_LAUNCHED
from unmoor.model.node import Node
from unmoor.model.observation import Asked
from unmoor.model.settings import Settings

MANY = 5_001
STEPS_MAX = 40
LAUNCHED = (condition(MACHINE_LAUNCHED),)


def steps(world: World, row: Row, key: str = "all") -> int:
    """Step one key as the loop would, until nothing is left to do; return how often."""
    for number in range(STEPS_MAX):
        step = world.step(row, key)
        assert len(step.effects) <= EFFECTS_MAX
        if not world.acted and step.wake_at != world.moment.mono:
            return number
    raise AssertionError(f"still at it after {STEPS_MAX} steps")


def marked() -> list[Node]:
    return [node(f"n-{number:04}", disruption="gone") for number in range(MANY)]


def test_machines_without_an_instance_go_in_several_steps() -> None:
    world = World(*(machine(f"m-{number:04}", conditions=LAUNCHED) for number in range(MANY)))
    steps(world, GARBAGE)

    deleted = {effect.ref.name for effect in world.done(Delete)}
    assert len(world.done(Delete)) == len(deleted) == MANY
    assert [one.asked for one in world.done(Observe)].count(Asked.INSTANCES) == 1


def test_and_so_do_instances_without_a_machine() -> None:
    found = [instance(f"i-{number:04}", token=f"gone-{number}") for number in range(MANY)]
    world = World(provisioner(), instances=found)
    steps(world, GARBAGE)

    ended = [effect.provider_id for effect in world.done(Terminate)]
    assert len(ended) == len(set(ended)) == MANY


def test_machines_that_nobody_can_delete_do_not_keep_instances_alive() -> None:
    found = [instance(f"i-{number:04}", token=f"gone-{number}") for number in range(MANY)]
    stuck = [machine(f"m-{number:04}", conditions=LAUNCHED) for number in range(MANY)]
    world = World(provisioner(), *stuck, instances=found)
    world.fails = lambda effect: isinstance(effect, Delete)
    for _ in range(STEPS_MAX // 2):
        world.step(GARBAGE, "all")

    assert len({effect.provider_id for effect in world.done(Terminate)}) == MANY


@pytest.mark.parametrize(
    "known", [(), (disruption("gone", phase=DisruptionPhase.CANCELLED),)], ids=["asked", "known"]
)
def test_marks_without_a_command_are_taken_back_in_several_steps(
    known: tuple[Disruption, ...],
) -> None:
    world = World(*marked(), *known)
    steps(world, DEPROVISIONING)

    assert {one.disruption for one in world.view.all(NODES).values()} == {""}


def test_a_person_may_name_every_node_in_one_command() -> None:
    every = [f"n-{number:04}" for number in range(MANY)]
    empty = (*(condition(kind) for kind in LIVING_CONDITIONS), condition(MACHINE_EMPTY))
    theirs = disruption("all", nodes=tuple(every))
    world = World(provisioner(ttl_after_empty_s=30), theirs, *(node(name) for name in every))
    for name in every:
        world.put(machine(f"m-{name}", node_name=name, conditions=empty))
    steps(world, DEPROVISIONING)
    world.wait(world.view.settings.cadence.cordon_quiet_s)
    steps(world, DEPROVISIONING)

    assert all(one.is_deleting for one in world.view.all(NODES).values())


@pytest.mark.parametrize("deadline_s", [None, 20.0])
def test_a_node_may_have_as_many_pods_as_a_cluster_has_nodes(deadline_s: float | None) -> None:
    """A node that stands for another cluster has. ``deadline_s``: all at once past their time."""
    crowd = [pod(f"p-{number:04}", grace_s=60) for number in range(MANY)]
    settings = Settings(drain_deadline_s=deadline_s)
    going = node(deleted_at=builders.NOW, is_cordoned=True)
    world = World(going, machine(finalizers=()), *crowd, instances=[instance()], settings=settings)
    for _ in range(STEPS_MAX):
        step = world.step(TERMINATION, "a")
        assert len(step.effects) <= EFFECTS_MAX
        world.wait(1.0)

    assert {effect.ref.name for effect in world.done(Evict)} == {one.name for one in crowd}
    cut = {effect.ref.name for effect in world.done(Delete) if effect.ref.kind == "Pod"}
    assert len(cut) == (0 if deadline_s is None else MANY)


def test_of_many_nodes_each_gets_its_event_sooner_or_later() -> None:
    every = [f"n-{number:04}" for number in range(350)]
    empty = (*(condition(kind) for kind in LIVING_CONDITIONS), condition(MACHINE_EMPTY))
    world = World(provisioner(ttl_after_empty_s=30))
    for name in every:
        world.put(node(name, annotations={names.DO_NOT_DISRUPT: "true"}))
        world.put(machine(f"m-{name}", node_name=name, conditions=empty))
    for _ in range(4):
        assert len(world.step(DEPROVISIONING, "all").effects) <= 2 * deprovisioning.TOLD_MAX
    told = [event.regarding.name for event in world.events("DeprovisioningBlocked")]
    first = world.step(DEPROVISIONING, "all").effects[0]

    assert sorted(told) == sorted([*every, *(f"m-{name}" for name in every)])
    assert isinstance(first, Publish)
    assert first.regarding.name == every[0]
