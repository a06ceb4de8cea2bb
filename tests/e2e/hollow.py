"""A cluster of hollow nodes on a real API server: made of plain objects, and cleared away again.

Nothing runs on it and no controller looks after it. What kube-scheduler does not look at is left
out: kinds that it does not read, finalizers that nobody would remove, what the server itself
writes. One controller is played, as its work needs the uids of pods: it makes the claims of
ephemeral volumes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from tests.e2e.rest import Refused, Rest
from tests.facts import reading
from unmoor.model.base import JSON

CORE: Final = "/api/v1"
STORAGE: Final = "/apis/storage.k8s.io/v1"
DEVICES: Final = "/apis/resource.k8s.io/v1"
APPS: Final = "/apis/apps/v1"
CLUSTER_WIDE: Final = {
    "Namespace": f"{CORE}/namespaces",
    "Node": f"{CORE}/nodes",
    "PersistentVolume": f"{CORE}/persistentvolumes",
    "StorageClass": f"{STORAGE}/storageclasses",
    "CSINode": f"{STORAGE}/csinodes",
    "CSIDriver": f"{STORAGE}/csidrivers",
    "VolumeAttachment": f"{STORAGE}/volumeattachments",
    "DeviceClass": f"{DEVICES}/deviceclasses",
}
NAMESPACED: Final = {
    "Pod": (CORE, "pods"),
    "PersistentVolumeClaim": (CORE, "persistentvolumeclaims"),
    "CSIStorageCapacity": (STORAGE, "csistoragecapacities"),
    "ResourceClaim": (DEVICES, "resourceclaims"),
    "Service": (CORE, "services"),
    "ReplicaSet": (APPS, "replicasets"),
    "StatefulSet": (APPS, "statefulsets"),
}
KEPT: Final = ("name", "labels", "annotations", "ownerReferences")
"""What of an object's metadata is its maker's to say."""
TOLD_LATER: Final = {"Pod", "PersistentVolume"}
"""Their status matters, and the server takes it only when they are there."""
ENDING_GRACE_S: Final = 3600
"""A pod that is to be seen terminating gets this long, and nobody ends it."""


def key(body: Mapping[str, Any]) -> str:
    """``namespace/name``."""
    return f"{_namespace(body)}/{body['metadata']['name']}"


def place(kind: str, namespace: str = "") -> str:
    """The path of a collection."""
    if kind in CLUSTER_WIDE:
        return CLUSTER_WIDE[kind]
    group, plural = NAMESPACED[kind]
    return f"{group}/namespaces/{namespace}/{plural}"


def own_claims(pod: JSON) -> Iterator[tuple[str, JSON]]:
    """The claims of a pod's ephemeral volumes: their names, and what they are made after."""
    for volume in pod["spec"].get("volumes", ()):
        if "ephemeral" in volume:
            template = volume["ephemeral"]["volumeClaimTemplate"]
            yield f"{pod['metadata']['name']}-{volume['name']}", template


def wanted(body: JSON) -> JSON:
    """The object as one would create it."""
    metadata = body["metadata"]
    kept = {word: metadata[word] for word in KEPT if word in metadata}
    if body["kind"] in NAMESPACED:
        kept["namespace"] = _namespace(body)
    told = {word: body[word] for word in body if word not in {"metadata", "status"}}
    if body["kind"] == "Node":
        told["status"] = body.get("status", {})
    if body["kind"] == "Pod":
        told["spec"] = _pod_spec(body["spec"])
    return {"apiVersion": "v1", **told, "metadata": kept}


def _namespace(body: Mapping[str, Any]) -> str:
    namespace: str = body["metadata"].get("namespace") or "default"
    return namespace


def _pod_spec(spec: JSON) -> JSON:
    """Names, images and container ports are demanded, and nobody looks at them."""
    filled = {"containers": [{}], **spec}
    for field in ("initContainers", "containers"):
        if field in filled:
            filled[field] = [_container(f"{field[0]}{at}", c) for at, c in enumerate(filled[field])]
    return filled


def _container(name: str, given: JSON) -> JSON:
    ports = [{"containerPort": one.get("hostPort", 1), **one} for one in given.get("ports", ())]
    return {"image": "none", **given, "name": given.get("name") or name, "ports": ports}


class HollowCluster:
    """What is on the API server for one trial."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._used: set[str] = set()
        self._claims: dict[str, JSON] = {}
        self._taken: set[str] = set()

    async def furnish(self, objects: Iterable[JSON], coming: Iterable[JSON] = ()) -> None:
        """Create them all, in no order, but namespaces first; these need not be told.

        Claims of the volumes of a pod's own are kept until it comes; what is only called like one
        is there before.
        """
        known = [body for body in objects if body["kind"] in {*CLUSTER_WIDE, *NAMESPACED}]
        spaces = {body["metadata"]["name"]: body for body in known if body["kind"] == "Namespace"}
        coming = tuple(coming)
        inside = [*(body for body in known if body["kind"] in NAMESPACED), *coming]
        for name in sorted({_namespace(body) for body in inside}):
            spaces.setdefault(name, {"kind": "Namespace", "metadata": {"name": name}})
        await _all(self._space(body) for body in spaces.values())
        pods = [*(body for body in known if body["kind"] == "Pod"), *coming]
        claims = {key(body): body for body in known if body["kind"] == "PersistentVolumeClaim"}
        called = [
            (name, pod)
            for pod in pods
            for own, _ in own_claims(pod)
            if (name := f"{_namespace(pod)}/{own}") in claims
        ]
        self._claims = {
            name: claims[name] for name, pod in called if reading.is_made_for(claims[name], pod)
        }
        self._taken = {name for name, _ in called} - self._claims.keys()
        await _all(
            self.create(body)
            for body in known
            if body["kind"] != "Namespace"
            and not (body["kind"] == "PersistentVolumeClaim" and key(body) in self._claims)
        )

    async def create(self, body: JSON, owner: JSON | None = None) -> JSON:
        """Create one, its status and, for a pod, its own claims with it; the answer has its uid."""
        kind, namespace = body["kind"], _namespace(body)
        collection = place(kind, namespace)
        self._used.add(collection)
        asked = wanted(body)
        if owner is not None:
            asked["metadata"]["ownerReferences"] = [owner]
        made = await self._rest.post(collection, asked)
        here = f"{collection}/{body['metadata']['name']}"
        if kind in TOLD_LATER and body.get("status"):
            made = await self._rest.patch(f"{here}/status", {"status": body["status"]})
        if kind == "Pod":
            await self._make_own_claims(body, made["metadata"]["uid"])
        if body["metadata"].get("deletionTimestamp"):
            await self._rest.delete(here, grace_s=ENDING_GRACE_S)
        return made

    async def remove(self, body: JSON) -> None:
        """Delete one, at once."""
        collection = place(body["kind"], _namespace(body))
        await self._rest.delete(f"{collection}/{body['metadata']['name']}")

    async def clear(self) -> None:
        """Delete everything, at once and in no order: nobody is looking."""
        await _all(self._rest.delete(collection) for collection in sorted(self._used))
        self._used.clear()

    async def _space(self, body: JSON) -> None:
        """Namespaces stay behind, empty, as their end takes a controller; only labels change."""
        try:
            await self._rest.post(place("Namespace"), wanted(body))
        except Refused as refused:
            if refused.status != HTTPStatus.CONFLICT:
                raise
            name = body["metadata"]["name"]
            await self._rest.put(f"{place('Namespace')}/{name}", wanted(body))

    async def _make_own_claims(self, pod: JSON, uid: str) -> None:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": uid}
        for name, template in own_claims(pod):
            metadata = {"name": name, "namespace": _namespace(pod)}
            made = {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}
            if key(made) not in self._taken:
                claim = self._claims.get(key(made), made)
                await self.create(claim, {**owner, "controller": True})


async def _all(requests: Iterable[Awaitable[object]]) -> None:
    """When this returns, none of them is still under way."""
    for answer in await asyncio.gather(*requests, return_exceptions=True):
        if isinstance(answer, BaseException):
            raise answer
