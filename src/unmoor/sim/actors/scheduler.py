"""A plain scheduler: a pending pod goes to the emptiest node that may take it.

Whether a node may take it is the engine's judge; among those, least allocated first, ties by name.
A new pod is looked at once, at once; one that fitted nowhere is looked at again when something has
changed that can make room, but not more often than once in a second. As long as nobody waits, it
does nothing. What it does not know: preferences, spreading, affinity between pods, volumes,
preemption.

Must not: move a pod, or remember anything that the cluster does not say.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from unmoor.engine import judge
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.requests import requests_of
from unmoor.lifecycle.effects import Publish
from unmoor.model import resources
from unmoor.model.base import JSON, condition_of
from unmoor.model.kinds import NODES, PODS, ref_of
from unmoor.model.moment import Moment, rfc3339
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.resources import CPU, MEMORY, Resources
from unmoor.runtime.ports import ApiError
from unmoor.sim.actors.actor import CONFLICT, NOT_FOUND, Actor, Key, Stage

FRESH: Key = ("fresh pods",)
WAITING: Key = ("waiting pods",)
"""The two keys: pods that are new, and all that wait, are looked at together, in their order."""
RETRY_S = 1.0
"""How long changes that make room are collected before those that wait are looked at again."""
_NUMBER = re.compile(r"\d+")


class Scheduler(Actor):
    """Binds pending pods."""

    kinds: ClassVar[tuple[str, ...]] = (NODES.kind, PODS.kind)

    def __init__(self, stage: Stage) -> None:
        """Start with nobody waiting."""
        super().__init__(stage)
        self._fresh: set[tuple[str, str]] = set()
        self._waiting: set[tuple[str, str]] = set()
        self._bound: dict[str, str] = {}
        self._shares: dict[str, dict[str, int]] = {}

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """A pod that waits, or room that was made while pods wait."""
        if kind == PODS.kind:
            self._look_at_pod(old, new)
        elif old is None or new is None or _has_opened(old, new):
            self._look_again()

    def _look_at_pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and _waits(new):
            if old is None or not _waits(old):
                self._fresh.add(new.key)
                self.mark(FRESH)
            return
        for pod in (old, new):
            if pod is not None:
                self._fresh.discard(pod.key)
                self._waiting.discard(pod.key)
        if new is None and old is not None:
            self._bound.pop(old.uid, None)
            self._shares.pop(old.uid, None)
        elif new is not None and new.node_name:
            self._bound.pop(new.uid, None)
        if old is not None and (new is None or (new.is_terminal and not old.is_terminal)):
            self._look_again()

    def _look_again(self) -> None:
        if self._waiting:
            self.mark_at(WAITING, self.stage.clock.now().after(RETRY_S))

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Place every pod of this key for which there is a place."""
        keys = self._fresh if key == FRESH else self._waiting | self._fresh
        found = (self.store.get(PODS, name, namespace) for namespace, name in sorted(keys))
        pods = [pod for pod in found if pod is not None and pod.uid not in self._bound]
        if not pods:
            return None
        nodes = self.store.sorted(NODES)
        free = {node.name: self._free(node) for node in nodes}
        hopeless: dict[str, dict[str, int]] = {}
        for pod in sorted(pods, key=_order):
            twins = pod.metadata.controller
            place = hopeless.get(twins.uid) if twins is not None else None
            if place is None:
                found_place = self._place(pod, nodes, free)
                if isinstance(found_place, Node):
                    if await self._bind(pod, found_place):
                        share = self._shares[pod.uid]
                        name = found_place.name
                        free[name] = resources.subtract(free[name], share)
                    self._fresh.discard(pod.key)
                    continue
                place = found_place
                if twins is not None:
                    # Nothing in this pass makes room, so its twins fit nowhere, either.
                    hopeless[twins.uid] = place
            self._fresh.discard(pod.key)
            self._waiting.add(pod.key)
            await self._say_no(pod, place, moment)
        return None

    def _free(self, node: Node) -> dict[str, int]:
        """What is left on a node, beside what is bound and what we have just bound."""
        there = self.store.pods_on(node.name)
        used: list[Resources] = [self._share(pod) for pod in there if not pod.is_terminal]
        used += (self._shares[uid] for uid, name in self._bound.items() if name == node.name)
        allocatable = resources.parse_resources(node.status.allocatable)
        return resources.subtract(allocatable, resources.total(used))

    def _share(self, pod: Pod) -> dict[str, int]:
        share = self._shares.get(pod.uid)
        if share is None:
            share = self._shares[pod.uid] = requests_of(pod)
        return share

    def _place(
        self, pod: Pod, nodes: list[Node], free: dict[str, dict[str, int]]
    ) -> Node | dict[str, int]:
        """The best node, or how many nodes refuse for which reason."""
        best: tuple[float, Node] | None = None
        reasons: dict[str, int] = {}
        share = self._share(pod)
        for node in nodes:
            against = judge.room_refusals(share, free[node.name])
            against = against or judge.placement_refusals(pod, node)
            if against:
                reason = _reason(against[0])
                reasons[reason] = reasons.get(reason, 0) + 1
                continue
            score = _share_free(node, free[node.name])
            if best is None or score > best[0]:
                best = (score, node)
        return reasons if best is None else best[1]

    async def _bind(self, pod: Pod, node: Node) -> bool:
        """Bind. True when the pod takes up room there: a pod that is gone or bound does not."""
        ref = ref_of(pod)
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node.name},
        }
        try:
            await self.api.create(ref, body, subresource="binding")
        except ApiError as error:
            if error.code in {NOT_FOUND, CONFLICT}:
                return False
            raise
        self._bound[pod.uid] = node.name
        return True

    async def _say_no(self, pod: Pod, reasons: dict[str, int], moment: Moment) -> None:
        """A real scheduler's condition and event, said when there is another reason."""
        total = sum(reasons.values())
        parts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        message = f"0/{total} nodes are available: {parts or 'there is none'}."
        known = condition_of(pod.status.conditions, "PodScheduled")
        if known is not None and _NUMBER.sub("#", known.message) == _NUMBER.sub("#", message):
            return
        condition: JSON = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
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
        self.stage.tell(
            Publish(
                regarding=ref_of(pod), reason="FailedScheduling", message=message, is_warning=True
            )
        )


def _waits(pod: Pod) -> bool:
    return not pod.node_name and not pod.is_deleting and not pod.is_terminal


def _order(pod: Pod) -> tuple[int, str, str, str]:
    """Higher priority first, then older, then by name."""
    created = pod.metadata.creation_timestamp
    stamp = created.isoformat() if created else ""
    return (-(pod.spec.priority or 0), stamp, pod.namespace, pod.name)


def _has_opened(old: Node, new: Node) -> bool:
    """The change may let a pod in that was refused before."""
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.status.allocatable != new.status.allocatable
    )


def _reason(refusal: Refusal) -> str:
    if refusal.constraint is Constraint.RESOURCES:
        return f"Insufficient {refusal.subject}"
    if refusal.constraint is Constraint.TAINT:
        return f"node(s) had untolerated taint {refusal.subject}"
    return f"node(s) refused by {refusal.constraint}"


def _share_free(node: Node, free: Resources) -> float:
    """The free share of cpu and memory, on average."""
    allocatable = resources.parse_resources(node.status.allocatable)
    known = [name for name in (CPU, MEMORY) if allocatable.get(name, 0) > 0]
    return sum(free.get(name, 0) / allocatable[name] for name in known) / max(len(known), 1)
