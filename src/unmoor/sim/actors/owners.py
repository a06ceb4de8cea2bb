"""What controllers of pods share: finding out which owner a change concerns, and making a pod.

Templates are read from the API when a pod is made, because the mirror keeps only what unmoor reads.

Must not: know how many pods an owner wants, or which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from unmoor.model.base import JSON, Object
from unmoor.model.kinds import PODS, Resource, ref_of
from unmoor.model.pod import Pod
from unmoor.sim.actors.actor import Actor, Key, Stage

HASH_CHARS = 10


class OwnerActor(Actor):
    """A controller of one kind; its keys are the (namespace, name) of its objects."""

    owner: ClassVar[Resource[Any]]
    kinds: ClassVar[tuple[str, ...]] = ()

    def __init__(self, stage: Stage) -> None:
        """Start without templates."""
        super().__init__(stage)
        self._specs: dict[str, tuple[int, JSON]] = {}

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """An owner concerns itself, what it controls its owner."""
        if kind == self.owner.kind:
            if new is not None:
                self.mark(new.key)
            elif old is not None:
                self._specs.pop(old.uid, None)
        else:
            for key in self._owners(old, new):
                self.mark(key)

    def _owners(self, *objects: Object | None) -> list[Key]:
        found: list[Key] = []
        for obj in objects:
            controller = obj.metadata.controller if obj is not None else None
            if obj is None or controller is None or controller.kind != self.owner.kind:
                continue
            key = (obj.namespace, controller.name)
            if key not in found:
                found.append(key)
        return found

    def pods_of(self, owner: Object) -> list[Pod]:
        """The owner's pods that are neither finished nor on their way out."""
        return [p for p in self.store.pods_of(owner.uid) if not p.is_terminal and not p.is_deleting]

    def terminating(self, owner: Object) -> int:
        """How many of the owner's pods are on their way out."""
        pods = self.store.pods_of(owner.uid)
        return sum(pod.is_deleting and not pod.is_terminal for pod in pods)

    async def spec_of(self, owner: Object) -> JSON:
        """The whole spec of an owner, read once for each generation."""
        known = self._specs.get(owner.uid)
        if known is not None and known[0] == owner.metadata.generation:
            return known[1]
        body = await self.api.get(ref_of(owner))
        spec: JSON = body["spec"]
        if body["metadata"].get("uid") == owner.uid:
            self._specs[owner.uid] = (body["metadata"].get("generation", 0), spec)
        return spec

    async def make_pod(
        self, owner: Object, name: str, template: JSON, more: JSON | None = None
    ) -> None:
        """Create one pod from a template; ``more`` goes over the template's spec."""
        await self.stage.create(
            PODS.ref(name, owner.namespace), pod_body(self.owner, owner, name, template, more)
        )

    async def say(self, owner: Object, status: JSON) -> None:
        """Write the status of an owner."""
        await self.stage.patch(owner, {"status": status}, subresource="status")


def reference(resource: Resource[Any], owner: Object) -> JSON:
    """An owner reference that makes ``owner`` the controller."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_body(
    resource: Resource[Any], owner: Object, name: str, template: JSON, more: JSON | None
) -> JSON:
    """A pod as the template wants it; ``more`` goes over the template's spec."""
    given = template.get("metadata", {})
    spec: JSON = {**template.get("spec", {}), **(more or {})}
    metadata: JSON = {
        "name": name,
        "generateName": f"{owner.name}-",
        "namespace": owner.namespace,
        "labels": dict(given.get("labels", {})),
        "annotations": dict(given.get("annotations", {})),
        "ownerReferences": [reference(resource, owner)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def with_labels(template: JSON, labels: dict[str, str]) -> JSON:
    """The template with more labels."""
    metadata = template.get("metadata", {})
    return {
        **template,
        "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}},
    }


def digest(template: JSON) -> str:
    """What tells a template from others, short enough for a name."""
    text = msgspec.json.encode(template, order="sorted")
    return hashlib.sha256(text).hexdigest()[:HASH_CHARS]


def scaled(value: int | str, whole: int) -> int:
    """A number, or a percentage of a whole, rounded up."""
    if isinstance(value, int):
        return value
    percent = int(value.rstrip("%")) if value.rstrip("%").isdigit() else 0
    return -(-percent * whole // 100)


def numbered(pods: Iterable[Pod]) -> int:
    """The number after the highest that ends one of these pods' names."""
    tails = (pod.name.rpartition("-")[2] for pod in pods)
    return max((int(tail) + 1 for tail in tails if tail.isdigit()), default=0)
