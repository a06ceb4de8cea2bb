"""What a custom object may look like: the schema of its CRD, for pruning and for types.

What the schema does not know is dropped without a word; a value of the wrong type is refused. Both
are what a real API server does with the CRDs that we install, so a field that is missing in a CRD
gets lost in a rehearsal as it would in a cluster.

Must not: judge ``metadata``, which every kind has alike; or run CEL rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.status import Cause

PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
_SERVER_FIELDS = ("apiVersion", "kind", "metadata")


class Schema:
    """The schema of one version of one custom kind."""

    __slots__ = ("_properties", "_required", "root")

    def __init__(self, root: JSON) -> None:
        """Take ``openAPIV3Schema`` as the CRD has it."""
        self.root = root
        self._properties: JSON = root.get("properties") or {}
        self._required: tuple[str, ...] = tuple(root.get("required") or ())

    def prune(self, obj: JSON) -> JSON:
        """The object without what the schema does not know; itself when nothing has to go."""
        if self.root.get(PRESERVE):
            return obj
        new = {}
        for name, value in obj.items():
            if name in _SERVER_FIELDS:
                new[name] = value
            elif name in self._properties:
                new[name] = _pruned(self._properties[name], value)
        is_same = len(new) == len(obj) and all(new[name] is obj[name] for name in new)
        return obj if is_same else new

    def causes(self, obj: JSON) -> list[Cause]:
        """What is wrong with the object, sorted by field."""
        found: list[Cause] = [
            status.required(name) for name in self._required if obj.get(name) is None
        ]
        for name, value in obj.items():
            if name not in _SERVER_FIELDS and name in self._properties:
                found += _causes(self._properties[name], value, name)
        return sorted(found, key=lambda cause: cause.field)


def _pruned(schema: JSON, value: Any) -> Any:
    if schema.get(PRESERVE):
        return value
    if isinstance(value, list):
        return _pruned_list(schema.get("items") or {}, value)
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties")
    others = schema.get("additionalProperties")
    if properties is None and others is None:
        return value if not value else {}
    new = {}
    for name, inner in value.items():
        if properties is not None and name in properties:
            new[name] = _pruned(properties[name], inner)
        elif others:
            new[name] = _pruned(others, inner) if isinstance(others, dict) else inner
    is_same = len(new) == len(value) and all(new[name] is value[name] for name in new)
    return value if is_same else new


def _pruned_list(items: JSON, value: list[Any]) -> list[Any]:
    new = [_pruned(items, one) for one in value]
    return value if all(a is b for a, b in zip(new, value, strict=True)) else new


def _type_of(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
        case _:
            return "null"


def _fits(wanted: str, found: str, value: Any) -> bool:
    if wanted == "number":
        return found in {"number", "integer"}
    if wanted == "integer" and found == "number":
        return float(value).is_integer()
    return wanted == found


def _causes(schema: JSON, value: Any, where: str) -> Iterator[Cause]:
    found = _type_of(value)
    if schema.get(INT_OR_STRING):
        if found not in {"integer", "string"}:
            yield _mistyped(where, "integer,string", found)
        return
    wanted = schema.get("type", "")
    if wanted and not _fits(wanted, found, value):
        yield _mistyped(where, wanted, found)
        return
    if "enum" in schema and value not in schema["enum"]:
        yield status.unsupported(where, value, tuple(str(one) for one in schema["enum"]))
    check = _BOUNDS.get(found)
    if check is not None:
        yield from check(schema, value, where)


def _mistyped(where: str, wanted: str, found: str) -> Cause:
    text = f'Invalid value: "{found}": {where} in body must be of type {wanted}: "{found}"'
    return Cause("FieldValueTypeInvalid", text, where)


def _object_causes(schema: JSON, value: JSON, where: str) -> Iterator[Cause]:
    for name in schema.get("required") or ():
        if name not in value:
            yield status.required(f"{where}.{name}")
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for name, inner in value.items():
        known = properties.get(name, others if isinstance(others, dict) else None)
        if known is not None:
            yield from _causes(known, inner, f"{where}.{name}")


def _array_causes(schema: JSON, value: list[Any], where: str) -> Iterator[Cause]:
    items = schema.get("items")
    if items:
        for index, one in enumerate(value):
            yield from _causes(items, one, f"{where}[{index}]")


def _string_causes(schema: JSON, value: str, where: str) -> Iterator[Cause]:
    least = schema.get("minLength", 0)
    if len(value) < least:
        text = f"{where} in body should be at least {least} chars long"
        yield status.bad_value(where, value, text)


def _integer_causes(schema: JSON, value: int, where: str) -> Iterator[Cause]:
    for bound, word, is_beyond in (
        ("minimum", "greater", value < schema.get("minimum", value)),
        ("maximum", "less", value > schema.get("maximum", value)),
    ):
        if is_beyond:
            text = f"{where} in body should be {word} than or equal to {schema[bound]}"
            yield status.bad_value(where, value, text)


_BOUNDS: dict[str, Callable[[JSON, Any, str], Iterator[Cause]]] = {
    "object": _object_causes,
    "array": _array_causes,
    "string": _string_causes,
    "integer": _integer_causes,
}


def schemas_of(definitions: tuple[JSON, ...]) -> dict[str, Schema]:
    """The schema of each custom kind, by the kind's name."""
    found = {}
    for definition in definitions:
        spec = definition["spec"]
        version = next(one for one in spec["versions"] if one.get("storage"))
        found[spec["names"]["kind"]] = Schema(version["schema"]["openAPIV3Schema"])
    return found
