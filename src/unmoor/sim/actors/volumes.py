"""Provides the volumes that claims ask for, and the claims of pods' own volumes.

A claim whose class waits for its first consumer gets a volume once the scheduler has marked it with
a node; the volume can be reached from the node's zone, or from that node alone where it has none
(by its hostname: kube-scheduler looks at no name). A claim of another class gets one at once, to be
reached from everywhere. A node that is gone is taken off the claim, so that the scheduler chooses
anew. A claim that names its volume itself is bound to it once there is such a volume. Claim and
volume say so in their status, and the claim gets the volume's capacity; a volume of nobody's is
Available.

Left out: ``allowedTopologies`` of classes that do not wait, whether a volume is large enough,
volumes that somebody made beforehand and no claim names, two claims that name one volume, classes
that provide nothing, the end of a volume.

Must not: attach anything, or look at pods but for the claims that they bring along.
"""

from __future__ import annotations

from typing import Any, ClassVar

from unmoor.engine.volumes import MIGRATED, NO_PROVISIONER, claims_of, default_class
from unmoor.model import names
from unmoor.model.base import JSON, Object
from unmoor.model.kinds import CLAIMS, NODES, PODS, STORAGE_CLASSES, VOLUMES, ref_of
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.storage import PersistentVolumeClaim, StorageClass
from unmoor.runtime.ports import ApiError
from unmoor.sim.actors.actor import NOT_FOUND, Actor, Key

_POD = "Pod"
_CLAIM = "PersistentVolumeClaim"
_VOLUME = "PersistentVolume"


class Volumes(Actor):
    """Binds claims."""

    kinds: ClassVar[tuple[str, ...]] = (
        NODES.kind,
        PODS.kind,
        CLAIMS.kind,
        VOLUMES.kind,
        STORAGE_CLASSES.kind,
    )

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """A claim, a pod with volumes of its own, or whatever a claim may wait for."""
        if kind == PODS.kind:
            if old is None and new is not None and any(one.ephemeral for one in new.spec.volumes):
                self.mark((_POD, *new.key))
        elif kind == CLAIMS.kind:
            if new is not None and not new.is_bound:
                self.mark((_CLAIM, *new.key))
            elif new is None and old is not None:
                self._mark_pods(old)
        elif kind == VOLUMES.kind:
            if old is None and new is not None:
                self._mark_claims(naming=True)
                self.mark((_VOLUME, *new.key))
        elif (new is None) if kind == NODES.kind else (new is not None):
            self._mark_claims(naming=False)

    def _mark_pods(self, claim: PersistentVolumeClaim) -> None:
        """A claim is gone: a pod with a volume of its own may have waited for its name."""
        for key, pod in sorted(self.store.all(PODS).items()):
            is_near = pod.namespace == claim.namespace and any(
                one.ephemeral for one in pod.spec.volumes
            )
            if is_near and claim.name in claims_of(pod):
                self.mark((_POD, *key))

    def _mark_claims(self, *, naming: bool) -> None:
        """Look again at claims that are not bound, and name a volume or do not."""
        for key, claim in sorted(self.store.all(CLAIMS).items()):
            if not claim.is_bound and bool(claim.spec.volume_name) is naming:
                self.mark((_CLAIM, *key))

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Bring one claim or volume forward, or make the claims of one pod."""
        del moment
        what, namespace, name = key
        if what == _POD:
            pod = self.store.get(PODS, name, namespace)
            if pod is not None and not pod.is_deleting:
                await self._make_claims(pod)
            return None
        if what == _VOLUME:
            await self._offer(name)
            return None
        claim = self.store.get(CLAIMS, name, namespace)
        if claim is None or claim.is_deleting or claim.is_bound:
            return None
        if claim.spec.volume_name:
            await self._bind(claim, claim.spec.volume_name)
            return None
        found = self._class_of(claim)
        if found is None or found.provisioner == NO_PROVISIONER:
            return None
        chosen = claim.metadata.annotations.get(names.SELECTED_NODE)
        node = self.store.node(chosen) if chosen else None
        if chosen and node is None:
            await self.stage.patch(
                claim, {"metadata": {"annotations": {names.SELECTED_NODE: None}}}
            )
        elif node is not None or not found.is_waiting:
            await self._provide(claim, found, node)
        return None

    def _class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        wanted = claim.spec.storage_class_name
        if wanted is None:
            return default_class(self.store)
        return self.store.get(STORAGE_CLASSES, wanted)

    async def _provide(
        self, claim: PersistentVolumeClaim, found: StorageClass, node: Node | None
    ) -> None:
        """Make the volume, then bind the claim to it; each is safe to repeat."""
        body = await self.api.get(ref_of(claim))
        name = f"pvc-{claim.uid}"
        terms = _at(node) if node is not None else []
        driver = MIGRATED.get(found.provisioner, found.provisioner)
        spec: JSON = {
            "accessModes": body["spec"].get("accessModes") or ["ReadWriteOnce"],
            "capacity": (body["spec"].get("resources") or {}).get("requests") or {"storage": "1Gi"},
            "claimRef": _reference(claim),
            "csi": {"driver": driver, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": found.name,
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}),
        }
        volume = {"metadata": {"name": name}, "spec": spec}
        kind = {"apiVersion": "v1", "kind": VOLUMES.kind}
        await self.stage.create(VOLUMES.ref(name), {**kind, **volume})
        await self._bind(claim, name)

    async def _offer(self, name: str) -> None:
        """Nobody has claimed it: it is to be had."""
        volume = self.store.get(VOLUMES, name)
        if volume is None or volume.is_deleting:
            return
        body = await self.api.get(VOLUMES.ref(name))
        phase = (body.get("status") or {}).get("phase")
        if phase in {None, "Pending"} and not body["spec"].get("claimRef"):
            await self._say(volume, phase="Available")

    async def _bind(self, claim: PersistentVolumeClaim, name: str) -> None:
        """What makes it bound comes last: until then, all is tried again."""
        volume = self.store.get(VOLUMES, name)
        if volume is None:
            return
        spec = (await self.api.get(VOLUMES.ref(name)))["spec"]
        if not spec.get("claimRef"):
            await self.stage.patch(volume, {"spec": {"claimRef": _reference(claim)}})
        await self._say(volume, phase="Bound")
        given = {field: spec[field] for field in ("accessModes", "capacity") if field in spec}
        await self._say(claim, phase="Bound", **given)
        mark = {"annotations": {names.BIND_COMPLETED: "yes"}}
        await self.stage.patch(claim, {"metadata": mark, "spec": {"volumeName": name}})

    async def _say(self, one: Object, **status: object) -> None:
        await self.stage.patch(one, {"status": status}, subresource="status")

    async def _make_claims(self, pod: Pod) -> None:
        try:
            body = await self.api.get(ref_of(pod))
        except ApiError as error:
            if error.code == NOT_FOUND:
                return
            raise
        owner = {"apiVersion": "v1", "kind": PODS.kind, "name": pod.name, "uid": pod.uid}
        for volume in body["spec"].get("volumes") or ():
            template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
            name = f"{pod.name}-{volume['name']}"
            if template is None or self.store.get(CLAIMS, name, pod.namespace) is not None:
                continue
            meta = {
                **(template.get("metadata") or {}),
                "name": name,
                "namespace": pod.namespace,
                "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
            }
            claim = {"apiVersion": "v1", "kind": CLAIMS.kind, "metadata": meta}
            ref = CLAIMS.ref(name, pod.namespace)
            await self.stage.create(ref, {**claim, "spec": template.get("spec") or {}})


def _reference(claim: PersistentVolumeClaim) -> JSON:
    kind = {"apiVersion": "v1", "kind": CLAIMS.kind}
    return {**kind, "name": claim.name, "namespace": claim.namespace, "uid": claim.uid}


def _at(node: Node) -> list[JSON]:
    """Zonal, as the disks of clouds are."""
    for key in (names.ZONE, names.HOSTNAME):
        value = node.metadata.labels.get(key)
        if value:
            return [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]
    return []
