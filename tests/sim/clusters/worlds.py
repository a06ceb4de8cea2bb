"""Generated objects, and what is read of them."""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from unmoor.cloud.catalogue import ec2_types
from unmoor.kube.codec import codec_of
from unmoor.model import kinds
from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.model.pod import Pod
from unmoor.sim.clusters import generator
from unmoor.sim.clusters.mix import Mix
from unmoor.sim.manifests import Manifest

T = TypeVar("T")


def generate(mix: Mix) -> tuple[Manifest, ...]:
    """A cluster of the machines that the simulated cloud sells."""
    return generator.generate(mix, ec2_types())


def fresh(body: JSON) -> JSON:
    """An object as one would create it: without what a server gives out."""
    meta = {
        key: value
        for key, value in body["metadata"].items()
        if key not in {"uid", "creationTimestamp", "ownerReferences"}
    }
    return {**body, "metadata": meta}


def raw(objects: Iterable[Manifest], kind: str) -> list[JSON]:
    return [body for ref, body in objects if ref.kind == kind]


def decoded(objects: Iterable[Manifest], resource: Resource[T]) -> list[T]:
    """As the client reads a list of them; nothing may be broken."""
    text = msgspec.json.encode({"metadata": {}, "items": raw(objects, resource.kind)})
    page = codec_of(resource).page(text)
    assert page.broken == ()
    return list(page.items)


def pods_by_node(objects: Iterable[Manifest]) -> dict[str, list[Pod]]:
    found: dict[str, list[Pod]] = {}
    for pod in decoded(objects, kinds.PODS):
        if pod.node_name:
            found.setdefault(pod.node_name, []).append(pod)
    return found


def leaves(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """Every plain value with its path."""
    if isinstance(value, dict):
        inner: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    else:
        return {path: value}
    found: dict[tuple[Any, ...], Any] = {}
    for key, one in inner:
        found |= leaves(one, (*path, key))
    return found
