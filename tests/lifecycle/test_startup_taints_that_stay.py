"""Pods that are to run on a node whose startup taint nobody removes are told so."""

from __future__ import annotations

from typing import Any

from tests.builders import at, changed, machine, node
from tests.lifecycle.driver import World
from tests.lifecycle.pending import planned, waiting
from tests.lifecycle.rows import PROVISIONING
from unmoor.lifecycle.effects import Publish
from unmoor.model import names
from unmoor.model.base import Condition
from unmoor.model.taint import NO_EXECUTE, PREFER_NO_SCHEDULE, Taint

AGENT = Taint(key="example.com/agent-not-ready", effect=NO_EXECUTE)
CLOUD = Taint(key="node.cloudprovider.kubernetes.io/uninitialized", effect="NoSchedule")
SOFT = Taint(key=AGENT.key, effect=PREFER_NO_SCHEDULE)


def opening(*taints: Taint, for_s: float = 0.0, is_ready: bool = True, **more: Any) -> World:
    """A pod that is planned onto a node, ready for so long, which has these taints."""
    there = node(taints=taints, labels={names.INITIALIZED: ""})
    status = "True" if is_ready else "False"
    ready = Condition(type="Ready", status=status, last_transition_time=at(-for_s))
    there = changed(there, status__conditions=(ready,))
    world = planned(there, machine(startup_taints=(AGENT, SOFT)), waiting(**more))
    assert world.names("Machine") == ["m-a"]
    return world


def told(world: World) -> list[Publish]:
    return world.events("AwaitingStartupTaint")


def test_a_pod_is_told_the_node_and_the_taint_after_two_minutes_and_again() -> None:
    world = opening(AGENT)
    world.run(PROVISIONING, for_s=100, tick_s=10)
    assert told(world) == []
    world.run(PROVISIONING, for_s=30, tick_s=10)

    [event] = told(world)
    assert (event.regarding.name, event.is_warning) == ("web-1", True)
    assert event.message == (
        "it is to run on node a, which still has the startup taint "
        "example.com/agent-not-ready:NoExecute: whatever it waits for must remove it"
    )
    world.run(PROVISIONING, for_s=280, tick_s=10)
    assert len(told(world)) == 1
    world.run(PROVISIONING, for_s=20, tick_s=10)
    assert told(world) == [event, event]


def test_n03_of_a_node_that_its_cloud_has_not_set_up_it_is_said_who_should() -> None:
    [event] = told(opening(CLOUD, for_s=600))

    assert event.message == (
        "it is to run on node a, which still has the taint "
        "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule: "
        "the cloud's controller or the node controller must remove it"
    )
    assert told(opening(CLOUD, for_s=100)) == []


def test_whom_nothing_keeps_out_is_not_told() -> None:
    tolerant = {"tolerations": [{"key": AGENT.key, "operator": "Exists"}]}

    assert told(opening(AGENT, for_s=600)) != []
    assert told(opening(for_s=600)) == []
    assert told(opening(AGENT, for_s=600, spec=tolerant)) == []
    assert told(opening(AGENT, for_s=600, is_ready=False)) == []
    assert told(opening(SOFT, for_s=600)) == []


def test_a_hundred_are_told_in_one_look() -> None:
    world = opening(AGENT, for_s=600, cpu="1m")
    world.change(world.view.node("a"), status__allocatable={"cpu": "8", "pods": "200"})
    for number in range(130):
        world.put(waiting(f"web-{number}x", cpu="1m"))
    world.effects.clear()
    world.run(PROVISIONING, for_s=2)
    assert len(told(world)) == 100
    world.run(PROVISIONING, for_s=11)

    assert len(told(world)) == 130
