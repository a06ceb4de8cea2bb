"""The scheduler: a pending pod goes to the best of the nodes that may take it.

Which may and which is best, ``placing`` says: the engine judges as kube-scheduler filters, and the
scores are those of its default profile. A new pod is looked at once, at once; one that fitted
nowhere is looked at again when something has changed that may let it in, but not more often than
once in a second. As long as nobody waits, it does nothing. A pod with a claim that waits for its
first consumer has the claim marked with the node that was chosen, and is bound once somebody has
bound the claim. A pod whose ``schedulerName`` is another's is left to that one.

Left out: preemption; volumes that are attached though their pods are gone; Services and
ReplicationControllers, whose pods kube-scheduler spreads by itself even if nobody else owns them;
the images that a node has; scoring only some nodes of a large cluster.

Must not: move a pod, or remember anything that the cluster does not say.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from unmoor.engine.volumes import claims_of
from unmoor.engine.wish import Wish
from unmoor.lifecycle.effects import Publish
from unmoor.model import names
from unmoor.model.base import JSON, condition_of
from unmoor.model.kinds import (
    CLAIMS,
    CSI_NODES,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUMES,
    ref_of,
)
from unmoor.model.moment import Moment, rfc3339
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.storage import PersistentVolumeClaim
from unmoor.runtime.ports import ApiError, PortError
from unmoor.sim.actors.actor import CONFLICT, NOT_FOUND, Actor, Key, Stage
from unmoor.sim.actors.floor import Floor
from unmoor.sim.actors.placing import No, musts_of, place

FRESH: Key = ("fresh pods",)
WAITING: Key = ("waiting pods",)
"""The two keys: pods that are new, and all that wait, are looked at together, in their order."""
RETRY_S = 1.0
"""How long changes that make room are collected before those that wait are looked at again."""
MINE = frozenset(("", "default-scheduler"))
"""Values of ``schedulerName``. "" is the server's default, not filled in yet."""
UNSCHEDULABLE = "Unschedulable"
"""Why a pod that no node takes is not scheduled (API reference: core/v1 PodCondition)."""
GATED = "Scheduling is blocked due to non-empty scheduling gates"
_NUMBER = re.compile(r"\d+")


class Scheduler(Actor):
    """Binds pending pods."""

    kinds: ClassVar[tuple[str, ...]] = (
        NODES.kind,
        PODS.kind,
        CSI_NODES.kind,
        NAMESPACES.kind,
        REPLICA_SETS.kind,
        STATEFUL_SETS.kind,
        CLAIMS.kind,
        VOLUMES.kind,
        STORAGE_CLASSES.kind,
    )

    def __init__(self, stage: Stage) -> None:
        """Start with nobody waiting."""
        super().__init__(stage)
        self._fresh: set[tuple[str, str]] = set()
        self._waiting: set[tuple[str, str]] = set()
        self._sociable: set[tuple[str, str]] = set()
        self._bound: dict[str, tuple[str, Wish]] = {}
        self._reserved: dict[str, tuple[str, Wish]] = {}
        """Room is held, as the real one does, for pods whose volumes are being made."""
        self._floor = Floor(self.store)

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """A pod that waits, or something that may let pods in that wait."""
        if kind == PODS.kind:
            self._look_at_pod(old, new)
        elif kind in {NODES.kind, CSI_NODES.kind}:
            one = new or old
            if one is not None and _has_changed(old, new):
                self._floor.forget(one.name)
                self._look_again()
        elif kind not in {REPLICA_SETS.kind, STATEFUL_SETS.kind}:
            # Who a namespace selector means, or what volumes are attached where.
            self._floor.forget_all()
            self._look_again()

    def _look_at_pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and _waits(new):
            if new.spec.scheduler_name not in MINE:
                return
            was = old if old is not None and _waits(old) else None
            if was is None or was.spec != new.spec:
                self._fresh.add(new.key)
                self.mark(FRESH)
            return
        for pod in (old, new):
            if pod is not None:
                self._fresh.discard(pod.key)
                self._waiting.discard(pod.key)
                self._sociable.discard(pod.key)
                self._release(pod)
        if _weighs_the_same(old, new):
            return
        one = new or old
        assert one is not None
        expected = self._bound.pop(one.uid, None)
        as_expected = expected is not None and new is not None and new.node_name == expected[0]
        if not as_expected or one.is_terminal or one.is_deleting:
            for name in (one.node_name, expected[0] if expected is not None else ""):
                self._floor.forget(name)
        if new is None or new.is_terminal or self._sociable:
            self._look_again()

    def _look_again(self) -> None:
        if self._waiting:
            self.mark_at(WAITING, self.stage.clock.now().after(RETRY_S))

    def _wait(self, pod: Pod) -> None:
        """Look at it again; where others are may matter to it, or only what room they leave."""
        self._waiting.add(pod.key)
        if pod.spec.topology_spread_constraints or pod.spec.affinity is not None:
            self._sociable.add(pod.key)

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Place every pod of this key for which there is a place."""
        keys = self._fresh if key == FRESH else self._waiting | self._fresh
        found = (self.store.get(PODS, name, namespace) for namespace, name in sorted(keys))
        pods = [pod for pod in found if pod is not None and pod.uid not in self._bound]
        hopeless: dict[str, list[tuple[Pod, No]]] = {}
        for pod in sorted(pods, key=_order):
            self._fresh.discard(pod.key)
            if pod.is_gated:
                await self._say(pod, "SchedulingGated", GATED, moment)
                continue
            owner = pod.metadata.controller
            known = hopeless.setdefault(owner.uid, []) if owner is not None else []
            no = next((why for twin, why in known if _is_twin(pod, twin)), None)
            if no is None:
                no = await self._place(pod)
                if no is None:
                    continue
                # Nothing in this pass makes room, so its twins fit nowhere, either.
                known.append((pod, no))
            self._wait(pod)
            await self._say(pod, UNSCHEDULABLE, str(no), moment)
        return None

    async def _place(self, pod: Pod) -> No | None:
        """Bind the pod to the best node, or have its claims bound first; say why there is none."""
        self._release(pod)
        self._floor.refresh([*self._bound.values(), *self._reserved.values()])
        wish = musts_of(pod, self.store)
        found = place(wish, self._floor)
        if isinstance(found, No):
            return found
        claims = self._unbound(pod)
        if not claims:
            await self._bind(pod, wish, found)
            return None
        self._wait(pod)
        self._reserved[pod.uid] = (found, wish)
        self._floor.take(found, wish)
        for claim in claims:
            if names.SELECTED_NODE not in claim.metadata.annotations:
                mark = {"metadata": {"annotations": {names.SELECTED_NODE: found}}}
                await self.stage.patch(claim, mark)
        return None

    def _release(self, pod: Pod) -> None:
        """Hold no room for a pod any more: it is looked at anew, or does not wait."""
        held = self._reserved.pop(pod.uid, None)
        if held is not None:
            self._floor.forget(held[0])

    def _unbound(self, pod: Pod) -> list[PersistentVolumeClaim]:
        found = (self.store.get(CLAIMS, name, pod.namespace) for name in claims_of(pod))
        return [claim for claim in found if claim is not None and not claim.spec.volume_name]

    async def _bind(self, pod: Pod, wish: Wish, node: str) -> None:
        """Bind. A pod that is gone or bound does not take up room there after all."""
        ref = ref_of(pod)
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._bound[pod.uid] = (node, wish)
        self._floor.take(node, wish)
        try:
            await self.api.create(ref, body, subresource="binding")
        except PortError as error:
            self._bound.pop(pod.uid, None)
            self._floor.forget(node)
            if not isinstance(error, ApiError) or error.code not in {NOT_FOUND, CONFLICT}:
                self._fresh.add(pod.key)
                raise

    async def _say(self, pod: Pod, reason: str, message: str, moment: Moment) -> None:
        """A real scheduler's condition and event, said when there is something else to say."""
        known = condition_of(pod.status.conditions, "PodScheduled")
        if known is not None and _NUMBER.sub("#", known.message) == _NUMBER.sub("#", message):
            return
        condition: JSON = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": rfc3339(moment.wall),
        }
        body = {"status": {"conditions": [condition]}}
        try:
            await self.stage.patch(pod, body, how="strategic", subresource="status")
        except ApiError as error:
            if error.code not in {NOT_FOUND, CONFLICT}:
                raise
            return
        if reason == UNSCHEDULABLE:
            about = ref_of(pod)
            self.stage.tell(
                Publish(
                    regarding=about, reason="FailedScheduling", message=message, is_warning=True
                )
            )


def _waits(pod: Pod) -> bool:
    return not pod.node_name and not pod.is_deleting and not pod.is_terminal


def _order(pod: Pod) -> tuple[int, str, str, str]:
    """Higher priority first, then older, then by name."""
    created = pod.metadata.creation_timestamp
    stamp = created.isoformat() if created else ""
    return (-(pod.spec.priority or 0), stamp, pod.namespace, pod.name)


def _is_twin(one: Pod, other: Pod) -> bool:
    """What holds for one holds for the other; claims are everybody's own."""
    return (
        one.spec == other.spec
        and one.metadata.labels == other.metadata.labels
        and not claims_of(one)
    )


def _weighs_the_same(old: Pod | None, new: Pod | None) -> bool:
    """Nothing has changed about a pod that matters to others."""
    return (
        old is not None
        and new is not None
        and old.uid == new.uid
        and old.is_terminal == new.is_terminal
        and old.is_deleting == new.is_deleting
        and old.spec == new.spec
        and old.metadata.labels == new.metadata.labels
    )


def _has_changed(old: Any | None, new: Any | None) -> bool:
    """The change may let a pod in that was refused before, or the other way round."""
    if not isinstance(old, Node) or not isinstance(new, Node):
        return True
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.status.allocatable != new.status.allocatable
    )
