"""StatefulSets: pods with names of their own, one after the other.

The pod of an ordinal is made again under the same name, once the old one is really gone; with the
policy OrderedReady the next ordinal waits until the one before is ready. When the template has
changed, pods are replaced one by one from the end. Before a pod is made, it gets the claims that it
lacks, from the claim templates.

Left out: claims go with nobody, whatever the retention policy says, and one that somebody deletes
comes back with the next pod only.

Must not: provide volumes, or force a pod away. One that is stuck on a dead node blocks its
successor, as it should.
"""

from __future__ import annotations

from typing import ClassVar

from unmoor.model.base import JSON
from unmoor.model.kinds import CLAIMS, PODS, REVISIONS, STATEFUL_SETS
from unmoor.model.moment import Moment
from unmoor.model.pod import Pod
from unmoor.model.workload import StatefulSet
from unmoor.sim.actors.actor import Key, Stage
from unmoor.sim.actors.owners import OwnerActor, with_labels
from unmoor.sim.actors.revisions import MARK, Marks, Revisions

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


class StatefulSets(OwnerActor):
    """Keeps the pods 0 to n-1 of each StatefulSet."""

    owner = STATEFUL_SETS
    kinds: ClassVar[tuple[str, ...]] = (STATEFUL_SETS.kind, PODS.kind, REVISIONS.kind)

    def __init__(self, stage: Stage) -> None:
        """Start having said nothing."""
        super().__init__(stage)
        self._revisions = Revisions(stage, STATEFUL_SETS)
        self._said: dict[str, JSON] = {}

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Make or remove what is next in order, then say how it stands."""
        del moment
        owner = self.store.get(STATEFUL_SETS, key[1], key[0])
        if owner is None or owner.is_deleting:
            return None
        spec = await self.spec_of(owner)
        marks = await self._revisions.marks(owner, spec["template"])
        wanted = 1 if owner.spec.replicas is None else owner.spec.replicas
        is_ordered = spec.get("podManagementPolicy", "OrderedReady") != "Parallel"
        there = {pod.name: pod for pod in self.store.pods_of(owner.uid)}
        marked = {**spec, "template": with_labels(spec["template"], {MARK: marks.newest})}
        is_complete = await self._fill(owner, marked, wanted, is_ordered=is_ordered)
        if is_complete and not await self._shrink(owner, there, wanted):
            await self._renew(spec, [there[f"{owner.name}-{n}"] for n in range(wanted)], marks)
        await self._report(owner, wanted, marks)
        return None

    async def _fill(self, owner: StatefulSet, spec: JSON, wanted: int, *, is_ordered: bool) -> bool:
        """True when every ordinal has its pod, ready."""
        there = {pod.name: pod for pod in self.store.pods_of(owner.uid)}
        is_complete = True
        for ordinal in range(wanted):
            name = f"{owner.name}-{ordinal}"
            pod = there.get(name)
            if pod is None:
                await self._make(owner, name, ordinal, spec)
            elif pod.is_terminal and not pod.is_deleting:
                await self.stage.delete(pod)
            elif pod.is_ready and not pod.is_deleting:
                continue
            is_complete = False
            if is_ordered:
                return False
        return is_complete

    async def _make(self, owner: StatefulSet, name: str, ordinal: int, spec: JSON) -> None:
        template = with_labels(spec["template"], {POD_NAME: name, POD_INDEX: str(ordinal)})
        more: JSON = {"hostname": name}
        if spec.get("serviceName"):
            more["subdomain"] = spec["serviceName"]
        if claims := spec.get("volumeClaimTemplates"):
            named = {one["metadata"]["name"]: one for one in claims}
            for volume, claim in named.items():
                await self._claim(owner, f"{volume}-{name}", claim, spec)
            given = template.get("spec", {}).get("volumes") or ()
            more["volumes"] = [
                *({"name": one, **_claimed(f"{one}-{name}")} for one in named),
                *(one for one in given if one["name"] not in named),
            ]
        await self.make_pod(owner, name, template, more)

    async def _claim(self, owner: StatefulSet, name: str, template: JSON, spec: JSON) -> None:
        """Make the claim, unless it is there: a pod that comes back finds its volume."""
        given = template["metadata"]
        labels = {**given.get("labels", {}), **spec["selector"].get("matchLabels", {})}
        meta = {**given, "name": name, "namespace": owner.namespace, "labels": labels}
        kind = {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind}
        ref = CLAIMS.ref(name, owner.namespace)
        await self.stage.create(ref, {**kind, "metadata": meta, "spec": template.get("spec", {})})

    async def _shrink(self, owner: StatefulSet, there: dict[str, Pod], wanted: int) -> bool:
        """The highest ordinal goes first, and is gone before the next one goes; False for none."""
        expected = {f"{owner.name}-{ordinal}" for ordinal in range(wanted)}
        surplus = sorted((pod for name, pod in there.items() if name not in expected), key=_ordinal)
        if surplus and not surplus[-1].is_deleting:
            await self.stage.delete(surplus[-1])
        return bool(surplus)

    async def _renew(self, spec: JSON, pods: list[Pod], marks: Marks) -> None:
        """Delete the last pod of an earlier template. All pods are ready when this is asked."""
        strategy = spec.get("updateStrategy") or {}
        first = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        outdated = [pod for pod in pods[first:] if marks.is_outdated(pod)]
        if outdated and strategy.get("type") != "OnDelete":
            await self.stage.delete(outdated[-1])

    async def _report(self, owner: StatefulSet, wanted: int, marks: Marks) -> None:
        pods = self.pods_of(owner)
        ready = sum(pod.is_ready for pod in pods)
        updated = sum(not marks.is_outdated(pod) for pod in pods)
        current = owner.status.current_revision
        if not current or updated == len(pods) == wanted:
            current = marks.newest
        status = {
            "replicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "currentReplicas": updated if current == marks.newest else len(pods) - updated,
            "updatedReplicas": updated,
            "currentRevision": current,
            "updateRevision": marks.newest,
            "collisionCount": 0,
            "observedGeneration": owner.metadata.generation,
        }
        if self._said.get(owner.uid) != status:
            await self.say(owner, status)
            self._said[owner.uid] = status


def _claimed(claim: str) -> JSON:
    return {"persistentVolumeClaim": {"claimName": claim}}


def _ordinal(pod: Pod) -> int:
    tail = pod.name.rpartition("-")[2]
    return int(tail) if tail.isdigit() else -1
