"""Custom kinds that contract cases define."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from tests.contract.faces import PATIENCE_S, Place
from tests.contract.wire import DEFINITIONS, DYNAMIC, Answer, Wire
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource

POLL_S = 0.1
GROUP = "contract.example.com"
SPEC: JSON = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "word": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 5},
        "tags": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "replicas": {"type": "integer"},
        "when": {"type": "string", "format": "date-time"},
        "half": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "multipleOf": 0.5},
        "maybe": {"type": "string", "nullable": True},
        "counts": {
            "type": "object",
            "maxProperties": 1,
            "additionalProperties": {"type": "integer"},
        },
        "either": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "nest": {
            "type": "object",
            "default": {},
            "properties": {"deep": {"type": "string", "default": "x"}},
        },
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
            },
        },
    },
}
STATUS: JSON = {
    "type": "object",
    "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
}
DOORS: JSON = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    },
}
FILLED = {"color": "red", "nest": {"deep": "x"}, "size": 3}


def definition(kind: str, plural: str, **version: Any) -> JSON:
    schema = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
    described: JSON = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": DOORS,
        **version,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [described],
        },
    }


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> None:
    """A real server does what follows from a definition in its own time."""
    for _ in range(int(PATIENCE_S / POLL_S)):
        if await is_so():
            return
        await asyncio.sleep(POLL_S)
    raise AssertionError("it did not become so")


class Custom:
    """One custom kind, in a namespace of the case."""

    def __init__(self, place: Place, kind: str, plural: str) -> None:
        self.wire = Wire.of(place)
        self.namespace = place.namespace
        self.resource: Resource[Any] = Resource(kind, plural, GROUP, "v1", True, dict[str, Any])
        self.definition = DEFINITIONS.ref(f"{plural}.{GROUP}")
        DYNAMIC[kind] = self.resource

    def body(self, **version: Any) -> JSON:
        """The definition."""
        return definition(self.resource.kind, self.resource.plural, **version)

    async def define(self, **version: Any) -> Answer:
        answer = await self.wire.create(DEFINITIONS, self.body(**version))
        assert answer.code in {201, 409}, answer.message
        await eventually(lambda: self.wire.is_served(self.resource))
        return answer

    async def until_refused(self, spec: JSON) -> None:
        """Wait until a changed definition is in force: then this spec is refused."""

        numbers = itertools.count()

        async def is_refused() -> bool:
            return (await self.create(f"probe-{next(numbers)}", spec)).code == 422

        await eventually(is_refused)

    def ref(self, name: str) -> Ref:
        return self.resource.ref(name, self.namespace)

    async def create(self, name: str, spec: JSON | None = None, **parts: Any) -> Answer:
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        body = {**head, "metadata": {"name": name, **parts.pop("metadata", {})}, **parts}
        if spec is not None:
            body["spec"] = spec
        return await self.wire.create(self.resource, body, namespace=self.namespace)


def own(place: Place, stem: str) -> Custom:
    """A kind of this case alone."""
    plural = f"{stem}{place.unique}s"
    return Custom(place, plural[:-1].capitalize(), plural)
