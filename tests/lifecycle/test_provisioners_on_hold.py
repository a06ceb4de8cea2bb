"""Provisioners that make no machine for now are no plan's: pods go to the next, or hear why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests import builders
from tests.builders import node
from tests.engine.scenes import ZONES, required, term
from tests.lifecycle.driver import World
from tests.lifecycle.pending import homeless, made, provisioner, waiting, wanting
from tests.lifecycle.rows import PROVISIONING
from unmoor.lifecycle.effects import Create, Nominate
from unmoor.model import names
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind
from unmoor.model.taint import Taint

Hold = Callable[[World], None]
UID = provisioner("heavy").uid
HEAVY = {"nodeSelector": {names.PROVISIONER_NAME: "heavy", names.ZONE: ZONES[0]}}


def exceeded(world: World) -> None:
    world.put(provisioner("heavy", weight=9, limits={"resources": {"cpu": "2"}}, used={"cpu": "3"}))


def paused(world: World) -> None:
    """The last two nodes of it were made twenty minutes ago, and are not ready."""
    for name in ("a", "b"):
        one = node(
            name,
            is_joined=False,
            labels={names.PROVISIONER_NAME: "heavy"},
            annotations={names.MANAGED_BY: builders.CLUSTER},
            taints=(Taint(key=names.NOT_READY, effect="NoSchedule"),),
            created_at=world.moment.wall - timedelta(minutes=20),
        )
        world.put(one)


def refused(world: World) -> None:
    problem = Problem(ProblemKind.FORBIDDEN, "a webhook says no")
    world.view._answers[Asked.CREATION][UID] = Answer(world.moment, None, problem)


HOLDS: dict[Hold, str] = {
    exceeded: "limits: cpu: provisioner heavy may have 2 (spec.limits.resources), 3 already in use",
    paused: "it pauses: its last 2 nodes have not become ready",
    refused: "the server refuses its machines (forbidden): a webhook says no",
}


@pytest.mark.parametrize("hold", HOLDS)
def test_pods_go_to_the_next_by_weight(hold: Hold) -> None:
    world = wanting(waiting(), provisioner("heavy", weight=9), provisioner("light"))
    hold(world)
    world.run(PROVISIONING, for_s=5)

    assert [one.provisioner_name for one in made(world)] == ["light"]
    assert homeless(world) == []


@pytest.mark.parametrize("hold", HOLDS)
def test_who_can_go_nowhere_else_is_told_why(hold: Hold) -> None:
    world = wanting(waiting(spec=HEAVY), provisioner("heavy", weight=9), provisioner("light"))
    hold(world)
    world.run(PROVISIONING, for_s=5)
    [event] = world.events("FailedScheduling")

    assert made(world) == []
    assert f"provisioner on hold: heavy: {HOLDS[hold]}" in event.message


@pytest.mark.parametrize("hold", HOLDS)
def test_nobody_is_promised_a_place_that_rests_on_a_machine_that_is_not_made(
    hold: Hold,
) -> None:
    light = {names.PROVISIONER_NAME: "light"}
    near = {"podAffinity": required(term(names.ZONE, {"app": "leader"}))}
    pods = [
        waiting("leader", labels={"app": "leader"}, spec=HEAVY),
        waiting("follower", spec={"affinity": near, "nodeSelector": light}),
    ]
    world = wanting(*pods, provisioner("heavy", weight=9), provisioner("light"))
    hold(world)
    world.run(PROVISIONING, for_s=5)

    assert world.done(Create) == world.done(Nominate) == []
    assert sorted(homeless(world)) == ["follower", "leader"]
