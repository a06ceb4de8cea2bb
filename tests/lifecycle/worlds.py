"""The worlds in which the stories of several tests begin, and what they look up there."""

from __future__ import annotations

from typing import Any

from tests import builders
from tests.builders import condition, instance, machine, node
from tests.lifecycle.driver import World
from unmoor.lifecycle.effects import Terminate
from unmoor.model.machine import MACHINE_LAUNCHED, MACHINE_REGISTERED, Machine
from unmoor.model.node import Node
from unmoor.model.settings import Settings

LAUNCHED = (condition(MACHINE_LAUNCHED), condition(MACHINE_REGISTERED, "False", since=builders.NOW))


def the_machine(world: World, name: str = "m-a") -> Machine:
    found = world.view.machine(name)
    assert found is not None
    return found


def the_node(world: World, name: str = "a") -> Node:
    found = world.view.node(name)
    assert found is not None
    return found


def new(**fields: Any) -> World:
    return World(machine(is_new=True, **fields))


def launched(*others: Any, **fields: Any) -> World:
    """A machine that is launched, and what else there is."""
    fields.setdefault("conditions", LAUNCHED)
    return World(machine(node_name="", **fields), *others, instances=[instance()])


def registered(joined: Node, **fields: Any) -> World:
    """A machine that this node has joined for."""
    conditions = (condition(MACHINE_LAUNCHED), condition(MACHINE_REGISTERED))
    return World(machine(conditions=conditions, **fields), joined, instances=[instance()])


def deleted(*others: Any, settings: Settings = Settings(), **fields: Any) -> World:
    """Node a of ours was deleted just now, and its machine's finalizer is gone."""
    fields.setdefault("deleted_at", builders.NOW)
    return World(
        node(**fields), machine(finalizers=()), *others, instances=[instance()], settings=settings
    )


def ended(world: World) -> list[str]:
    """The instances that the cloud was told to end."""
    return [effect.provider_id for effect in world.done(Terminate)]
