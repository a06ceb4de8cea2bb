"""Is a pod on its way to a node? (T114, T174, T188)"""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at, machine, moment, node, pod, provisioner
from unmoor.model.observation import Answer, Asked
from unmoor.model.pod import Pod
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.policy import emptiness, nomination
from unmoor.policy.look import Look
from unmoor.policy.verdict import Reason


@pytest.mark.parametrize(
    ("one", "is_coming"),
    [
        (pod(on="", nominated_to="a", phase="Pending"), True),
        (pod(on="", nominated_to="b", phase="Pending"), False),
        (pod(on="", phase="Pending"), False),
        (pod(on="b", nominated_to="a"), False),
        (pod(on="", nominated_to="a", phase="Pending", gone_by=at(20)), False),
        (pod(on="", nominated_to="a", phase="Failed"), False),
    ],
    ids=["nominated", "to another", "to none", "placed elsewhere", "deleted", "finished"],
)
def test_who_is_coming(one: Pod, *, is_coming: bool) -> None:
    found = nomination.nominated_for(View.of(node(), one), node(), moment())

    assert found == (one if is_coming else None)


LEAVING = node("b", deleted_at=builders.NOW)


def planned(one: Pod, *others: Any, onto: str = "node/a", after_s: float = 0.0) -> Pod | None:
    """Whom node a is kept for, ``after_s`` seconds after it was planned for ``one``."""
    plan = {(Asked.NOMINATION, onto): Answer(moment(), (one.key,))}
    return nomination.nominated_for(
        View.of(node(), one, *others, answers=plan), node(), moment(after_s)
    )


@pytest.mark.parametrize(
    ("one", "is_coming"),
    [
        (pod(on="", phase="Pending"), True),
        (pod(on="a"), False),
        (pod(on="c"), False),
        (pod(on="b"), True),
        (pod(on="b", phase="Failed"), False),
        (pod(on="", phase="Pending", gone_by=at(20)), False),
    ],
    ids=["it waits", "it is there", "elsewhere", "its node goes", "finished", "deleted"],
)
def test_how_long_a_plan_keeps_a_node(one: Pod, *, is_coming: bool) -> None:
    found = planned(one, LEAVING, node("c"))

    assert found == (one if is_coming else None)


def test_t174_what_was_planned_onto_a_machine_holds_for_its_node() -> None:
    waiting = pod(on="", phase="Pending")

    assert planned(waiting, machine(), onto="machine/m-a") == waiting
    assert planned(waiting, machine(), onto="machine/m-b") is None


def test_t188_a_plan_that_is_not_renewed_expires() -> None:
    waiting = pod(on="", phase="Pending")

    assert planned(waiting, after_s=19.9) == waiting
    assert planned(waiting, after_s=20) is None


@pytest.mark.parametrize(("batch_s", "window_s"), [(1, 10), (5, 10), (10, 20), (60, 120)])
def test_the_window_is_twice_the_longest_batch(batch_s: float, window_s: float) -> None:
    view = View(Settings(batch_max_duration_s=batch_s))

    assert nomination.window_s(view) == window_s


def test_a_planned_node_is_not_taken_away() -> None:
    waiting = pod(on="", phase="Pending")
    empty = machine(conditions=(*machine().status.conditions, builders.condition("MachineEmpty")))
    plan = {(Asked.NOMINATION, "machine/m-a"): Answer(moment(), (waiting.key,))}
    there = (node(), empty, provisioner(ttl_after_empty_s=30), waiting)
    kept = View.of(*there, answers=plan, identity=builders.IDENTITY)
    free = View.of(*there, identity=builders.IDENTITY)

    assert emptiness.propose(Look(free, moment())).command is not None
    proposal = emptiness.propose(Look(kept, moment()))
    assert proposal.command is None
    assert [one.reason for one in proposal.verdicts] == [Reason.NOMINATED]
