"""R3: after a command the next one waits until the pods that moved are ready again."""

from __future__ import annotations

from typing import Any

from tests import builders
from tests.builders import condition, disruption, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import DEPROVISIONING, MACHINE, TERMINATION
from tests.lifecycle.test_deprovisioning import command, reasons
from unmoor.lifecycle import commitment
from unmoor.model.base import ObjectMeta
from unmoor.model.disruption import DisruptedNode, DisruptionPhase, MovedOwner
from unmoor.model.workload import ReplicaSet, WorkloadSpec
from unmoor.policy.command import Command
from unmoor.policy.verdict import Method, Reason

GOING = Command(
    method=Method.EMPTINESS, reason="a test", nodes=(DisruptedNode(name="a", uid="uid-node-a"),)
)


def web(replicas: int) -> ReplicaSet:
    return ReplicaSet(
        metadata=ObjectMeta(
            name="web", namespace="shop", uid="uid-ReplicaSet-web", resource_version="1"
        ),
        spec=WorkloadSpec(replicas=replicas),
    )


def moving(ready: int, *others: Any) -> World:
    """A command whose nodes are gone and that moved pods of ReplicaSet web, ``ready`` before."""
    owner = MovedOwner(
        kind="ReplicaSet", namespace="shop", name="web", uid="uid-ReplicaSet-web", ready=ready
    )
    one = disruption(phase=DisruptionPhase.SETTLING, phase_since=builders.NOW)
    one = builders.changed(one, spec__moved=(owner,))
    return World(one, web(3), *others)


def committed(*others: Any) -> World:
    """A command was written down, and its last look was good: its node is cordoned."""
    world = World(provisioner(), node(), machine(), *others, instances=[instance()])
    world.act(commitment.commit(world.view, GOING, world.moment))
    world.change(command(world), status__phase=DisruptionPhase.DELETING)
    world.put(node(disruption=command(world).name))
    return world


def test_r3_whose_pods_will_move_is_written_down_with_the_command() -> None:
    world = committed(web(2), pod("web-1"), pod("web-2", on="b"))
    [moved] = command(world).spec.moved
    assert (moved.kind, moved.namespace, moved.name, moved.ready) == (
        "ReplicaSet",
        "shop",
        "web",
        2,
    )

    world.run(DEPROVISIONING, TERMINATION, MACHINE, for_s=60)
    assert world.names("Node") == []
    assert world.names("Pod") == ["web-2"]
    assert command(world).phase is DisruptionPhase.SETTLING
    assert Reason.PODS_SETTLING in reasons(world)

    world.put(pod("web-3", on="b"))
    world.settle(DEPROVISIONING)
    assert command(world).phase is DisruptionPhase.SUCCEEDED


def test_r3_a_command_that_moves_nobody_is_over_with_its_nodes() -> None:
    world = committed(pod("agent", owners=(builders.DAEMON_SET,)))
    assert command(world).spec.moved == ()

    world.run(DEPROVISIONING, TERMINATION, MACHINE, for_s=60)
    assert world.names("Node") == []
    assert command(world).phase is DisruptionPhase.SUCCEEDED


def test_r3_the_next_command_waits_for_the_moved_pods() -> None:
    world = moving(2, pod("web-1"), pod("web-2", is_ready=False))
    world.run(DEPROVISIONING, for_s=30)
    assert command(world).phase is DisruptionPhase.SETTLING
    assert Reason.PODS_SETTLING in reasons(world)

    world.put(pod("web-3"))
    world.settle(DEPROVISIONING)
    assert command(world).phase is DisruptionPhase.SUCCEEDED


def test_r3_after_ten_minutes_it_is_given_up_and_told() -> None:
    world = moving(2, pod("web-1"))
    world.run(DEPROVISIONING, for_s=599, tick_s=1)
    assert command(world).phase is DisruptionPhase.SETTLING

    world.run(DEPROVISIONING, for_s=2)
    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert "ReplicaSet shop/web has 1 of 2 pods ready" in command(world).status.message
    assert world.events("DeprovisioningUnsettled")[0].is_warning


def test_r3_an_unplaceable_pod_ends_the_wait() -> None:
    nowhere = (condition("PodScheduled", "False", reason="Unschedulable"),)
    world = moving(2, pod("web-1"), pod("web-2", on="", phase="Pending", conditions=nowhere))
    world.settle(DEPROVISIONING)

    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert "shop/web-2 fits nowhere" in command(world).status.message
    assert list(command(world).status.homeless.values()) == ["shop/web-2"]
    assert set(command(world).status.homeless) == {one.uid for one in command(world).spec.moved}


def test_a_phase_that_says_not_since_when_is_as_old_as_its_command() -> None:
    """Somebody has edited the status; all that is to go would wait for it for ever."""
    world = moving(3)
    world.change(command(world), status__phase_since=None)
    world.run(DEPROVISIONING, for_s=590, tick_s=10)
    assert command(world).phase is DisruptionPhase.SETTLING

    world.run(DEPROVISIONING, for_s=20, tick_s=10)
    assert command(world).phase is DisruptionPhase.SUCCEEDED
