"""Who changes the server while the way to it is bad: somebody with a way of their own."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.chaos.far import FOLLOWED, NAMESPACE
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import KINDS, Resource
from unmoor.runtime.ports import Api, ApiError, DeleteOptions

NAMES = "abcdef"
_BODIES: dict[str, JSON] = {
    "Node": {"spec": {}},
    "Pod": {"spec": {"containers": [{"name": "main", "image": "img:1"}]}},
    "ConfigMap": {"data": {"word": "one"}},
}


def ref_of(resource: Resource[Any], name: str) -> Ref:
    return resource.ref(name, NAMESPACE if resource.is_namespaced else "")


async def make(api: Api, resource: Resource[Any], name: str) -> JSON:
    ref = ref_of(resource, name)
    meta = {"name": name, **({"namespace": ref.namespace} if ref.namespace else {})}
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return await api.create(ref, {**kind, "metadata": meta, **_BODIES[resource.kind]})


async def turn(api: Api, dice: Random) -> None:
    """Make, label or remove something; what is there already, or not, is fine."""
    resource = dice.choice(FOLLOWED)
    name = dice.choice(NAMES)
    ref = ref_of(resource, name)
    try:
        match dice.choice(["make", "make", "label", "label", "label", "remove"]):
            case "make":
                await make(api, resource, name)
            case "label":
                label = {"metadata": {"labels": {"turn": f"{dice.randrange(10**6)}"}}}
                await api.patch(ref, label)
            case _:
                await api.delete(ref, DeleteOptions(grace_s=0))
    except ApiError as error:
        if error.code not in {404, 409}:
            raise


async def clear(api: Api) -> None:
    """Remove everything."""
    for resource in FOLLOWED:
        page = await api.list(resource.raw())
        for obj in page.items:
            meta = obj["metadata"]
            ref = KINDS[resource.kind].ref(meta["name"], meta.get("namespace", ""))
            await api.delete(ref, DeleteOptions(grace_s=0))
