"""Deployments and ReplicaSets: as many equal pods as asked for, under names that never come back.

A new template gets a ReplicaSet of full size; the old one goes when the new one is ready. (A real
Deployment goes step by step; nothing of ours depends on the steps.)

Must not: place pods, or replace one that is still there and counts.
"""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

import msgspec

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.kinds import DEPLOYMENTS, PODS, REPLICA_SETS
from unmoor.model.moment import Moment, rfc3339
from unmoor.model.pod import Pod
from unmoor.model.workload import Deployment, ReplicaSet
from unmoor.sim.actors.actor import Key, Stage
from unmoor.sim.actors.owners import OwnerActor, numbered, reference, with_labels

TEMPLATE_HASH = "pod-template-hash"
HASH_CHARS = 10
REVISION = "deployment.kubernetes.io/revision"
"""Which template of its Deployment a ReplicaSet has, counted in the order of their use."""


class ReplicaSets(OwnerActor):
    """Creates what is missing, deletes what is too much."""

    owner = REPLICA_SETS
    kinds: ClassVar[tuple[str, ...]] = (REPLICA_SETS.kind, PODS.kind)

    def __init__(self, stage: Stage) -> None:
        """Start without numbers."""
        super().__init__(stage)
        self._next: dict[str, int] = {}
        self._said: dict[str, JSON] = {}

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Bring one ReplicaSet to its size, then say how it stands."""
        del moment
        owner = self.store.get(REPLICA_SETS, key[1], key[0])
        if owner is None or owner.is_deleting:
            return None
        wanted = _wanted(owner.spec.replicas)
        pods = self.pods_of(owner)
        if len(pods) < wanted:
            await self._add(owner, wanted - len(pods))
        elif len(pods) > wanted:
            for pod in sorted(pods, key=_dispensable)[: len(pods) - wanted]:
                await self.stage.delete(pod)
        await self._report(owner)
        return None

    async def _add(self, owner: ReplicaSet, count: int) -> None:
        template = (await self.spec_of(owner))["template"]
        if owner.uid not in self._next:
            self._next[owner.uid] = numbered(self.store.pods_of(owner.uid))
        for _ in range(count):
            await self.make_pod(owner, f"{owner.name}-{self._next[owner.uid]}", template)
            self._next[owner.uid] += 1

    async def _report(self, owner: ReplicaSet) -> None:
        pods = self.pods_of(owner)
        ready = sum(pod.is_ready for pod in pods)
        status = {
            "replicas": len(pods),
            "fullyLabeledReplicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": owner.metadata.generation,
        }
        if self._said.get(owner.uid) != status:
            await self.say(owner, status)
            self._said[owner.uid] = status


class Deployments(OwnerActor):
    """Keeps one ReplicaSet for each Deployment, and retires those of earlier templates."""

    owner = DEPLOYMENTS
    kinds: ClassVar[tuple[str, ...]] = (DEPLOYMENTS.kind, REPLICA_SETS.kind)

    def __init__(self, stage: Stage) -> None:
        """Start having said nothing."""
        super().__init__(stage)
        self._said: dict[str, JSON] = {}
        self._decided: dict[tuple[str, str], tuple[str, str]] = {}

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """A ReplicaSet concerns its Deployment."""
        if kind == REPLICA_SETS.kind:
            for key in self._owners(old, new):
                self.mark(key)
        else:
            super().look(kind, old, new)

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Bring the ReplicaSets of one Deployment to their sizes, then say how it stands."""
        owner = self.store.get(DEPLOYMENTS, key[1], key[0])
        if owner is None or owner.is_deleting:
            return None
        spec = await self.spec_of(owner)
        digest = _digest(spec["template"])
        name = f"{owner.name}-{digest}"
        wanted = _wanted(owner.spec.replicas)
        current = self.store.get(REPLICA_SETS, name, owner.namespace)
        if current is None and (current := await self._alike(owner, spec["template"])) is not None:
            name = current.name
        newest = max((_revision(one) for one in self._sets(owner)), default=0)
        if current is None:
            body = _replica_set(owner, name, digest, spec)
            body["metadata"]["annotations"] = {REVISION: str(newest + 1)}
            await self.stage.create(REPLICA_SETS.ref(name, owner.namespace), body)
        elif _revision(current) < newest:  # An old template has come back.
            annotations = {REVISION: str(newest + 1)}
            body = {"metadata": {"annotations": annotations}, "spec": {"replicas": wanted}}
            await self.stage.patch(current, body)
        elif current.spec.replicas != wanted:
            await self.stage.patch(current, {"spec": {"replicas": wanted}})
        elif current.status.ready_replicas >= wanted:
            for old in self._sets(owner):
                if old.name != name and old.spec.replicas != 0:
                    await self.stage.patch(old, {"spec": {"replicas": 0}})
        await self._report(owner, name, moment)
        return None

    async def _alike(self, owner: Deployment, template: JSON) -> ReplicaSet | None:
        """The set that another server's controller has made of this template, under its name."""
        wanted = _unmarked(template)
        for one in self._sets(owner):
            if _unmarked((await self.spec_of(one))["template"]) == wanted:
                return one
        return None

    def _sets(self, owner: Deployment) -> list[ReplicaSet]:
        found = []
        for one in self.store.sorted(REPLICA_SETS):
            controller = one.metadata.controller
            if controller is not None and controller.uid == owner.uid:
                found.append(one)
        return found

    async def _report(self, owner: Deployment, name: str, moment: Moment) -> None:
        sets = self._sets(owner)
        ready = sum(one.status.ready_replicas for one in sets)
        updated = sum(one.status.replicas for one in sets if one.name == name)
        status = {
            "replicas": sum(one.status.replicas for one in sets),
            "updatedReplicas": updated,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": max(_wanted(owner.spec.replicas) - ready, 0),
            "observedGeneration": owner.metadata.generation,
            "conditions": self._conditions(owner, name, sets, moment),
        }
        revision = str(max((_revision(one) for one in sets), default=0))
        said = {"metadata": {"annotations": {REVISION: revision}}, "status": status}
        if self._said.get(owner.uid) != said:
            await self.stage.patch(owner, said, subresource="status")
            self._said[owner.uid] = said

    def _conditions(
        self, owner: Deployment, name: str, sets: list[ReplicaSet], moment: Moment
    ) -> list[JSON]:
        """Whether enough pods are ready, and whether the newest set has replaced all others."""
        wanted = _wanted(owner.spec.replicas)
        ready = sum(one.status.ready_replicas for one in sets)
        available = ("Available", "True", "MinimumReplicasAvailable")
        has = "has"
        if ready < wanted - wanted // 4:
            available, has = ("Available", "False", "MinimumReplicasUnavailable"), "does not have"
        newest = [one.status for one in sets if one.name == name]
        is_done = [one.ready_replicas for one in newest] == [wanted] and ready == wanted
        reason = "NewReplicaSetAvailable" if is_done else "ReplicaSetUpdated"
        how = "has successfully progressed." if is_done else "is progressing."
        return [
            self._condition(owner, *available, f"Deployment {has} minimum availability.", moment),
            self._condition(
                owner, "Progressing", "True", reason, f'ReplicaSet "{name}" {how}', moment
            ),
        ]

    def _condition(
        self, owner: Deployment, kind: str, status: str, reason: str, message: str, moment: Moment
    ) -> JSON:
        """One condition; when it was decided is remembered here."""
        known = self._decided.get((owner.uid, kind))
        if known is None or known[0] != reason:
            known = self._decided[owner.uid, kind] = (reason, rfc3339(moment.wall))
        return {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": known[1],
            "lastUpdateTime": known[1],
        }


def _revision(one: ReplicaSet) -> int:
    text = one.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdigit() else 0


def _wanted(replicas: int | None) -> int:
    return 1 if replicas is None else replicas


def _dispensable(pod: Pod) -> tuple[bool, bool, int, str]:
    """Which pod goes first: unbound, not ready, cheap to delete, then by name."""
    cost = pod.metadata.annotations.get(names.POD_DELETION_COST, "0")
    price = int(cost) if cost.lstrip("-").isdigit() else 0
    return (bool(pod.node_name), pod.is_ready, price, pod.name)


def _digest(template: JSON) -> str:
    text = msgspec.json.encode(template, order="sorted")
    return hashlib.sha256(text).hexdigest()[:HASH_CHARS]


def _unmarked(template: JSON) -> JSON:
    """The template without what tells its set from others."""
    metadata = template.get("metadata") or {}
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _replica_set(owner: Deployment, name: str, digest: str, spec: JSON) -> JSON:
    mark = {TEMPLATE_HASH: digest}
    template = with_labels(spec["template"], mark)
    selector = spec["selector"]
    match_labels = {**selector.get("matchLabels", {}), **mark}
    return {
        "apiVersion": REPLICA_SETS.api_version,
        "kind": REPLICA_SETS.kind,
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": template["metadata"]["labels"],
            "ownerReferences": [reference(DEPLOYMENTS, owner)],
        },
        "spec": {
            "replicas": _wanted(owner.spec.replicas),
            "selector": {**selector, "matchLabels": match_labels},
            "template": template,
        },
    }
