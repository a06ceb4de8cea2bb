"""When is a machine marked as empty, and since when?"""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at, condition, daemon_pod, machine, mirror_pod, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import CONDITIONS
from tests.lifecycle.worlds import the_machine
from unmoor.lifecycle import conditions, disruption_conditions
from unmoor.lifecycle.disruption_conditions import Part
from unmoor.lifecycle.step import Step
from unmoor.model.base import Condition
from unmoor.model.machine import (
    DISRUPTION_CONDITIONS,
    MACHINE_DRIFTED,
    MACHINE_EMPTY,
    MACHINE_EXPIRED,
    MACHINE_INITIALIZED,
    MACHINE_LAUNCHED,
)

EMPTY = condition(MACHINE_EMPTY)


def world_of(*others: Any, ttl_s: int | None = 30, **fields: Any) -> World:
    fields.setdefault("conditions", (condition(MACHINE_INITIALIZED), EMPTY))
    return World(machine(**fields), provisioner(ttl_after_empty_s=ttl_s), *others)


def empty(world: World) -> Condition | None:
    world.settle(CONDITIONS)
    return the_machine(world).condition(MACHINE_EMPTY)


def test_t108_an_empty_node_is_marked() -> None:
    world = world_of(node(), conditions=(condition(MACHINE_INITIALIZED),))
    found = empty(world)

    assert found is not None
    assert (found.status, found.last_transition_time) == ("True", builders.NOW)
    assert [fact.labels for fact in world.facts if fact.name == "machines_disrupted"] == [
        {"type": "empty", "provisioner": "default"}
    ]


def test_t109_without_a_ttl_the_mark_goes() -> None:
    assert empty(world_of(node(), ttl_s=None)) is None


def test_t110_not_initialized_the_mark_goes() -> None:
    conditions = (condition(MACHINE_INITIALIZED, "False"), EMPTY)

    assert empty(world_of(node(), conditions=conditions)) is None


def test_t111_without_the_condition_the_mark_goes() -> None:
    assert empty(world_of(node(), conditions=(condition(MACHINE_LAUNCHED), EMPTY))) is None


def test_t112_without_a_node_the_mark_goes() -> None:
    assert empty(world_of()) is None


def test_t113_with_a_pod_the_mark_goes() -> None:
    assert empty(world_of(node(), pod())) is None


def test_t114_nominated_the_mark_goes_for_thirty_seconds_at_least() -> None:
    world = world_of(node(), pod("coming", on="", nominated_to="a", phase="Pending"))
    step = world.step(CONDITIONS, "m-a")

    assert empty(world) is None
    assert step.wake_at == world.moment.mono + 30


BESIDES = (MACHINE_EXPIRED, MACHINE_DRIFTED)
"""Stand for expiration and drift in T121 and T122: emptiness is the only real part so far."""


def disrupted(world: World, step: Step[Any]) -> set[str]:
    """Carry out what must be one patch; return the disruption conditions that are there then."""
    (patch,) = step.effects
    assert world.act(patch) is None
    conditions = the_machine(world).status.conditions
    return {one.type for one in conditions if one.type in DISRUPTION_CONDITIONS}


def test_all_that_applies_is_set_in_one_patch() -> None:
    held = machine(conditions=(condition(MACHINE_INITIALIZED),))
    parts = [Part(kind, conditions.true(kind)) for kind in (MACHINE_EMPTY, *BESIDES)]
    step = disruption_conditions.written(held, parts, builders.moment())

    assert disrupted(World(held), step) == {"MachineEmpty", "MachineExpired", "MachineDrifted"}


def test_all_that_no_longer_applies_is_removed_in_one_patch() -> None:
    there = (MACHINE_INITIALIZED, MACHINE_EMPTY, *BESIDES)
    held = machine(conditions=tuple(condition(kind) for kind in there))
    parts = [Part(kind) for kind in (MACHINE_EMPTY, *BESIDES)]
    step = disruption_conditions.written(held, parts, builders.moment())

    assert disrupted(World(held), step) == set()


@pytest.mark.parametrize(
    ("there", "is_empty"),
    [
        (pod(gone_by=at(20)), False),  # R5, against C25 (a)
        (pod(gone_by=at(-61)), True),  # stuck
        (pod(phase="Succeeded"), True),  # C25 (c)
        (daemon_pod(), True),  # C25 (d)
        (mirror_pod(), True),
    ],
    ids=["terminating", "stuck", "finished", "daemon", "static"],
)
def test_c25_what_counts(there: Any, is_empty: bool) -> None:  # noqa: FBT001 - a table
    found = empty(world_of(node(), there, conditions=(condition(MACHINE_INITIALIZED),)))

    assert (found is not None) == is_empty


def test_a_stuck_pod_is_noticed_although_nothing_happens() -> None:
    world = world_of(node(), pod(gone_by=at(20)))
    step = world.step(CONDITIONS, "m-a")

    assert step.wake_at == world.moment.mono + 80.1


def test_r5_the_clock_moves_only_with_the_status() -> None:
    """A restart, another reason, a second look: the time stays as it is."""
    world = world_of(node())
    world.run(CONDITIONS, for_s=5)
    world.restart()
    found = empty(world)

    assert found is not None
    assert found.last_transition_time == builders.LONG_AGO


def test_r6_consolidation_takes_the_ttl_out_of_force() -> None:
    world = World(
        machine(conditions=(condition(MACHINE_INITIALIZED), EMPTY)),
        provisioner(ttl_after_empty_s=30, is_consolidated=True),
        node(),
    )
    # Both at once is invalid (spec 1.1): what stands there stays, and no method acts on it.
    assert empty(world) == EMPTY


def test_without_its_provisioner_nothing_changes() -> None:
    world = World(machine(conditions=(condition(MACHINE_INITIALIZED), EMPTY)), node())

    assert empty(world) == EMPTY
