"""Deployments and ReplicaSets: as many equal pods as asked for, under names that never come back.

A new template gets a ReplicaSet that takes over step by step, as the strategy allows (``rollout``).

Must not: place pods, or replace one that is still there and counts.
"""

from __future__ import annotations

from typing import ClassVar

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.kinds import DEPLOYMENTS, PODS, REPLICA_SETS
from unmoor.model.moment import Moment, rfc3339
from unmoor.model.pod import Pod
from unmoor.model.workload import Deployment, ReplicaSet
from unmoor.sim.actors import rollout
from unmoor.sim.actors.actor import Key, Stage
from unmoor.sim.actors.owners import (
    OwnerActor,
    digest,
    numbered,
    reference,
    with_labels,
)
from unmoor.sim.actors.rollout import Bounds, Standing

TEMPLATE_HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
"""Which template of its Deployment a ReplicaSet has, counted in the order of their use."""
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = {
    REVISION,
    DESIRED,
    MOST,
    "deployment.kubernetes.io/revision-history",
    names.LAST_APPLIED,
}
"""Annotations of a Deployment that are not those of its ReplicaSets."""


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
            "terminatingReplicas": self.terminating(owner),
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

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Bring the ReplicaSets of one Deployment to their sizes, then say how it stands."""
        owner = self.store.get(DEPLOYMENTS, key[1], key[0])
        if owner is None or owner.is_deleting:
            return None
        spec = await self.spec_of(owner)
        name = await (self._hold(owner) if spec.get("paused") else self._roll(owner, spec))
        await self._report(owner, spec, name, moment)
        return None

    async def _hold(self, owner: Deployment) -> str:
        """Keep the size and change no template; return the name of the newest set.

        A set that is alone has the whole size. Of several, as they stand in the middle of a
        rollout, the newest gets what another size adds or takes away.
        """
        sets = sorted(self._sets(owner), key=_revision)
        if not sets:
            return ""
        wanted = _wanted(owner.spec.replicas)
        active = [one for one in sets if one.spec.replicas != 0]
        chosen = active[0] if len(active) == 1 else sets[-1]
        size, marks = wanted, {DESIRED: str(wanted)}
        if len(active) > 1:
            known = sets[-1].metadata.annotations.get(DESIRED, "")
            more = wanted - int(known) if known.isdigit() else 0
            size = max(_wanted(chosen.spec.replicas) + more, 0)
        if chosen.spec.replicas != size:
            body = {"metadata": {"annotations": marks}, "spec": {"replicas": size}}
            await self.stage.patch(chosen, body)
        return sets[-1].name

    async def _roll(self, owner: Deployment, spec: JSON) -> str:
        """Bring the set of this template closer to its size, or else others; return its name."""
        mark = digest(spec["template"])
        name = f"{owner.name}-{mark}"
        wanted = _wanted(owner.spec.replicas)
        current = self.store.get(REPLICA_SETS, name, owner.namespace)
        if current is None and (current := await self._alike(owner, spec["template"])) is not None:
            name = current.name
        sets = sorted(self._sets(owner), key=_revision)
        newest = max((_revision(one) for one in sets), default=0)
        limits = rollout.bounds(spec.get("strategy") or {}, wanted)
        olds = [one for one in sets if one.name != name]
        if limits.is_recreate and await self._clear(olds):
            return name
        there = 0 if current is None else _wanted(current.spec.replicas)
        size = rollout.newest_size(wanted, limits, there, [_standing(one) for one in olds])
        if current is None:
            body = _replica_set(owner, name, mark, spec)
            body["spec"]["replicas"] = size
            body["metadata"]["annotations"] = _marks(owner, limits, newest + 1)
            await self.stage.create(REPLICA_SETS.ref(name, owner.namespace), body)
            return name
        # A template that is used again is the newest again.
        is_newest = newest and _revision(current) == newest
        marks = _marks(owner, limits, newest if is_newest else newest + 1)
        if there != size or marks.items() - current.metadata.annotations.items():
            body = {"metadata": {"annotations": marks}, "spec": {"replicas": size}}
            await self.stage.patch(current, body)
        else:
            await self._retire(wanted, limits, current, olds)
        return name

    async def _clear(self, olds: list[ReplicaSet]) -> bool:
        """Let all earlier pods go; True as long as one of them is there."""
        for old in olds:
            if old.spec.replicas != 0:
                await self.stage.patch(old, {"spec": {"replicas": 0}})
        pods = (pod for old in olds for pod in self.store.pods_of(old.uid))
        return any(not pod.is_terminal for pod in pods)

    async def _retire(
        self, wanted: int, limits: Bounds, current: ReplicaSet, olds: list[ReplicaSet]
    ) -> None:
        """Let as many earlier pods go as may be missed now."""
        standing = [_standing(old) for old in olds]
        sizes = rollout.old_sizes(wanted, limits, _standing(current), standing)
        for old in olds:
            if old.name in sizes:
                await self.stage.patch(old, {"spec": {"replicas": sizes[old.name]}})

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

    async def _report(self, owner: Deployment, spec: JSON, name: str, moment: Moment) -> None:
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
            "terminatingReplicas": sum(self.terminating(one) for one in sets),
            "conditions": self._conditions(owner, spec, name, sets, moment),
        }
        revision = str(max((_revision(one) for one in sets), default=0))
        said = {"metadata": {"annotations": {REVISION: revision}}, "status": status}
        if self._said.get(owner.uid) != said:
            await self.stage.patch(owner, said, subresource="status")
            self._said[owner.uid] = said

    def _conditions(
        self, owner: Deployment, spec: JSON, name: str, sets: list[ReplicaSet], moment: Moment
    ) -> list[JSON]:
        """Whether enough pods are ready, and whether the newest set has replaced all others."""
        wanted = _wanted(owner.spec.replicas)
        ready = sum(one.status.ready_replicas for one in sets)
        available = ("Available", "True", "MinimumReplicasAvailable")
        has = "has"
        if ready < wanted - rollout.bounds(spec.get("strategy") or {}, wanted).unavailable:
            available, has = ("Available", "False", "MinimumReplicasUnavailable"), "does not have"
        newest = [one.status for one in sets if one.name == name]
        is_done = [one.ready_replicas for one in newest] == [wanted] and ready == wanted
        how = "has successfully progressed." if is_done else "is progressing."
        reason = "NewReplicaSetAvailable" if is_done else "ReplicaSetUpdated"
        progress = ("Progressing", "True", reason, f'ReplicaSet "{name}" {how}')
        if spec.get("paused"):
            progress = ("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused")
        return [
            self._condition(owner, *available, f"Deployment {has} minimum availability.", moment),
            self._condition(owner, *progress, moment),
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


def _standing(one: ReplicaSet) -> Standing:
    """As its status says, which may be late: more than its size has are not counted on."""
    size = _wanted(one.spec.replicas)
    return Standing(one.name, size, min(size, one.status.ready_replicas))


def _marks(owner: Deployment, limits: Bounds, revision: int) -> dict[str, str]:
    """What the newest set is annotated with: its revision, its size, and what its owner says."""
    wanted = _wanted(owner.spec.replicas)
    said = {k: v for k, v in owner.metadata.annotations.items() if k not in _NOT_COPIED}
    sizes = {DESIRED: str(wanted), MOST: str(wanted + limits.surge)}
    return {**said, REVISION: str(revision), **sizes}


def _unmarked(template: JSON) -> JSON:
    """The template without what tells its set from others."""
    metadata = template.get("metadata") or {}
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _replica_set(owner: Deployment, name: str, hashed: str, spec: JSON) -> JSON:
    mark = {TEMPLATE_HASH: hashed}
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
            "selector": {**selector, "matchLabels": match_labels},
            "template": template,
        },
    }
