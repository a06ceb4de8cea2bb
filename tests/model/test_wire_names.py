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

from unmoor.model import base
from unmoor.model.kinds import KINDS

REAL = json.loads((Path(__file__).parent / "data" / "openapi-fields.json").read_text())
KINDS_THAT_ARE_REAL: dict[str, str] = REAL["kinds"]
SCHEMAS: dict[str, dict[str, str]] = REAL["schemas"]

CUSTOM = {"karpenter.sh", "karpenter.k8s.aws", "unmoor.dev", "sim.unmoor.dev"}
NOT_EVERYWHERE = {
    # A DaemonSet has no replicas; one struct reads the specs of all four workload kinds.
    ("DaemonSet", "spec.replicas"),
}


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

    assert unknown - NOT_EVERYWHERE == set()


def test_every_exception_is_still_needed() -> None:
    compared = [place for kind in KINDS_THAT_ARE_REAL for place in places_of(kind)]

    assert {(place.kind, place.path) for place in compared if not place.is_real} >= NOT_EVERYWHERE


def test_every_built_in_kind_is_compared() -> None:
    assert {k for k, resource in KINDS.items() if resource.group not in CUSTOM} == set(
        KINDS_THAT_ARE_REAL
    )


def test_a_misspelt_name_is_found() -> None:
    class Spec(base.Struct):
        provider_id: str = ""  # without an explicit name this is providerId

    class Node(base.Object):
        spec: Spec = Spec()

    struct: Any = inspect.type_info(Node)

    found = places("Node", struct, KINDS_THAT_ARE_REAL["Node"], "")

    assert [place.path for place in found if not place.is_real] == ["spec.providerId"]
