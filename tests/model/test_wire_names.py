"""Every field of our structs exists in the real API under the name that we decode.

A misspelt wire name (``providerId``) decodes to its default without a word, so each one is compared
with what a real API server says about itself (``hack/openapi_fields.py`` wrote it down).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

import unmoor.sim
from unmoor.model import base
from unmoor.model.kinds import KINDS, Resource

SIMULATED = Path(unmoor.sim.__file__).parent / "data"
REAL = json.loads((Path(__file__).parent / "data" / "openapi-fields.json").read_text())
KINDS_THAT_ARE_REAL: dict[str, str] = REAL["kinds"]
SCHEMAS: dict[str, dict[str, str]] = REAL["schemas"]


class Place(msgspec.Struct, frozen=True, order=True):
    """A field of ours somewhere in a kind, and the real fields at that place."""

    kind: str
    path: str
    is_real: bool


def structs_in(kind: inspect.Type) -> Iterator[inspect.StructType]:
    """The structs that a field may hold, directly, in a tuple, or as values of a dict."""
    match kind:
        case inspect.StructType():
            yield kind
        case inspect.UnionType(types=types):
            for one in types:
                yield from structs_in(one)
        case inspect.VarTupleType(item_type=item):
            yield from structs_in(item)
        case inspect.DictType(value_type=value):
            yield from structs_in(value)
        case _:
            return


def places(kind: str, struct: inspect.StructType, schema: str, path: str) -> Iterator[Place]:
    real = SCHEMAS[schema]
    for field in struct.fields:
        here = f"{path}{field.encode_name}"
        yield Place(kind, here, field.encode_name in real)
        for inner in structs_in(field.type):
            if real.get(field.encode_name):
                yield from places(kind, inner, real[field.encode_name], f"{here}.")


def places_of(kind: str) -> list[Place]:
    struct = inspect.type_info(KINDS[kind].type)
    assert isinstance(struct, inspect.StructType)
    return list(places(kind, struct, KINDS_THAT_ARE_REAL[kind], ""))


@pytest.mark.parametrize("kind", KINDS_THAT_ARE_REAL)
def test_each_field_has_a_name_that_the_api_knows(kind: str) -> None:
    unknown = {(place.kind, place.path) for place in places_of(kind) if not place.is_real}

    assert unknown == set()


def test_what_was_read_off_the_real_api_has_every_built_in_kind() -> None:
    """One list each, made by a script: what fields there are, their schemas, their protobuf."""
    ours = [one for one in KINDS.values() if one.is_built_in]
    schemas = json.loads((SIMULATED / "openapi.json").read_text())["schemas"].values()
    modelled = [each for one in schemas for each in one.get("x-kubernetes-group-version-kind", ())]
    encoded = json.loads((SIMULATED / "wire.json").read_text())["kinds"]

    assert {one.kind for one in ours} == set(KINDS_THAT_ARE_REAL), "run hack.openapi_fields"
    lacking = [o.kind for o in ours if identity_of(o) not in modelled]
    assert lacking == [], "run hack.openapi_extract"
    lacking = [o.kind for o in ours if f"{o.api_version}/{o.kind}" not in encoded]
    assert lacking == [], "add them to hack/controlplane/wire/main.go, and run hack.wire_extract"


def identity_of(resource: Resource[Any]) -> dict[str, str]:
    return {"group": resource.group, "kind": resource.kind, "version": resource.version}


@pytest.mark.parametrize(
    ("group", "expected"),
    [("", True), ("apps", True), ("storage.k8s.io", True), ("karpenter.k8s.aws", False)],
)
def test_what_kubernetes_brings_along(group: str, *, expected: bool) -> None:
    assert Resource("Kind", "kinds", group, "v1", False, base.Object).is_built_in is expected


def test_a_misspelt_name_is_found() -> None:
    class Spec(base.Struct):
        provider_id: str = ""  # without an explicit name this is providerId

    class Node(base.Object):
        spec: Spec = Spec()

    struct: Any = inspect.type_info(Node)

    found = places("Node", struct, KINDS_THAT_ARE_REAL["Node"], "")

    assert [place.path for place in found if not place.is_real] == ["spec.providerId"]
