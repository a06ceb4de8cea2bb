"""Worlds in which a command replaces nodes: node ``a`` is far too large for what runs on it."""

from __future__ import annotations

from typing import Any

from tests import builders
from tests.builders import instance
from tests.lifecycle.driver import World
from tests.lifecycle.rows import DEPROVISIONING, MACHINE, TERMINATION
from tests.policy.underused import TYPES, consolidated, node, pod
from unmoor.lifecycle.effects import AnyEffect, Create, Delete
from unmoor.model.base import Object
from unmoor.model.disruption import Disruption, DisruptionPhase, LeftOutReason
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.machine import Machine
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason

ROWS = (DEPROVISIONING, TERMINATION, MACHINE)
QUIET_S = 15
LIMIT_S = 570


def underused(*others: Object, settings: Settings = Settings()) -> World:
    """A cheaper machine would do for node ``a`` and its pod."""
    world = World(
        consolidated(),
        *node("a"),
        pod("web-1", "a"),
        *others,
        instances=[instance("a")],
        settings=settings,
    )
    world.types = TYPES
    return world


def command(world: World) -> Disruption:
    """The last command of all."""
    return max(world.view.sorted(DISRUPTIONS), key=lambda one: len(one.name))


def replacement(world: World) -> Machine | None:
    """The machine that is to come first, while it is there."""
    return world.view.machine(command(world).spec.replacements[0].name)


def joins(world: World, **given: Any) -> None:
    """A kubelet registers the node of the replacement, ready for pods."""
    found = replacement(world)
    assert found is not None
    assert found.provider_id
    given.setdefault("is_joined", False)
    world.put(builders.node("new", provider_id=found.provider_id, **given))


def first_command(world: World) -> Disruption:
    """The first command of all."""
    return min(world.view.sorted(DISRUPTIONS), key=lambda one: len(one.name))


def bodies(world: World, kind: str) -> list[dict[str, Any]]:
    """What was created of a kind, as it was sent."""
    return [one.body for one in world.done(Create) if one.ref.kind == kind]


def launched(for_s: int = QUIET_S + 5, **given: Any) -> World:
    """The command is decided on, and its replacement has an instance."""
    world = underused(**given)
    world.run(*ROWS, for_s=for_s)
    return world


def is_of_machines(effect: AnyEffect) -> bool:
    return isinstance(effect, Create) and effect.ref.kind == "Machine"


def deleted_nodes(world: World) -> list[str]:
    return [one.ref.name for one in world.done(Delete) if one.ref.kind == "Node"]


def is_free(world: World, name: str = "a") -> bool:
    """Nothing of ours is left on the node."""
    found = world.view.node(name)
    assert found is not None
    return not (found.is_cordoned or found.disruption or found.is_cordoned_by_us)


def reasons(world: World) -> list[Reason]:
    return [verdict.reason for verdict in world.step(DEPROVISIONING, "all").verdicts]


def failed(world: World) -> None:
    """The command has ended, and nothing of it is left but the record."""
    first = first_command(world)
    assert first.phase is DisruptionPhase.CANCELLED
    assert {one.reason for one in first.status.left_out.values()} == {
        LeftOutReason.REPLACEMENT_FAILED
    }
    assert "a" not in deleted_nodes(world)
    [fact] = [one for one in world.facts if one.name.endswith("launch_failure_counter")]
    assert (fact.labels, fact.value) == ({"deprovisioner": "consolidation/replace"}, 1.0)
    assert len([one for one in world.facts if "initialized_seconds" in one.name]) == 1
    assert world.events("ReplacementFailed")
