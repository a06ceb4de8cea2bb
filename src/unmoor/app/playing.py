"""Nodes and machines that do not exist, played on any cluster, and told as they change.

The actors of the simulator do the work against the API port, as they do in virtual time; here they
have a real server and a real clock. They touch only nodes with a simulated Instance, and nodes
labelled ``sim.unmoor.dev/hollow=true``.

Must not: play what a real control plane does itself (scheduling, controllers, taints).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any

import msgspec

from unmoor.app.cluster import check_served, connected
from unmoor.cloud.catalogue import ec2_types
from unmoor.model.cluster import Instance
from unmoor.model.kinds import INSTANCES, NODES, PODS
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.reconciler import either
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.kubelet import HollowKubelets, KubeletDelays
from unmoor.sim.actors.machines import MachineDelays, Machines

LEASE_FIELDS = ("lease_every_s", "status_every_s", "forget_s")
"""These are not scaled: a lease must be renewed in time, whatever the speed."""


class Event(msgspec.Struct, frozen=True):
    """One change: of what, what it is now, and more about it."""

    at: datetime
    subject: str
    state: str
    about: str = ""


class PlayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a person chose. ``speed`` 10: delays are a tenth as long."""

    kubeconfig: str = ""
    context: str = ""
    speed: float = 1.0
    seed: int = 0


async def play(options: PlayOptions, tell: Callable[[Event], None]) -> None:
    """Play until cancelled; ``tell`` hears what happens, from what is there at the start on."""
    clock = SystemClock()
    async with connected(options.kubeconfig, options.context, clock) as api:
        await check_served(api, (INSTANCES,))
        stage = Stage(api, clock, Random(options.seed))
        types = {one.name: one for one in ec2_types()}
        played = HollowKubelets(stage, types, faster(KubeletDelays(), options.speed))
        machines = Machines(stage, faster(MachineDelays(), options.speed))

        def heard(kind: str, old: Any | None, new: Any | None) -> None:
            for subject, state, about in changes(kind, old, new, played.plays):
                tell(Event(clock.now().wall, subject, state, about))

        stage.store.subscribe(heard)
        await stage.run((machines, played))


def faster(delays: Any, speed: float) -> Any:
    """The same delays, divided by ``speed``."""
    scaled = {
        field: tuple(seconds / speed for seconds in value)
        for field, value in msgspec.structs.asdict(delays).items()
        if isinstance(value, tuple) and field not in LEASE_FIELDS
    }
    return msgspec.structs.replace(delays, **scaled)


def changes(
    kind: str, old: Any | None, new: Any | None, is_played: Callable[[str], bool]
) -> list[tuple[str, str, str]]:
    """Say what a change means for a person: (subject, state, about), nothing when it means little.

    Only machines and what is on nodes that are played is told.
    """
    obj = either(old, new)
    match kind:
        case INSTANCES.kind:
            before, after = _of_instance(old), _of_instance(new)
        case NODES.kind if is_played(obj.name):
            before, after = _of_node(old), _of_node(new)
        case PODS.kind if is_played(obj.node_name):
            before, after = _of_pod(old), _of_pod(new)
        case _:
            return []
    if before == after:
        return []
    subject = "/".join(part for part in (kind.lower(), obj.namespace, obj.name) if part)
    return [(subject, after[0], after[1])]


def _of_instance(instance: Instance | None) -> tuple[str, str]:
    if instance is None:
        return "gone", ""
    spec = instance.spec
    about = f"{spec.instance_type} {spec.zone} {spec.capacity_type}, machine/{spec.machine}"
    return instance.status.phase or "Pending", about


def _of_node(node: Node | None) -> tuple[str, str]:
    if node is None:
        return "gone", ""
    state = "ready" if node.is_ready else "not ready"
    marks = ["cordoned"] if node.is_cordoned else []
    marks += ["terminating"] if node.is_deleting else []
    return state, ", ".join(marks)


def _of_pod(pod: Pod | None) -> tuple[str, str]:
    if pod is None:
        return "gone", ""
    state = pod.status.phase.lower() or "pending"
    return ("terminating" if pod.is_deleting else state), f"on {pod.node_name}"
