"""What a step says, for the reasons that the stories only see as events or effects."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import builders
from tests.builders import budget, instance, machine, node, pod
from tests.lifecycle.driver import Row, World
from tests.lifecycle.rows import CONSISTENCY, DEPROVISIONING, GARBAGE, MACHINE, TERMINATION
from tests.lifecycle.test_moved_pods import moving
from unmoor.lifecycle.effects import Terminate
from unmoor.model.base import Object
from unmoor.model.machine import MACHINE_REGISTERED
from unmoor.model.observation import Problem, ProblemKind
from unmoor.policy.verdict import Reason, Verdict

NEVER_JOINED = (builders.condition(MACHINE_REGISTERED, "False"),)


def said(world: World, row: Row, key: str, for_s: int) -> list[Verdict]:
    """Everything that one row says about one key within some seconds."""
    verdicts: list[Verdict] = []
    for _ in range(for_s * 2):
        verdicts += world.step(row, key).verdicts
        verdicts += world.step(row, key).verdicts
        world.wait(0.5)
    return verdicts


def deleted(*others: Object) -> World:
    return World(node(deleted_at=builders.NOW), machine(), *others, instances=[instance()])


def machine_gone() -> tuple[World, Row, str]:
    world = deleted(pod(), budget())
    world.cloud.clear()
    return world, TERMINATION, "a"


def termination_refused() -> tuple[World, Row, str]:
    world = deleted()
    world.fails = lambda effect: isinstance(effect, Terminate)
    return world, TERMINATION, "a"


def insufficient_capacity() -> tuple[World, Row, str]:
    world = World(machine(is_new=True))
    world.launch_problems = [Problem(ProblemKind.INSUFFICIENT_CAPACITY, "none")]
    return world, MACHINE, "m-a"


def launch_failed() -> tuple[World, Row, str]:
    world = World(machine(is_new=True))
    world.launch_problems = [Problem(ProblemKind.FAILED, "quota")]
    return world, MACHINE, "m-a"


def never_registered() -> tuple[World, Row, str]:
    return World(machine(conditions=NEVER_JOINED, node_name="")), MACHINE, "m-a"


def instance_missing() -> tuple[World, Row, str]:
    return World(machine()), GARBAGE, "all"


def nodes_left() -> tuple[World, Row, str]:
    return World(machine(deleted_at=builders.NOW), node()), MACHINE, "m-a"


def no_machine() -> tuple[World, Row, str]:
    return World(instances=[instance()]), GARBAGE, "all"


def inconsistent() -> tuple[World, Row, str]:
    return World(machine(capacity={"cpu": "64"}), node()), CONSISTENCY, "m-a"


def settling_given_up() -> tuple[World, Row, str]:
    nowhere = (builders.condition("PodScheduled", "False", reason="Unschedulable"),)
    lost = pod("web-2", on="", phase="Pending", conditions=nowhere)
    return moving(2, pod("web-1"), lost), DEPROVISIONING, "all"


@pytest.mark.parametrize(
    ("make", "reason", "words"),
    [
        (machine_gone, Reason.MACHINE_GONE, "sim:///a of node a does not exist any more"),
        (termination_refused, Reason.TERMINATION_REFUSED, "sim:///a (unknown): timeout"),
        (insufficient_capacity, Reason.INSUFFICIENT_CAPACITY, "no capacity for machine m-a: none"),
        (launch_failed, Reason.LAUNCH_FAILED, "m-a was not launched (failed): quota"),
        (never_registered, Reason.NEVER_REGISTERED, "no node has joined for machine m-a in 15 min"),
        (instance_missing, Reason.INSTANCE_MISSING, "sim:///a of machine m-a is gone"),
        (nodes_left, Reason.NODES_LEFT, "waits for its nodes to be drained: a"),
        (no_machine, Reason.NO_MACHINE, "instance sim:///a has no machine"),
        (inconsistent, Reason.INCONSISTENT, "6.2% of the cpu"),
        (settling_given_up, Reason.SETTLING_GIVEN_UP, "pod shop/web-2 fits nowhere"),
    ],
    ids=lambda value: str(value) if isinstance(value, Reason) else "",
)
def test_what_is_said(
    make: Callable[[], tuple[World, Row, str]], reason: Reason, words: str
) -> None:
    world, row, key = make()
    found = [one.message for one in said(world, row, key, 15) if one.reason is reason]

    assert found
    assert words in found[0]
