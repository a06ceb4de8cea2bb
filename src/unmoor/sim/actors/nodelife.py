"""The life of nodes as the control plane sees it: leases, taints, and pods that have to go.

A cordon gets its taint. A lease that has not been renewed for 50 s makes the node's Ready unknown,
and its pods not ready. Ready False or Unknown gets two taints each, and a NoExecute taint sends
away the pods that do not tolerate it, or not for so long. Pods whose node is gone are removed by
force, and so are terminating pods on an out-of-service node that is not ready.

Leases are not watched: a node's is read when it would be stale, which finds out just as early.

Must not: know machines. Whether one is alive shows in its lease, or not at all. Zone-wide outages,
and the slower eviction that belongs to them, are not played.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec

from unmoor.model import names, taint
from unmoor.model.base import JSON, Condition, condition_of
from unmoor.model.cluster import Lease
from unmoor.model.kinds import LEASES, NODES, PODS
from unmoor.model.moment import Moment, earliest, rfc3339
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.taint import NO_EXECUTE, NO_SCHEDULE, Taint
from unmoor.runtime.ports import ApiError
from unmoor.runtime.reconciler import either
from unmoor.sim.actors.actor import NOT_FOUND, Actor, Key, Stage

GRACE_S = 50.0
"""How old a lease may be: the default of ``--node-monitor-grace-period`` since Kubernetes 1.32."""
ORPHANED_S = 40.0
"""How long a pod's node has to be gone before the pod is removed (pod garbage collector)."""

_OURS = (
    (names.UNSCHEDULABLE, NO_SCHEDULE),
    (names.NOT_READY, NO_SCHEDULE),
    (names.NOT_READY, NO_EXECUTE),
    (names.UNREACHABLE, NO_SCHEDULE),
    (names.UNREACHABLE, NO_EXECUTE),
)
"""The taints that only this actor sets and removes."""


class NodeLife(Actor):
    """Plays the node life cycle, taint eviction and pod garbage collection."""

    kinds: ClassVar[tuple[str, ...]] = (NODES.kind, PODS.kind)

    def __init__(self, stage: Stage, grace_s: float = GRACE_S) -> None:
        """Believe in a silent node for ``grace_s``."""
        super().__init__(stage)
        self.grace_s = grace_s
        self._seen_at: dict[str, float] = {}
        self._renewed: dict[str, datetime | None] = {}
        self._orphaned_at: dict[str, float] = {}

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """A node concerns itself and, where pods may have to go, its pods."""
        if kind == PODS.kind:
            self._look_at_pod(old, new)
            return
        name = either(old, new).name
        if new is None:
            self._seen_at.pop(either(old, new).uid, None)
            self._renewed.pop(either(old, new).uid, None)
        elif old is None or _facts(old) != _facts(new):
            if old is not None and new.is_ready and not old.is_ready:
                # A kubelet that says it is ready has been heard, whatever its lease says.
                self._seen_at[new.uid] = self.stage.clock.now().mono
            self.mark(("node", name))
        if old is None or new is None or _sends_away(old) != _sends_away(new):
            for pod in self.store.pods_on(name):
                self.mark(("pod", *pod.key))

    def _look_at_pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None:
                self._orphaned_at.pop(old.uid, None)
        elif new.node_name and (
            old is None or not old.node_name or old.is_deleting != new.is_deleting
        ):
            self.mark(("pod", *new.key))

    async def play(self, key: Key, moment: Moment) -> float | None:
        """A node or a pod."""
        match key:
            case ("node", name):
                node = self.store.node(name)
                return None if node is None else await self._play_node(node, moment)
            case (_, namespace, name):
                pod = self.store.get(PODS, name, namespace)
                return None if pod is None else await self._play_pod(pod, moment)
            case _:
                raise AssertionError(f"no such key: {key}")

    # Nodes.

    async def _play_node(self, node: Node, moment: Moment) -> float | None:
        stale_at = await self._judge_lease(node, moment)
        node = self.store.node(node.name) or node
        taints = _taints(node, moment)
        if taints != node.spec.taints:
            body = {"spec": {"taints": msgspec.to_builtins(taints)}}
            await self.stage.patch(node, body, seen="this version")
        return stale_at

    async def _judge_lease(self, node: Node, moment: Moment) -> float | None:
        """Mark the node unknown when it is silent; return when it would be."""
        seen_at = self._seen_at.get(node.uid)
        if seen_at is None:
            seen_at = self._seen_at[node.uid] = moment.mono
        due = seen_at + self.grace_s
        if moment.mono < due:
            return due
        renewed_at = await self._renewed_at(node)
        if renewed_at is not None and renewed_at != self._renewed.get(node.uid):
            # The lease itself says when; looking at it late loses nothing.
            self._renewed[node.uid] = renewed_at
            age_s = min(moment.since_s(renewed_at), self.grace_s)
            self._seen_at[node.uid] = moment.mono - age_s
            if age_s < self.grace_s:
                return self._seen_at[node.uid] + self.grace_s
        await self._mark_unknown(node, moment)
        return moment.after(self.grace_s / 10)

    async def _renewed_at(self, node: Node) -> datetime | None:
        try:
            body = await self.api.get(LEASES.ref(node.name, names.NODE_LEASES))
        except ApiError as error:
            if error.code == NOT_FOUND:
                return None
            raise
        return msgspec.convert(body, Lease, strict=False).spec.renew_time

    async def _mark_unknown(self, node: Node, moment: Moment) -> None:
        ready = condition_of(node.status.conditions, "Ready")
        if ready is not None and ready.status == "Unknown":
            return
        condition = {
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": rfc3339(moment.wall),
        }
        body = {"status": {"conditions": [condition]}}
        await self.stage.patch(node, body, how="strategic", subresource="status")
        for pod in self.store.pods_on(node.name):
            if pod.is_ready:
                await self._mark_pod_not_ready(pod, moment)

    async def _mark_pod_not_ready(self, pod: Pod, moment: Moment) -> None:
        stamp = rfc3339(moment.wall)
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": stamp}
        body: JSON = {"status": {"conditions": [condition]}}
        try:
            await self.stage.patch(pod, body, how="strategic", subresource="status")
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise

    # Pods.

    async def _play_pod(self, pod: Pod, moment: Moment) -> float | None:
        node = self.store.node(pod.node_name)
        if node is None:
            return await self._collect(pod, moment)
        self._orphaned_at.pop(pod.uid, None)
        if pod.is_deleting:
            if _is_out_of_service(node):
                await self.stage.delete(pod, grace_s=0)
            return None
        leaves_at = _leaves_at(pod, node, moment)
        if leaves_at is not None and leaves_at <= moment.mono:
            await self.stage.delete(pod)
            return None
        return leaves_at

    async def _collect(self, pod: Pod, moment: Moment) -> float | None:
        if not pod.node_name:
            return None
        orphaned_at = self._orphaned_at.setdefault(pod.uid, moment.mono)
        due = orphaned_at + ORPHANED_S
        if moment.mono < due:
            return due
        if not pod.is_terminal:
            body = {"status": {"phase": "Failed"}}
            await self.stage.patch(pod, body, subresource="status")
        await self.stage.delete(pod, grace_s=0)
        return None


def _taints(node: Node, moment: Moment) -> tuple[Taint, ...]:
    """Everybody else's taints as they are, ours as they should be."""
    wanted: list[tuple[str, str]] = []
    if node.is_cordoned:
        wanted.append((names.UNSCHEDULABLE, NO_SCHEDULE))
    ready = condition_of(node.status.conditions, "Ready")
    key = _not_ready_key(ready)
    if key:
        wanted.append((key, NO_SCHEDULE))
        # A node that has never been ready has nothing to send away.
        if ready is not None:
            wanted.append((key, NO_EXECUTE))
    kept = tuple(
        one for one in node.spec.taints if one.identity not in _OURS or one.identity in wanted
    )
    now = moment.wall.replace(microsecond=0)
    added = tuple(
        Taint(key=key, effect=effect, time_added=now)
        for key, effect in wanted
        if not taint.has(kept, Taint(key=key, effect=effect))
    )
    return (*kept, *added)


def _not_ready_key(ready: Condition | None) -> str:
    if ready is not None and ready.is_true:
        return ""
    return names.UNREACHABLE if ready and ready.status == "Unknown" else names.NOT_READY


def _leaves_at(pod: Pod, node: Node, moment: Moment) -> float | None:
    """When the NoExecute taints send this pod away; None: it may stay."""
    leaves_at: float | None = None
    for one in node.spec.taints:
        if one.effect != NO_EXECUTE:
            continue
        covering = [t for t in pod.spec.tolerations if taint.tolerates(t, one)]
        if not covering:
            return moment.mono
        limits = [t.toleration_seconds for t in covering if t.toleration_seconds is not None]
        if limits:
            since = one.time_added or moment.wall
            stays_s = max(min(limits), 0) - moment.since_s(since)
            leaves_at = earliest(leaves_at, moment.after(stays_s))
    return leaves_at


def _is_out_of_service(node: Node) -> bool:
    return not node.is_ready and any(one.key == names.OUT_OF_SERVICE for one in node.spec.taints)


def _sends_away(node: Node) -> tuple[Any, ...]:
    hard = [one for one in node.spec.taints if one.effect == NO_EXECUTE]
    return (hard, _is_out_of_service(node))


def _facts(node: Node) -> tuple[Any, ...]:
    ready = condition_of(node.status.conditions, "Ready")
    return (node.spec, ready.status if ready is not None else "")
