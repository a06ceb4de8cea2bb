"""A node is replaced: the new one is up before the old one goes (001:20)."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import budget
from tests.lifecycle.replacing import (
    LIMIT_S,
    QUIET_S,
    ROWS,
    bodies,
    command,
    deleted_nodes,
    first_command,
    is_free,
    joins,
    launched,
    reasons,
    replacement,
    underused,
)
from tests.lifecycle.rows import MACHINE
from tests.policy.underused import node, pod
from unmoor.lifecycle.effects import Patch
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind
from unmoor.policy.verdict import Reason

# The whole way.


def test_the_replacement_is_up_before_the_node_goes() -> None:
    world = launched()
    assert command(world).phase is DisruptionPhase.LAUNCHING
    assert world.view.node("a").is_cordoned  # type: ignore[union-attr]
    assert deleted_nodes(world) == []

    joins(world)
    world.run(*ROWS, for_s=40)
    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert world.names("Node") == ["new"]
    assert len(world.names("Machine")) == len(bodies(world, "Machine")) == 1
    assert replacement(world).replacement_for == ""  # type: ignore[union-attr]


def test_nothing_is_made_before_the_last_look_at_cordoned_nodes() -> None:
    world = underused()
    world.run(*ROWS, for_s=QUIET_S - 2)

    assert command(world).phase is DisruptionPhase.PENDING
    assert world.view.node("a").is_cordoned  # type: ignore[union-attr]
    assert bodies(world, "Machine") == []


def test_the_object_says_so_before_a_machine_is_made() -> None:
    world = underused()
    world.fails = lambda effect: isinstance(effect, Patch) and "Launching" in str(effect.body)
    world.run(*ROWS, for_s=60)

    assert bodies(world, "Machine") == []


def test_the_machine_is_as_planned_and_bears_the_commands_name() -> None:
    world = launched()
    [body] = bodies(world, "Machine")
    machine = replacement(world)
    assert machine is not None

    [wanted] = [one for one in machine.spec.requirements if one.key == names.INSTANCE_TYPE]
    assert wanted.values == command(world).spec.replacements[0].instance_types
    assert machine.replacement_for == command(world).name
    assert body["metadata"]["annotations"][names.MADE_FOR] == "shop/web-1"
    assert body["metadata"]["finalizers"] == [names.TERMINATION_FINALIZER]


def test_it_remembers_which_types_it_came_for() -> None:
    [body] = bodies(launched(), "Machine")

    assert body["metadata"]["annotations"][names.REPLACED_TYPES] == "large"


def test_the_mark_is_not_copied_to_the_node() -> None:
    world = launched()
    joins(world)
    world.run(*ROWS, for_s=3)

    assert names.REPLACEMENT_FOR not in world.view.node("new").metadata.annotations  # type: ignore[union-attr]


def test_what_is_counted_and_told() -> None:
    world = launched()
    [fact] = [one for one in world.facts if one.name == "machines_created"]
    assert fact.labels == {"reason": "consolidation/replace", "provisioner": "default"}
    [event] = {(one.regarding.name, one.message) for one in world.events("DeprovisioningLaunching")}
    assert event[0] == command(world).spec.replacements[0].name
    assert "consolidation/replace of a" in event[1]
    assert {one.message for one in world.events("DeprovisioningWaitingReadiness")} == {
        f"it is waited for until it is ready for pods ({command(world).name})"
    }

    joins(world)
    world.run(*ROWS, for_s=40)
    [took] = [one for one in world.facts if "initialized_seconds" in one.name]
    assert took.value == pytest.approx(5, abs=3)
    [fact] = [one for one in world.facts if one.name == "machines_terminated"]
    assert fact.labels == {"reason": "consolidation/replace", "provisioner": "default"}


def test_a_restart_in_the_middle_loses_nothing() -> None:
    """Spec 4.2.9."""
    world = underused()
    for _ in range(20):
        world.run(*ROWS, for_s=8)
        world.restart()
        world.run(*ROWS, for_s=QUIET_S + 1)
        if replacement(world) is not None and replacement(world).provider_id:  # type: ignore[union-attr]
            break
    joins(world)
    world.run(*ROWS, for_s=2)
    world.restart()
    world.run(*ROWS, for_s=40)

    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert world.names("Node") == ["new"]
    assert len(bodies(world, "Machine")) == 1


# The last look.


def test_a_pod_that_came_and_does_not_fit_keeps_everything() -> None:
    world = launched()
    joins(world)
    world.put(pod("late-1", "a", "30"))
    world.run(*ROWS, for_s=20)

    assert command(world).phase is DisruptionPhase.CANCELLED
    assert "need 1 new machine beside its 1" in command(world).status.message
    assert is_free(world)
    assert deleted_nodes(world) == ["new"]
    assert Reason.REPLACEMENT_FAILED in reasons(world)


def test_before_anything_is_made_the_command_must_be_what_it_was() -> None:
    world = underused()
    world.settle(*ROWS)
    world.put(pod("late-1", "a", "3"))
    world.run(*ROWS, for_s=QUIET_S + 1)
    first = first_command(world)

    assert first.phase is DisruptionPhase.CANCELLED
    assert bodies(world, "Machine") == []


def test_when_its_pods_fit_elsewhere_by_now_no_machine_is_made() -> None:
    world = underused()
    world.settle(*ROWS)
    for one in node("b"):
        world.put(one)
    world.put(pod("api-1", "b", "20"))
    world.run(*ROWS, for_s=QUIET_S + 1)

    assert bodies(world, "Machine") == []
    assert "need 0 new machines, not 1" in " ".join(
        one.status.message for one in world.view._objects["Disruption"].values()
    )


def test_without_the_types_the_cloud_is_asked_before_the_last_look() -> None:
    world = underused()
    world.settle(*ROWS)
    del world.view._answers[Asked.INSTANCE_TYPES]
    world.run(*ROWS, for_s=QUIET_S + 3)

    assert command(world).phase is DisruptionPhase.LAUNCHING


def test_a_cloud_that_does_not_say_what_it_sells_ends_it() -> None:
    world = underused()
    world.settle(*ROWS)
    problem = Problem(ProblemKind.FAILED, "no rights")
    world.view._answers[Asked.INSTANCE_TYPES][builders.SCHEME] = Answer(world.moment, None, problem)
    world.run(*ROWS, for_s=QUIET_S + 1)
    first = first_command(world)

    assert first.phase is DisruptionPhase.CANCELLED
    assert "no rights" in first.status.message
    assert bodies(world, "Machine") == []


@pytest.mark.parametrize("trouble", [{"is_ready": False}, {"is_cordoned": True}])
def test_a_replacement_that_is_out_of_order_for_a_while_is_waited_for(
    trouble: dict[str, bool],
) -> None:
    world = launched()
    joins(world)
    world.settle(MACHINE)
    assert replacement(world).is_initialized  # type: ignore[union-attr]
    joins(world, **trouble, is_joined=True)
    world.run(*ROWS, for_s=60)
    assert command(world).phase is DisruptionPhase.LAUNCHING

    joins(world, is_joined=True)
    world.run(*ROWS, for_s=40)
    assert first_command(world).phase is DisruptionPhase.SUCCEEDED


@pytest.mark.parametrize(("for_s", "is_over"), [(60, False), (LIMIT_S, True)])
def test_a_cloud_that_fails_for_a_while_ends_nothing_that_is_paid_for(
    for_s: float, *, is_over: bool
) -> None:
    world = launched()
    problem = Problem(ProblemKind.FAILED, "throttled")
    answers = world.view._answers[Asked.INSTANCE_TYPES]
    world.types_problem = problem
    answers[builders.SCHEME] = Answer(world.moment, None, problem)
    joins(world)
    world.run(*ROWS, for_s=for_s, tick_s=5)
    assert (first_command(world).phase is DisruptionPhase.CANCELLED) is is_over
    if not is_over:
        assert deleted_nodes(world) == []

    world.types_problem = None
    world.run(*ROWS, for_s=60)
    assert (first_command(world).phase is DisruptionPhase.SUCCEEDED) is not is_over


def test_a_budget_that_is_exhausted_for_a_while_is_waited_for() -> None:
    world = launched()
    joins(world)
    world.put(budget(allowed=0))
    world.run(*ROWS, for_s=60)
    assert command(world).phase is DisruptionPhase.LAUNCHING
    assert any("its replacements are ready" in one.message for one in world.events())

    world.put(budget(allowed=1))
    world.run(*ROWS, for_s=40)
    assert command(world).phase is DisruptionPhase.SUCCEEDED


def test_a_budget_that_stays_exhausted_ends_it_and_the_replacement_goes() -> None:
    world = launched()
    joins(world)
    world.put(budget(allowed=0))
    world.run(*ROWS, for_s=LIMIT_S + 30, tick_s=5)

    assert command(world).phase is DisruptionPhase.CANCELLED
    assert is_free(world)
    assert world.names("Node") == ["a"]
    assert world.names("Machine") == ["m-a"]
