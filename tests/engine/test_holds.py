"""A provisioner on hold is kept out of the plan, but for the one machine that it may try."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.scenes import (
    WEB,
    ZONES,
    instance_type,
    place,
    pod,
    required,
    scene,
    solve,
    some,
    template,
    term,
)
from unmoor.engine.plan import Plan
from unmoor.engine.refusal import Constraint
from unmoor.engine.scene import Hold
from unmoor.model import names

HELD, TRIED = Hold("it pauses"), Hold("it is refused", is_on_trial=True)
APART = {"podAntiAffinity": required(term())}


def makers(plan: Plan) -> list[str]:
    return [one.provisioner for one in plan.machines]


def test_pods_go_to_the_next_by_weight() -> None:
    on = scene(template("heavy", weight=9, hold=HELD), template("next", weight=5), template("last"))

    assert makers(solve(on, [pod("p")])) == ["next"]


def test_one_machine_is_tried_and_whoever_needs_another_goes_to_the_next() -> None:
    on = scene(template("heavy", weight=9, hold=TRIED), template("next"))
    plan = solve(on, some(3, labels=WEB, affinity=APART))

    assert makers(plan) == ["heavy", "next", "next"]
    assert not plan.refused


@pytest.mark.parametrize(("hold", "placed"), [(HELD, 0), (TRIED, 1)])
def test_who_is_left_over_is_told_of_the_hold(hold: Hold, placed: int) -> None:
    plan = solve(scene(template(hold=hold)), some(3, labels=WEB, affinity=APART))
    reasons = [one for refused in plan.refused.values() for one in refused]

    assert len(plan.placements) == placed
    assert {(one.constraint, one.subject, one.missing) for one in reasons} == {
        (Constraint.ON_HOLD, "default", hold.words)
    }


def test_nobody_rests_on_a_machine_that_is_not_made() -> None:
    """The first could only run there, and the second only beside the first."""
    at_heavy = {names.PROVISIONER_NAME: "heavy", names.ZONE: ZONES[0]}
    near = {"podAffinity": required(term(names.ZONE))}
    leader = pod("leader", labels=WEB, nodeSelector=at_heavy)
    follower = pod("follower", affinity=near)
    heavy: dict[str, Any] = {"name": "heavy", "weight": 9}

    assert len(solve(scene(template(**heavy), template()), [leader, follower]).placements) == 2
    assert not solve(scene(template(**heavy, hold=HELD), template()), [leader, follower]).placements


@pytest.mark.parametrize(
    ("others", "asked", "constraint"),
    [
        pytest.param(
            (template("tiny", remaining={"cpu": 1}),), "1", Constraint.ON_HOLD, id="limit"
        ),
        pytest.param((place("full", cpu="0"),), "1", Constraint.ON_HOLD, id="a full node"),
        pytest.param((), "64", Constraint.INSTANCE_TYPE, id="it could not take the pod either"),
    ],
)
def test_a_provisioner_that_could_take_the_pod_but_for_its_hold_is_the_nearest(
    others: Any, asked: str, constraint: Constraint
) -> None:
    held = template("held", (instance_type("any"),), hold=HELD)
    [[reason, *_]] = solve(scene(held, *others), [pod("p", cpu=asked)]).refused.values()

    assert (reason.constraint, reason.where) == (constraint, "held")
