"""A node is drained whoever ends it, and whether or not it was claimed before."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import budget, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import GARBAGE, MACHINE, TERMINATION
from tests.lifecycle.worlds import ended, the_node
from unmoor.lifecycle.effects import AnyEffect, Delete, Observe, Terminate
from unmoor.model import names
from unmoor.model.machine import Machine
from unmoor.model.observation import Asked, Problem
from unmoor.model.taint import Taint

FINALIZER = names.TERMINATION_FINALIZER
STARTUP = Taint(key="example.org/agent", effect="NoExecute")


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


class Late(World):
    """The watch of machines is behind: what it has not told is known to the server alone."""

    untold: Machine | None = None

    def act(self, effect: AnyEffect) -> Problem | None:
        is_asked = isinstance(effect, Observe) and effect.asked is Asked.OBJECT
        if is_asked and self.untold is not None:
            self.put(self.untold)
        return super().act(effect)


def test_a_machine_that_we_have_not_heard_of_yet_keeps_its_instance() -> None:
    world = Late(node(), pod(), provisioner(), instances=[instance()])
    world.untold = machine()
    world.run(GARBAGE, for_s=60)

    assert world.done(Terminate) == world.done(Delete) == []
    assert world.names("Machine") == ["m-a"]


def test_while_the_server_does_not_say_whether_there_is_a_machine_nothing_goes() -> None:
    world = World(provisioner(), instances=[instance()])
    world.fails = lambda effect: isinstance(effect, Observe) and effect.asked is Asked.OBJECT
    world.run(GARBAGE, for_s=60)
    assert world.done(Terminate) == []

    world.fails = lambda _: False
    world.run(GARBAGE, for_s=60)
    assert ended(world) == ["sim:///a"]
