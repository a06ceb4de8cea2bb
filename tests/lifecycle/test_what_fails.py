"""What becomes of a command when something fails, row by row (spec 4.2; `tests/reports.toml`)."""

from __future__ import annotations

import pytest

from tests.lifecycle.replacing import (
    LIMIT_S,
    QUIET_S,
    ROWS,
    command,
    deleted_nodes,
    failed,
    is_free,
    launched,
    replacement,
    underused,
)
from tests.lifecycle.test_consolidation import small
from tests.lifecycle.test_deprovisioning import EVERYTHING, empties
from tests.lifecycle.test_deprovisioning import command as command_of
from tests.policy.underused import SMALL, node, pod
from unmoor.lifecycle.effects import AnyEffect, Delete, Patch
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.instance import InstanceState
from unmoor.model.observation import Problem, ProblemKind

LIVENESS_S = 900
"""So long after its launch a machine whose node has not joined is given up."""


@pytest.mark.parametrize("problem", ["fails", "refuses"])
def test_a_cordon_that_cannot_be_set_is_left_out_or_tried_again(problem: str) -> None:
    """Spec 4.2.1."""
    world = empties("ab")
    setattr(world, problem, lambda one: isinstance(one, Patch) and one.ref.uid == "uid-node-a")
    world.run(*EVERYTHING, for_s=100)
    assert world.done(Delete) == [] if problem == "fails" else world.names("Node") == ["a"]

    setattr(world, problem, lambda _: False)
    world.run(*EVERYTHING, for_s=900, tick_s=5)
    assert world.names("Node") == []


def test_a_cloud_that_refuses_for_another_reason_is_tried_until_the_wait_is_over() -> None:
    """Spec 4.2.4."""
    world = underused()
    world.launch_problems = [Problem(ProblemKind.FAILED, "no such subnet")] * 1000
    world.run(*ROWS, for_s=LIMIT_S - 30, tick_s=5)
    assert command(world).phase is DisruptionPhase.LAUNCHING
    made = replacement(world)
    assert made is not None
    assert [(one.status, one.reason) for one in made.status.conditions if one.status == "False"]

    world.run(*ROWS, for_s=60, tick_s=5)
    failed(world)
    assert is_free(world)
    assert world.names("Machine") == ["m-a"]


def test_a_replacement_whose_node_never_joins_is_given_up_before_its_machine_is() -> None:
    """Spec 4.2.5."""
    world = launched()
    world.run(*ROWS, for_s=LIMIT_S + 10, tick_s=5)
    failed(world)
    assert is_free(world)
    assert LIMIT_S < LIVENESS_S

    assert world.names("Machine") == ["m-a"]
    assert [one.state for one in world.cloud.values() if one.token] == [InstanceState.SHUTTING_DOWN]


def test_a_node_that_cannot_be_deleted_keeps_no_other() -> None:
    """Spec 4.2.7."""

    def is_of_a(effect: AnyEffect) -> bool:
        return isinstance(effect, Delete) and effect.ref.uid == "uid-node-a"

    world = empties("abc")
    world.refuses = is_of_a
    world.run(*EVERYTHING, for_s=120)

    assert world.names("Node") == ["a"]
    assert set(command_of(world).status.left_out) == {"a"}


def test_a_drain_that_a_budget_holds_is_waited_for_and_no_other_command_begins() -> None:
    """Spec 4.2.8: R3: longer than the nine and a half minutes after which others go on."""
    world = small(
        "ab", pod("web-1", "a", "100m"), pod("web-2", "a", "100m"), pod("api-1", "b", "1")
    )
    world.eviction_problem = Problem(ProblemKind.TOO_MANY_REQUESTS, "budget web", 429, 10.0)
    world.run(*ROWS, for_s=QUIET_S + 5)
    assert deleted_nodes(world) == ["b"]
    for one in node("c", SMALL):
        world.put(one)

    world.run(*ROWS, for_s=1200, tick_s=10)

    assert command(world).phase is DisruptionPhase.DELETING
    assert len(world.names("Disruption")) == 1
    assert world.names("Node") == ["a", "b", "c"]
    assert any("budget web" in one.message for one in world.events("FailedDraining"))
