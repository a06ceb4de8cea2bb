"""A cloud that asks us to come back later is left alone until then, whoever wants to know."""

from __future__ import annotations

from typing import Any

from tests import builders
from tests.builders import budget, condition, instance, machine, node, pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import GARBAGE, MACHINE, TERMINATION
from unmoor.lifecycle.effects import Observe
from unmoor.model import names
from unmoor.model.machine import MACHINE_LAUNCHED
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind


def busy(world: World, retry_after_s: float = 45.0) -> Answer[Any]:
    problem = Problem(ProblemKind.TOO_MANY_REQUESTS, "slowly", retry_after_s=retry_after_s)
    return Answer(world.moment, None, problem)


def test_a_cloud_that_asks_us_to_wait_is_not_asked_for_a_list() -> None:
    world = World()
    world.step(GARBAGE, "all")
    world.view._answers[Asked.INSTANCES][builders.CLUSTER] = busy(world)
    world.run(GARBAGE, for_s=44)
    assert len(world.done(Observe)) == 1

    world.run(GARBAGE, for_s=2)
    assert len(world.done(Observe)) == 2


def test_a_cloud_that_asks_us_to_wait_is_not_asked_for_a_suspect() -> None:
    world = World(machine(conditions=(condition(MACHINE_LAUNCHED),)))
    world.view._answers[Asked.INSTANCE]["sim:///a"] = busy(world)
    world.run(GARBAGE, for_s=44)
    assert {one.asked for one in world.done(Observe)} == {Asked.INSTANCES}

    world.run(GARBAGE, for_s=20)
    assert {one.asked for one in world.done(Observe)} == {Asked.INSTANCES, Asked.INSTANCE}


def test_a_cloud_that_asks_us_to_wait_is_not_asked_for_the_machine() -> None:
    world = World(
        node(deleted_at=builders.NOW),
        machine(finalizers=()),
        pod(),
        budget(),
        instances=[instance()],
    )
    world.view._answers[Asked.INSTANCE]["sim:///a"] = busy(world)
    world.run(TERMINATION, for_s=44)
    assert world.done(Observe) == []

    world.run(TERMINATION, for_s=3)
    assert len(world.done(Observe)) == 1


def test_a_cloud_that_asks_us_to_wait_is_not_asked_for_a_linked_instance() -> None:
    world = World(machine(is_new=True, annotations={names.LINKED: "sim:///old"}))
    world.view._answers[Asked.INSTANCE]["sim:///old"] = busy(world)
    world.run(MACHINE, for_s=44)
    assert world.done(Observe) == []

    world.run(MACHINE, for_s=3)
    assert len(world.done(Observe)) == 1
