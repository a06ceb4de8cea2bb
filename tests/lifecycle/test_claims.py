"""A node is drained whoever ends it, and whether or not it was claimed before."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import budget, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import GARBAGE, MACHINE, TERMINATION
from unmoor.lifecycle.effects import Terminate
from unmoor.model import names
from unmoor.model.node import Node
from unmoor.model.taint import Taint

FINALIZER = names.TERMINATION_FINALIZER
STARTUP = Taint(key="example.org/agent", effect="NoExecute")


def ended(world: World) -> list[str]:
    return [effect.provider_id for effect in world.done(Terminate)]


def the_node(world: World) -> Node:
    found = world.view.node("a")
    assert found is not None
    return found


def test_a_node_that_registers_once_more_is_claimed_once_more() -> None:
    world = World(machine(startup_taints=(STARTUP,)), node(), instances=[instance()])
    world.settle(MACHINE)
    world.drop(the_node(world))
    world.put(builders.changed(node(is_joined=False), metadata__uid="uid-successor"))
    world.settle(MACHINE)

    assert the_node(world).metadata.finalizers == (FINALIZER,)
    assert [one.name for one in the_node(world).metadata.owner_references] == ["m-a"]
    assert the_node(world).spec.taints == (STARTUP,)
    assert not the_node(world).is_initialized

    world.change(the_node(world), spec__taints=())
    world.settle(MACHINE)
    assert the_node(world).is_initialized
    assert the_node(world).spec.taints == ()


@pytest.mark.parametrize(
    "unwritten",
    [{}, {"provider_id": "", "conditions": (), "annotations": {names.LINKED: "sim:///a"}}],
    ids=["launched", "linked"],
)
def test_a_node_that_was_not_claimed_yet_is_drained_all_the_same(
    unwritten: dict[str, Any],
) -> None:
    world = World(
        machine(deleted_at=builders.NOW, **unwritten),
        node(is_joined=False),
        pod(),
        budget(),
        instances=[instance()],
    )
    world.run(MACHINE, TERMINATION, for_s=30)
    assert world.names("Pod") == ["web-1"]
    assert ended(world) == []
    assert the_node(world).is_deleting

    world.drop(world.view._objects["PodDisruptionBudget"]["shop", "web"])
    world.run(MACHINE, TERMINATION, for_s=60)
    assert world.names("Node") == world.names("Machine") == []
    assert set(ended(world)) == {"sim:///a"}


def test_a_node_of_a_lost_instance_is_drained_whatever_became_of_its_finalizer() -> None:
    world = World(
        node(finalizers=()), pod(), budget(), provisioner(), instances=[instance(token="x-1")]
    )
    world.run(GARBAGE, TERMINATION, for_s=60)

    assert world.names("Pod") == ["web-1"]
    assert ended(world) == []
    assert the_node(world).is_deleting
