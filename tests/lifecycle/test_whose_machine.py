"""A machine that is not ours to act on is left alone, and whoever handed it to us hears why."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import IDENTITY, condition, instance, machine, node
from tests.lifecycle.driver import World
from tests.lifecycle.rows import ALL, MACHINE
from unmoor.lifecycle.effects import Publish
from unmoor.model.machine import MACHINE_LAUNCHED, MACHINE_REGISTERED
from unmoor.model.snapshot import Identity
from unmoor.policy.verdict import Reason

NO_CLOUD = Identity(cluster=IDENTITY.cluster)
LAUNCHED = (condition(MACHINE_LAUNCHED), condition(MACHINE_REGISTERED, "False", since=builders.NOW))
DAY_S = 86_400.0


@pytest.mark.parametrize(
    "fields",
    [
        {"is_new": True},
        {"conditions": LAUNCHED, "node_name": ""},
        {"deleted_at": builders.NOW},
        {"provider_id": "", "conditions": ()},
        {"provider_id": "i-1"},
    ],
    ids=["new", "launched", "deleted", "not launched", "an id without a cloud"],
)
def test_without_a_cloud_nothing_is_done_to_a_machine(fields: dict[str, Any]) -> None:
    world = World(machine(**fields), node(), instances=[instance()], identity=NO_CLOUD)
    world.run(*ALL, for_s=DAY_S, tick_s=600)

    assert world.effects == world.done(Publish)
    assert world.names("Machine") == ["m-a"]
    [told] = {event.message for event in world.events("MachineUnknown")}
    assert "no cloud is configured" in told
    assert "start with --cloud NAME" in told


@pytest.mark.parametrize(
    ("fields", "identity", "reason", "is_told"),
    [
        ({"is_new": True}, NO_CLOUD, Reason.MACHINE_UNKNOWN, True),
        ({"provider_id": "aws:///z/i-1"}, IDENTITY, Reason.MACHINE_UNKNOWN, True),
        ({"is_ours": False}, IDENTITY, Reason.NOT_OURS, False),
        ({"is_ours": False}, NO_CLOUD, Reason.NOT_OURS, False),
    ],
    ids=["no cloud", "another cloud", "somebody else's", "somebody else's, no cloud"],
)
def test_it_is_said_why(
    fields: dict[str, Any], identity: Identity, reason: Reason, *, is_told: bool
) -> None:
    world = World(machine(**fields), identity=identity)
    [verdict] = world.step(MACHINE, "m-a").verdicts

    assert verdict.reason is reason
    assert verdict.is_refusal
    assert bool(world.events()) == is_told
