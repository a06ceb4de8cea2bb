"""Worlds in which a command replaces nodes: node ``a`` is far too large for what runs on it."""

from __future__ import annotations

from typing import Any

import msgspec

from tests import builders
from tests.builders import instance
from tests.lifecycle.driver import World
from tests.lifecycle.rows import DEPROVISIONING, MACHINE, TERMINATION
from tests.policy.underused import TYPES, consolidated, node, pod
from unmoor.lifecycle.effects import Create
from unmoor.model.base import Object
from unmoor.model.disruption import Disruption
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.machine import Machine
from unmoor.model.settings import Settings

ROWS = (DEPROVISIONING, TERMINATION, MACHINE)
UP_AFTER_S = 10


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


def launching(world: World, for_s: int = UP_AFTER_S) -> World:
    """Go on until the replacement has its instance."""
    world.run(*ROWS, for_s=for_s)
    return world


def bodies(world: World, kind: str) -> list[dict[str, Any]]:
    """What was created of a kind, as it was sent."""
    return [one.body for one in world.done(Create) if one.ref.kind == kind]


def read(body: dict[str, Any], kind: Any) -> Any:
    """A body as the model reads it."""
    return msgspec.convert(body, kind, strict=False)
