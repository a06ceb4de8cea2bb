"""A pod that cannot be read is there all the same: it holds its node, and that is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import at, budget, condition, daemon_pod, node, pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import CONDITIONS, DEPROVISIONING, TERMINATION
from tests.lifecycle.test_deprovisioning import EVERYTHING, command, empties
from tests.lifecycle.test_disruption_conditions import EMPTY, empty, world_of
from tests.lifecycle.test_drain import by_person
from tests.lifecycle.test_termination import evicted
from tests.lifecycle.worlds import deleted
from unmoor.lifecycle.effects import Delete, Terminate
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.machine import MACHINE_INITIALIZED
from unmoor.model.snapshot import Unreadable
from unmoor.policy.verdict import Method, Reason

KEY = ("shop", "odd-1")
PROBLEM = 'Expected `int`, got `str` - at `$.spec.priority`, where "high" stands'


def spoil(world: World, *, on: str = "a") -> None:
    """The server has a pod that nobody can make out."""
    world.view._broken["Pod"][KEY] = Unreadable(PROBLEM, on)


def mend(world: World) -> None:
    world.view._broken["Pod"].clear()


def test_it_holds_the_drain_and_is_named_with_field_value_and_remedy() -> None:
    world = deleted(pod(grace_s=5))
    spoil(world)
    world.run(TERMINATION, for_s=120)
    assert evicted(world) == ["web-1"]
    assert world.names("Node") == ["a"]
    assert world.done(Terminate) == []

    (verdict,) = [
        one for one in world.step(TERMINATION, "a").verdicts if one.reason is Reason.UNREADABLE_POD
    ]
    assert "pod shop/odd-1 cannot be read" in verdict.message
    assert '`$.spec.priority`, where "high" stands' in verdict.message
    assert "delete the pod" in verdict.message
    assert any("shop/odd-1" in event.message for event in world.events("FailedDraining"))


def test_when_it_is_mended_or_gone_the_drain_goes_on() -> None:
    world = deleted()
    spoil(world)
    world.run(TERMINATION, for_s=60)
    mend(world)
    world.put(pod("odd-1", grace_s=10))
    world.run(TERMINATION, for_s=9)
    assert evicted(world) == ["odd-1"]
    assert world.names("Node") == ["a"]

    world.run(TERMINATION, for_s=3)
    assert world.names("Node") == []


@pytest.mark.parametrize("place", ["b", ""], ids=["another node", "nobody can say where"])
def test_nodes_where_it_is_not_are_not_held(place: str) -> None:
    """Where it is, the API server says when it is asked: it looks at the field for us."""
    world = deleted()
    spoil(world, on=place)
    world.run(TERMINATION, for_s=8)

    assert world.names("Node") == []


def test_who_was_readable_there_before_is_what_it_was() -> None:
    """Evicted as an ordinary pod, or left alone as a DaemonSet's."""
    world = deleted(pod("odd-1", grace_s=10))
    spoil(world)
    world.settle(TERMINATION)
    assert evicted(world) == ["odd-1"]

    world = deleted(daemon_pod("odd-1"))
    world.view._broken["Pod"]["kube-system", "odd-1"] = Unreadable(PROBLEM, "a")
    world.run(TERMINATION, for_s=8)
    assert world.names("Node") == []


def test_who_was_readable_while_it_was_pending_holds_the_node_it_is_on_now() -> None:
    world = deleted(pod("odd-1", on=""))
    spoil(world)
    world.run(TERMINATION, for_s=60)

    assert world.names("Node") == ["a"]


def test_a_deadline_ends_the_drain_and_says_who_was_left() -> None:
    world = deleted(pod(), budget(), annotations={names.DRAIN_DEADLINE: "1m"})
    world.stuck_pods.add("web-1")
    spoil(world)
    world.run(TERMINATION, for_s=69)
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=3)
    (terminate,) = world.done(Terminate)
    assert terminate.why.endswith("2 pods still there: shop/web-1, shop/odd-1")
    assert any(event.message == terminate.why for event in world.events())


def test_a_person_is_told_of_it() -> None:
    world = deleted()
    spoil(world)
    world.run(by_person(), for_s=20)
    verdicts = world.step(by_person(), "a").verdicts

    assert [one.reason for one in verdicts] == [Reason.UNREADABLE_POD]


# -------------------------------------------------------------------------------------- emptiness


@pytest.mark.parametrize("before", [EMPTY, None], ids=["was empty", "was not"])
def test_a_node_with_one_is_not_empty(before: Any) -> None:
    known = (condition(MACHINE_INITIALIZED), *((before,) if before else ()))
    world = world_of(node(), conditions=known)
    spoil(world)
    assert empty(world) is None
    assert world.step(CONDITIONS, "m-a").wake_at is not None  # nobody says when it is gone

    mend(world)
    found = empty(world)
    assert found is not None
    assert found.last_transition_time == at(0)


def test_a_node_with_one_is_no_candidate_and_that_is_said() -> None:
    world = empties("a")
    spoil(world)
    step = world.step(DEPROVISIONING, "all")

    (said,) = [one for one in step.verdicts if one.method is Method.EMPTINESS]
    assert said.reason is Reason.UNREADABLE_POD
    assert "emptiness is blocked: pod shop/odd-1 cannot be read" in said.message
    assert world.view.sorted(DISRUPTIONS) == []


def test_a_node_that_gets_one_is_left_out_of_its_command() -> None:
    world = empties("ab")
    world.settle(DEPROVISIONING)
    spoil(world)
    world.run(*EVERYTHING, for_s=30)

    assert world.names("Node") == ["a"]
    assert [one.ref.name for one in world.done(Delete) if one.ref.kind == "Node"] == ["b"]
    assert command(world).phase is DisruptionPhase.SUCCEEDED
