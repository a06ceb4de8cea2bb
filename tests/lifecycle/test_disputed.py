"""A cloud that knows no such machine, and a node that is alive all the same: V230, V315."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at, instance, machine, node, pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import GARBAGE, MACHINE, TERMINATION
from unmoor.lifecycle.effects import Delete, Evict, Terminate
from unmoor.model import names
from unmoor.model.base import Object, ObjectMeta
from unmoor.model.cluster import Lease, LeaseSpec
from unmoor.model.instance import InstanceState
from unmoor.policy.verdict import Reason

LATELY_S = 120.0


def heartbeat(name: str = "a") -> Lease:
    """The lease of a kubelet, renewed for as long as a story lasts."""
    return Lease(
        metadata=ObjectMeta(
            name=name,
            namespace=names.NODE_LEASES,
            uid=f"uid-lease-{name}",
            resource_version="1",
            creation_timestamp=builders.LONG_AGO,
            owner_references=(builders.owner("Node", name),),
        ),
        spec=LeaseSpec(holder_identity=name, renew_time=at(3600)),
    )


BEATS = heartbeat()


def unheard_of(*objects: Object, **fields: Any) -> World:
    """Node a was deleted just now; the cloud is another than the one in which its machine runs."""
    world = World(node(deleted_at=builders.NOW, **fields), machine(), *objects)
    world.run(TERMINATION, for_s=1)
    return world


def test_v230_its_pods_are_drained_and_it_is_not_released() -> None:
    world = unheard_of(pod(grace_s=60), BEATS)
    world.run(TERMINATION, MACHINE, for_s=30)
    assert len(world.done(Evict)) == 1
    assert world.names("Pod") == ["web-1"]

    world.run(TERMINATION, MACHINE, for_s=600)
    assert world.names("Pod") == []
    assert world.names("Node") == ["a"]
    assert world.names("Machine") == ["m-a"]
    assert world.done(Terminate) == []


def test_somebody_is_told_what_to_look_at_now_and_then() -> None:
    world = unheard_of(pod(grace_s=600), BEATS)
    world.run(TERMINATION, for_s=350)
    said = [one for one in world.step(TERMINATION, "a").verdicts if one.event == "MachineDisputed"]
    events = world.events("MachineDisputed")

    assert [one.reason for one in said] == [Reason.MACHINE_DISPUTED]
    assert "credentials are those of the machine's account and region" in said[0].message
    assert {(one.regarding.name, one.is_warning) for one in events} == {("a", True)}
    assert len(events) == 3  # each second would be too often


def test_when_the_cloud_is_the_right_one_again_the_machine_ends() -> None:
    world = unheard_of(BEATS)
    world.run(TERMINATION, for_s=60)
    world.cloud["sim:///a"] = instance()
    world.run(TERMINATION, MACHINE, for_s=10)

    assert len(world.done(Terminate)) == 1
    assert world.names("Node") == world.names("Machine") == []


@pytest.mark.parametrize("silence", ["not-ready", "lease-old", "lease-gone"])
def test_t077_once_it_is_silent_nothing_is_left_to_be_careful_about(silence: str) -> None:
    world = unheard_of(pod(grace_s=600), BEATS)
    world.run(TERMINATION, for_s=30)
    if silence == "not-ready":
        world.change(
            world.view.node("a"), status__conditions=(builders.condition("Ready", "Unknown"),)
        )
    elif silence == "lease-gone":
        world.drop(BEATS)
    else:
        world.change(BEATS, spec__renew_time=world.moment.wall)
        world.run(TERMINATION, for_s=LATELY_S - 1)
        assert world.names("Node") == ["a"]
    world.run(TERMINATION, for_s=3)

    assert world.names("Pod") == ["web-1"]
    assert world.names("Node") == []


def test_r20_a_cloud_that_knows_the_machine_and_says_that_it_has_ended_is_believed() -> None:
    world = unheard_of(pod(grace_s=600), BEATS)
    world.cloud["sim:///a"] = instance(state=InstanceState.TERMINATED)
    world.run(TERMINATION, for_s=6)

    assert world.names("Node") == []


def test_after_a_restart_there_is_no_machine_to_tell_and_the_node_stays() -> None:
    """It has been drained, and so it is told to go before anybody has looked."""
    world = unheard_of(BEATS)
    world.run(TERMINATION, for_s=30)
    world.restart()
    world.run(TERMINATION, for_s=300)

    assert len(world.done(Terminate)) <= 1
    assert world.names("Node") == ["a"]


def test_a_machine_that_was_told_to_go_may_be_unknown_before_its_node_is_silent() -> None:
    world = World(node(deleted_at=builders.NOW), machine(), BEATS, instances=[instance()])
    world.fails = lambda effect: "released" in effect.why or "told to go" in effect.why
    world.run(TERMINATION, for_s=20)
    assert len(world.done(Terminate)) == 1
    world.cloud.clear()
    world.fails = lambda _: False
    world.run(TERMINATION, for_s=2)

    assert world.names("Node") == []


# ------------------------------------------------------------------------------ garbage collection


def test_v315_the_machine_of_a_node_that_is_alive_is_kept_and_somebody_is_told() -> None:
    world = World(machine(), node(), BEATS)
    world.run(GARBAGE, MACHINE, TERMINATION, for_s=600, tick_s=10)
    events = world.events("MachineDisputed")

    assert world.done(Delete) == []
    assert {one.regarding.name for one in events} == {"m-a"}
    assert "node a is Ready and its kubelet renews its lease: machine m-a is kept" in (
        events[0].message
    )


def test_v314_once_the_node_is_not_ready_the_machine_goes() -> None:
    world = World(machine(), node(is_ready=False), BEATS)
    world.run(GARBAGE, MACHINE, TERMINATION, for_s=30)

    assert world.names("Machine") == world.names("Node") == []


def test_with_the_wrong_credentials_no_more_than_some_machines_are_named() -> None:
    letters = [f"n{number}" for number in range(30)]
    world = World(
        *(machine(f"m-{name}", node_name=name) for name in letters),
        *(node(name) for name in letters),
        *(heartbeat(name) for name in letters),
    )
    world.settle(GARBAGE)

    assert world.done(Delete) == []
    assert len({one.regarding.name for one in world.events("MachineDisputed")}) == 20
    said = world.step(GARBAGE, "all").verdicts
    assert {one.evidence["machines"] for one in said} == {30}


def test_a_linked_machine_whose_node_is_alive_is_kept() -> None:
    linked = machine(is_new=True, annotations={names.LINKED: "sim:///a"})
    world = World(linked, node(is_joined=False), BEATS)
    world.run(MACHINE, for_s=60)
    assert world.names("Machine") == ["m-a"]

    world.cloud["sim:///a"] = instance()
    world.run(MACHINE, for_s=30)
    found = world.view.machine("m-a")
    assert found is not None
    assert found.is_launched
