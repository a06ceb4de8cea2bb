"""A drain that nobody watched for a while: restarts, deadlines, successors, people in between."""

from __future__ import annotations

from datetime import timedelta

from tests import builders
from tests.builders import at, budget, instance, machine, node, pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import TERMINATION
from tests.lifecycle.worlds import deleted, ended, the_node
from unmoor.lifecycle.effects import Delete, Evict
from unmoor.model import names
from unmoor.model.kinds import PODS
from unmoor.model.settings import Settings


def test_what_is_remembered_of_a_node_is_not_believed_of_its_successor() -> None:
    world = deleted(pod())
    world.run(TERMINATION, for_s=60)
    assert ended(world) == ["sim:///a"]

    again = node(deleted_at=world.moment.wall, provider_id="sim:///b")
    world.put(builders.changed(again, metadata__uid="uid-successor"))
    world.put(machine("m-b", finalizers=()))
    world.cloud["sim:///b"] = instance("b")
    world.run(TERMINATION, for_s=4)
    assert ended(world) == ["sim:///a"]  # its cordon is young

    world.run(TERMINATION, for_s=2)
    assert ended(world) == ["sim:///a", "sim:///b"]


def test_a_cordon_that_was_taken_away_is_young_again() -> None:
    world = deleted(pod(grace_s=60))
    world.run(TERMINATION, for_s=59)
    world.change(the_node(world), spec__unschedulable=False)
    world.run(TERMINATION, for_s=4)
    assert world.names("Pod") == []
    assert ended(world) == []

    world.run(TERMINATION, for_s=2)
    assert ended(world) == ["sim:///a"]


def test_pods_are_pods_of_one_node() -> None:
    """A pod that came back under its name, on another node, is not asked."""
    world = deleted(pod(), budget())
    world.run(TERMINATION, for_s=5)
    world.drop(world.view.get(PODS, "web-1", "shop"))
    world.put(pod(on="b", uid="uid-successor"))
    world.run(TERMINATION, for_s=20)

    assert {effect.ref.uid for effect in world.done(Evict)} == {"uid-pod-shop-web-1"}


def told_to_go(world: World) -> list[str]:
    return [effect.ref.name for effect in world.done(Delete) if effect.ref.kind == "Pod"]


def test_e12_a_deadline_that_passed_while_nobody_looked_still_lets_pods_stop() -> None:
    since = builders.NOW - timedelta(seconds=700)
    world = deleted(pod(), budget(), deleted_at=since, annotations={names.DRAIN_DEADLINE: "10m"})
    world.stuck_pods.add("web-1")
    world.run(TERMINATION, for_s=299)  # whose clock is wrong?
    assert told_to_go(world) == []

    world.run(TERMINATION, for_s=10)
    assert told_to_go(world) == ["web-1"]
    assert ended(world) == []

    world.run(TERMINATION, for_s=3)
    assert ended(world) == ["sim:///a"]


def test_a_deadline_does_not_wait_for_load_balancers() -> None:
    world = deleted(
        pod(grace_s=30), settings=Settings(drain_deadline_s=60, load_balancer_wait_s=120)
    )
    world.run(TERMINATION, for_s=29)
    assert world.done(Evict) == []

    world.run(TERMINATION, for_s=2)
    assert [effect.ref.name for effect in world.done(Evict)] == ["web-1"]


def test_a_grace_that_was_shortened_is_not_over_when_its_stamp_says_so() -> None:
    """The server counts it from the first deletion, the kubelet from when it hears of it."""
    slow = pod("slow", grace_s=3600, gone_by=at(1800))  # terminating for half an hour
    world = deleted(slow, settings=Settings(drain_deadline_s=600))
    world.run(TERMINATION, for_s=590)
    assert told_to_go(world) == ["slow"]
    assert world.names("Pod") == ["slow"]
    assert ended(world) == []

    world.run(TERMINATION, for_s=15)
    assert world.names("Pod") == []
    assert ended(world) == ["sim:///a"]


def test_a_pod_whose_grace_was_never_shortened_is_stuck_as_soon_as_before() -> None:
    assert pod(gone_by=at(0)).is_stuck(at(61), 60)
    assert not pod(gone_by=at(0)).is_stuck(at(60), 60)
