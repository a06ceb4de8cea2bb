"""A node may be a machine's own though the view does not say so: its instance does not end."""

from __future__ import annotations

import pytest

from tests.builders import NOW, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import CONDITIONS, GARBAGE, MACHINE, TERMINATION
from unmoor.lifecycle.effects import Terminate
from unmoor.model.machine import Machine
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.snapshot import Unreadable

ROWS = (MACHINE, TERMINATION, GARBAGE, CONDITIONS)
ODD = Unreadable("status.conditions: no such time")


def ended(world: World) -> list[str]:
    return [one.provider_id for one in world.done(Terminate)]


@pytest.mark.parametrize(
    ("deleted", "unreadable"),
    [
        (machine(deleted_at=NOW), "a"),
        (machine(deleted_at=NOW, node_name=""), "whatever"),
    ],
    ids=["the node that it had", "any, when it never had one"],
)
def test_while_its_node_cannot_be_read_a_deleted_machine_keeps_its_instance(
    deleted: Machine, unreadable: str
) -> None:
    """Since a restart: what a node last said when it was readable is known, and enough."""
    world = World(deleted, pod(), instances=[instance()])
    world.view._broken["Node"]["", unreadable] = ODD
    world.run(*ROWS, for_s=60)
    assert ended(world) == []
    event = world.events("NodeDoubtful")[0]
    assert event.is_warning
    assert f"node {unreadable} cannot be read (status.conditions: no such time)" in event.message

    world.view._broken["Node"].clear()
    world.run(*ROWS, for_s=60)
    assert ended(world) == ["sim:///a"]


def hidden() -> World:
    """A node that has joined while the watch hung, with a pod."""
    world = World(pod(grace_s=30), provisioner(), instances=[instance(token="x-1")])
    world.unseen = [node(is_joined=False)]
    return world


def test_a_node_that_no_watch_has_brought_is_drained_before_the_instance_ends() -> None:
    world = hidden()
    world.put(machine(deleted_at=NOW, node_name=""))
    world.run(*ROWS, for_s=20)
    assert (ended(world), world.names("Pod")) == ([], ["web-1"])

    world.run(*ROWS, for_s=120)
    assert (ended(world), world.names("Node"), world.names("Machine")) == (["sim:///a"], [], [])


def test_so_is_that_of_an_instance_without_a_machine() -> None:
    world = hidden()
    world.run(*ROWS, for_s=20)
    assert (ended(world), world.names("Pod")) == ([], ["web-1"])

    world.run(*ROWS, for_s=240)
    assert (ended(world), world.names("Node")) == (["sim:///a"], [])


@pytest.mark.parametrize("machines", [(machine(deleted_at=NOW, node_name=""),), ()])
def test_while_nobody_says_which_nodes_there_are_nothing_ends(machines: tuple[Machine]) -> None:
    world = hidden()
    for one in machines:
        world.put(one)
    world.unseen = []
    world.roll_call_problem = Problem(ProblemKind.UNKNOWN, "timeout")
    world.run(*ROWS, for_s=300)
    assert ended(world) == []
    assert "is one of them on it?" in world.events("NotConfirmed")[0].message

    world.roll_call_problem = None
    world.run(*ROWS, for_s=150)
    assert ended(world) == ["sim:///a"]


def test_an_unreadable_node_of_another_machine_holds_nobody_up() -> None:
    world = World(machine(deleted_at=NOW), instances=[instance()])
    world.view._broken["Node"]["", "b"] = ODD
    world.run(*ROWS, for_s=60)
    assert ended(world) == ["sim:///a"]


def test_a_node_that_came_back_without_a_provider_id_is_drained_before_the_instance_ends() -> None:
    """A kubelet that is restarted soon still runs the pods that are bound to its node."""
    again = node(is_joined=False, provider_id="")
    world = World(machine(deleted_at=NOW), again, pod(grace_s=30), instances=[instance()])
    world.run(*ROWS, for_s=60)
    assert ended(world) == []
    assert "node a has no providerID yet" in world.events("NodeDoubtful")[0].message

    world.change(world.view.node("a"), spec__provider_id="sim:///a")
    world.run(*ROWS, for_s=20)
    assert (ended(world), world.names("Pod")) == ([], ["web-1"])
    world.run(*ROWS, for_s=120)
    assert (ended(world), world.names("Node"), world.names("Machine")) == (["sim:///a"], [], [])


def test_a_node_of_its_name_that_is_another_machines_holds_nobody_up() -> None:
    other = node(is_joined=False, provider_id="sim:///other")
    world = World(machine(deleted_at=NOW), other, instances=[instance()])
    world.run(*ROWS, for_s=60)
    assert ended(world) == ["sim:///a"]
    assert world.names("Node") == ["a"]


def test_while_a_node_cannot_be_read_an_instance_without_a_machine_is_left_alone() -> None:
    world = World(provisioner(), pod(), instances=[instance(token="x-1")])
    world.view._broken["Node"]["", "a"] = ODD
    world.run(*ROWS, for_s=180)
    assert ended(world) == []
    assert "node a cannot be read" in world.events("InstanceLeftAlone")[0].message

    world.view._broken["Node"].clear()
    world.run(*ROWS, for_s=180)
    assert ended(world) == ["sim:///a"]
