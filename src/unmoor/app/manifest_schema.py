"""Has a manifest the fields of its kind, each of the right type?

The schemas are the API's own: for built-in kinds those of the real server, for ours those of the
definitions. A field that they do not know is an error, too: it is a slip of the finger, and a
server would drop it.

Must not: judge what a well-typed value means; the server of the rehearsal does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from math import inf
from typing import Any

from unmoor.model import names, quantity
from unmoor.model.base import JSON
from unmoor.model.crds import all_crds
from unmoor.model.kinds import Resource
from unmoor.model.validation import cut

PRESERVE = "x-kubernetes-preserve-unknown-fields"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
MOST = {"int32": 2**31 - 1, "int64": 2**63 - 1}
HINT_CHARS_MIN = 3
"""A shorter name is near to everything."""
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
}


def problems(resource: Resource[Any], body: JSON) -> Iterator[str]:
    """Everything that is wrong: field, value and remedy."""
    metadata = {"$ref": META}
    for field, value in body.items():
        if field in {"apiVersion", "kind"} or value is None:
            continue
        schema = metadata if field == "metadata" else _schema_of(resource)["properties"].get(field)
        if schema is None:
            yield _unknown(field, field, _schema_of(resource)["properties"])
        else:
            yield from _check(schema, value, field)


def _schema_of(resource: Resource[Any]) -> JSON:
    return _known()[resource.group, resource.version, resource.kind]


@cache
def _components() -> dict[str, JSON]:
    text = (resources.files("unmoor") / "sim/data/openapi.json").read_text(encoding="utf-8")
    found: dict[str, JSON] = json.loads(text)["schemas"]
    return found


@cache
def _known() -> dict[tuple[str, str, str], JSON]:
    """The schema of each kind, by group, version and kind."""
    found = {
        (one["group"], one["version"], one["kind"]): schema
        for schema in _components().values()
        for one in schema.get("x-kubernetes-group-version-kind", ())
    }
    for definition in all_crds():
        spec = definition["spec"]
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            found[spec["group"], version["name"], spec["names"]["kind"]] = schema
    return found


def _resolved(schema: JSON) -> tuple[JSON, str]:
    """The schema itself where it refers to another, and the other's name."""
    name = ""
    while True:
        (inner,) = schema.get("allOf") or (schema,)
        if "$ref" not in inner:
            return inner, name
        name = inner["$ref"].rpartition("/")[2]
        schema = _components()[name]


def _check(schema: JSON, value: Any, where: str) -> Iterator[str]:
    schema, name = _resolved(schema)
    wanted = [one["type"] for key in ("oneOf", "anyOf") for one in schema.get(key, ())]
    wanted = wanted or ([schema["type"]] if "type" in schema else [])
    if wanted and not any(_fits(one, value) for one in wanted):
        yield f"{where} is {_shown(value)}: write {_article(wanted)}"
    elif name == QUANTITY and not quantity.is_quantity(value):
        yield f"{where} is {_shown(value)}: write a quantity, as in 500m or 2Gi"
    elif schema.get(PRESERVE):
        return
    elif isinstance(value, dict):
        yield from _check_object(schema, value, where)
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _check(schema.get("items", {}), one, f"{where}[{index}]")
    elif isinstance(value, int | float) and abs(value) > (
        most := MOST.get(schema.get("format", ""), inf)
    ):
        yield f"{where} is {_shown(value)}: write a number from -{most} to {most}"


def _check_object(schema: JSON, value: JSON, where: str) -> Iterator[str]:
    properties = schema.get("properties")
    others = schema.get("additionalProperties")
    for field in schema.get("required", ()):
        if value.get(field) is None:
            yield f"{where}.{field} is missing: write {_expected(properties or {}, field)}"
    if properties is None and others is None:
        return  # an object of any shape
    for field, inner in value.items():
        known = (properties or {}).get(field, others)
        path = f"{where}.{field}"
        if known is None:
            yield _unknown(path, field, properties or {})
        elif field in (properties or {}) and inner is None:
            continue  # as if it were not there
        elif isinstance(known, dict):
            yield from _check(known, inner, path)


def _fits(wanted: str, value: object) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    if isinstance(value, float) and wanted == "integer":
        return value.is_integer()
    return isinstance(value, TYPES[wanted])


def _expected(properties: JSON, field: str) -> str:
    schema, _ = _resolved(properties.get(field, {}))
    return _article([schema.get("type", "value")])


def _article(wanted: Iterable[str]) -> str:
    return " or ".join(f"{'an' if one[0] in 'aio' else 'a'} {one}" for one in wanted)


def _unknown(path: str, field: str, properties: Iterable[str]) -> str:
    meant = names.nearest(field, properties) if len(field) >= HINT_CHARS_MIN else ""
    return f"{cut(path)} is no field: " + (f"write {meant}" if meant else "remove it")


def _shown(value: object) -> str:
    return cut("null" if value is None else repr(value))
