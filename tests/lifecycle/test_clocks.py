"""A wall clock that is not the server's, or jumps: nobody's grace ends sooner by it, and no wait of
a command.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import at, budget, pod
from tests.lifecycle import replacing
from tests.lifecycle.driver import World
from tests.lifecycle.rows import DEPROVISIONING, TERMINATION
from tests.lifecycle.test_drain import attached, claimed
from tests.lifecycle.test_late_looks import told_to_go
from tests.lifecycle.test_moved_pods import moving
from tests.lifecycle.test_termination import reasons
from tests.lifecycle.worlds import deleted
from unmoor.lifecycle.effects import Delete, Terminate
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.kinds import ATTACHMENTS
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason

HOUR_S = 3600.0


def skewed(skew_s: float, *others: Any, settings: Settings = Settings(), **fields: Any) -> World:
    world = deleted(*others, settings=settings, **fields)
    world.skew_s = skew_s
    return world


@pytest.mark.parametrize("skew_s", [61, HOUR_S])
def test_a_pod_has_its_grace_although_our_clock_says_that_it_is_over(skew_s: float) -> None:
    world = skewed(skew_s, pod(grace_s=120))
    world.run(TERMINATION, for_s=119)
    assert world.names("Pod") == ["web-1"]
    assert Reason.STUCK_POD not in reasons(world)
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=2)
    assert world.names("Pod") == world.names("Node") == []


def test_a_stuck_pod_is_given_up_when_its_time_was_seen_to_go_by() -> None:
    world = skewed(HOUR_S, pod(grace_s=30))
    world.stuck_pods.add("web-1")
    world.run(TERMINATION, for_s=90)
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=2)
    assert len(world.done(Terminate)) == 1


def test_whoever_has_forgotten_since_when_waits_anew() -> None:
    world = skewed(HOUR_S, pod(grace_s=30))
    world.stuck_pods.add("web-1")
    world.run(TERMINATION, for_s=60)
    world.restart()
    world.run(TERMINATION, for_s=89)
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=3)
    assert len(world.done(Terminate)) == 1


def test_a_clock_that_is_behind_costs_as_much_time() -> None:
    world = skewed(-200, pod(grace_s=30))
    world.stuck_pods.add("web-1")
    world.run(TERMINATION, for_s=289)
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=3)
    assert len(world.done(Terminate)) == 1


def test_a_clock_that_jumps_meanwhile_changes_nothing() -> None:
    world = skewed(0, pod(grace_s=120))
    world.run(TERMINATION, for_s=10)
    world.skew_s = HOUR_S
    world.run(TERMINATION, for_s=109)
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=3)
    assert len(world.done(Terminate)) == 1


# --------------------------------------------------------------------------------------- deadlines


def test_a_deadline_is_not_over_at_once() -> None:
    """It would send pods away past their budgets."""
    world = skewed(2 * HOUR_S, pod(), budget(), settings=Settings(drain_deadline_s=HOUR_S))
    world.run(TERMINATION, for_s=299)
    assert told_to_go(world) == []

    world.run(TERMINATION, for_s=3)
    assert told_to_go(world) == ["web-1"]


def test_a_short_deadline_keeps_its_length() -> None:
    world = skewed(2 * HOUR_S, pod(), budget(), annotations={names.DRAIN_DEADLINE: "1m"})
    world.run(TERMINATION, for_s=59)
    assert told_to_go(world) == []

    world.run(TERMINATION, for_s=3)
    assert told_to_go(world) == ["web-1"]


def test_nobodys_grace_is_cut_to_what_a_wrong_clock_leaves() -> None:
    slow = pod("slow", grace_s=3600, gone_by=at(HOUR_S))
    world = skewed(2 * HOUR_S, slow, settings=Settings(drain_deadline_s=1800))
    world.settle(TERMINATION)

    assert [one.grace_s for one in world.done(Delete) if one.ref.kind == "Pod"] == [300]


def test_volumes_are_waited_for_although_a_deadline_seems_to_be_over() -> None:
    world = skewed(2 * HOUR_S, settings=Settings(drain_deadline_s=HOUR_S))
    world.put(attached("data"))
    world.put(claimed("data"))
    world.run(TERMINATION, for_s=60)
    assert world.done(Terminate) == []

    world.drop(world.view.get(ATTACHMENTS, "attached-data"))
    world.run(TERMINATION, for_s=1)
    assert len(world.done(Terminate)) == 1


def test_a_clock_that_is_behind_makes_a_deadline_late() -> None:
    world = skewed(-60, pod(), budget(), annotations={names.DRAIN_DEADLINE: "1m"})
    world.run(TERMINATION, for_s=119)
    assert told_to_go(world) == []

    world.run(TERMINATION, for_s=3)
    assert told_to_go(world) == ["web-1"]


JUMPS_S = [-86_400.0, -HOUR_S, 0.0, HOUR_S, 86_400.0]


@pytest.mark.parametrize("jump_s", JUMPS_S)
def test_a_replacement_has_its_time_however_the_clock_jumps(jump_s: float) -> None:
    world = replacing.launched()
    replacing.joins(world, is_ready=False)
    world.run(*replacing.ROWS, for_s=1)
    world.skew_s = jump_s
    world.run(*replacing.ROWS, for_s=replacing.LIMIT_S - 30, tick_s=5)
    assert replacing.first_command(world).phase is DisruptionPhase.LAUNCHING

    world.run(*replacing.ROWS, for_s=50, tick_s=5)
    assert replacing.first_command(world).phase is DisruptionPhase.CANCELLED


@pytest.mark.parametrize("jump_s", JUMPS_S)
def test_moved_pods_are_waited_for_as_long(jump_s: float) -> None:
    world = moving(2, pod("web-1", on="b", is_ready=False))
    world.run(DEPROVISIONING, for_s=1)
    world.skew_s = jump_s
    world.run(DEPROVISIONING, for_s=590, tick_s=10)
    assert replacing.command(world).phase is DisruptionPhase.SETTLING

    world.run(DEPROVISIONING, for_s=20)
    assert replacing.command(world).phase is DisruptionPhase.SUCCEEDED


def test_who_is_restarted_while_the_clock_is_behind_waits_no_longer_than_once() -> None:
    world = replacing.launched()
    replacing.joins(world, is_ready=False)
    world.skew_s = -86_400.0
    world.restart()
    world.run(*replacing.ROWS, for_s=replacing.LIMIT_S + 30, tick_s=5)

    assert replacing.first_command(world).phase is DisruptionPhase.CANCELLED
