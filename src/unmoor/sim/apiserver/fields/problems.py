"""What is wrong with the form of an object: wrong types, unknown fields, doubled names.

Three readers of a real API server complain in three ways, and here are all of them: the decoder of
built-in kinds stops at the first wrong type, strict reading lists what is unknown, and an applied
configuration is told everything at once.

Must not: judge values of the right type; ``checks`` does.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from unmoor.model import quantity
from unmoor.model.base import JSON
from unmoor.sim.apiserver.fields.paths import DuplicateKey, element_of, text_of
from unmoor.sim.apiserver.fields.shape import ANY, Shape

QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)")
_LAYOUTS = {"time": "2006-01-02T15:04:05Z07:00", "micro-time": "2006-01-02T15:04:05.000000Z07:00"}
_WORDS = {str: "string", bool: "bool", list: "array", dict: "object"}
_LIMITS = {"int32": 2**31, "int64": 2**63}


# ------------------------------------------------------------------------- the wrong type


def wrong_type(shape: Shape, obj: Any) -> str:
    """What a decoder of built-in kinds says to the first value of a wrong type; "" to none."""
    return next(_wrong(shape, obj, shape.short, ""), "")


def _wrong(shape: Shape, value: Any, owner: str, path: str) -> Iterator[str]:
    if value is None or shape.kind == "any":
        return
    match shape.kind:
        case "map":
            yield from _wrong_map(shape, value, owner, path)
        case "list":
            if not isinstance(value, list):
                yield _unfit(value, owner, path, shape.go_type)
                return
            for item in value:
                yield from _wrong(shape.element or ANY, item, owner, path)
        case "quantity":
            if not quantity.is_quantity(value):
                yield QUANTITY_RULE
        case _:
            yield from _wrong_scalar(shape, value, owner, path)


def _wrong_map(shape: Shape, value: Any, owner: str, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _unfit(value, owner, path, shape.go_type)
        return
    for name, inner in value.items():
        field = shape.fields.get(name)
        if field is not None:
            yield from _wrong(field, inner, shape.short, f"{path}.{name}" if path else name)
        elif shape.element is not None:
            yield from _wrong(shape.element, inner, owner, path)


def _wrong_scalar(shape: Shape, value: Any, owner: str, path: str) -> Iterator[str]:
    kind = shape.kind
    is_right = {
        "integer": _is_integer(shape, value),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "int-or-string": isinstance(value, str) or _is_integer(shape, value),
    }.get(kind, isinstance(value, str))
    if not is_right:
        yield _unfit(value, owner, path, shape.go_type)
    elif kind in _LAYOUTS and not _TIME.fullmatch(value):
        layout = _LAYOUTS[kind]
        rest = '"" as "2006"' if not value else f'"{value}" as "2006"'
        yield f'parsing time "{value}" as "{layout}": cannot parse {rest}'
    elif kind == "bytes":
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            yield f"illegal base64 data at input byte {_first_bad_byte(value)}"


def _first_bad_byte(text: str) -> int:
    found = re.search(r"[^A-Za-z0-9+/]", text)
    return found.start() if found else len(text) // 4 * 4


def _is_integer(shape: Shape, value: Any) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    limit = _LIMITS.get(shape.go_type, _LIMITS["int64"])
    return -limit <= value < limit


def word(value: Any) -> str:
    """What JSON calls a value of this type."""
    return _WORDS.get(type(value), "number")


def _unfit(value: Any, owner: str, path: str, go_type: str) -> str:
    found = word(value)
    if found == "number" and go_type.startswith("int"):
        found = f"number {json.dumps(value)}"
    where = f"Go struct field {owner}.{path}" if path else "Go value"
    return f"json: cannot unmarshal {found} into {where} of type {go_type}"


# -------------------------------------------------------------------- unknown and doubled fields


def unknown(shape: Shape, obj: JSON) -> list[str]:
    """The paths of fields that the schema does not know, in the order of the object."""
    return list(_unknown(shape, obj, ""))


def _unknown(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            where = f"{path}.{name}" if path else name
            child = shape.child(name)
            if child is None:
                if shape.kind == "map":
                    yield where
            else:
                yield from _unknown(child, inner, where)
    elif isinstance(value, list) and shape.element is not None:
        for index, item in enumerate(value):
            yield from _unknown(shape.element, item, f"{path}[{index}]")


def known(shape: Shape, value: Any) -> Any:
    """The value without the fields that the schema does not know."""
    if isinstance(value, dict) and shape.kind == "map":
        children = ((name, shape.child(name), inner) for name, inner in value.items())
        return {name: known(child, inner) for name, child, inner in children if child is not None}
    if isinstance(value, list) and shape.element is not None:
        return [known(shape.element, item) for item in value]
    return value


class _Doubled(dict[str, Any]):
    """An object in whose text a name stood twice."""

    names: tuple[str, ...] = ()


def read(text: bytes | str) -> tuple[Any, tuple[str, ...]]:
    """Parse JSON; return it with the paths of names that an object had twice. Raises ValueError."""
    found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    return found, tuple(_doubled(found, ""))


def _no_constant(name: str) -> Any:
    raise ValueError(f"invalid character '{name[0]}' looking for beginning of value")


def _object(pairs: list[tuple[str, Any]]) -> JSON:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    doubled = _Doubled(found)
    doubled.names = tuple(
        dict.fromkeys(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    )
    return doubled


def _doubled(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _doubled(inner, f"{path}.{name}" if path else name)
        if isinstance(value, _Doubled):
            yield from (f"{path}.{name}" if path else name for name in value.names)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _doubled(item, f"{path}[{index}]")


# -------------------------------------------------------------------- an applied configuration


def misfits(shape: Shape, config: JSON) -> list[str]:
    """What an applied configuration is told, each with its path, sorted."""
    return sorted(_misfits(shape, config, ()))


def _misfits(shape: Shape, value: Any, path: tuple[str, ...]) -> Iterator[str]:
    if value is None or shape.kind == "any":
        return
    where = text_of(path)
    match shape.kind:
        case "map":
            if not isinstance(value, dict):
                yield f"{where}: expected map, got {_in_go(value)}"
                return
            for name, inner in value.items():
                child = shape.child(name)
                if child is None:
                    yield f"{where}.{name}: field not declared in schema"
                else:
                    yield from _misfits(child, inner, (*path, f"f:{name}"))
        case "list":
            if not isinstance(value, list):
                yield f"{where}: expected list, got {_in_go(value)}"
            else:
                yield from _misfit_items(shape, value, path)
        case _:
            yield from _misfit_scalar(shape, value, where)


def _misfit_items(shape: Shape, items: list[Any], path: tuple[str, ...]) -> Iterator[str]:
    seen = set()
    for index, item in enumerate(items):
        element = f"i:{index}"
        if not shape.is_atomic:
            try:
                element = element_of(shape, item)
            except DuplicateKey as missing:
                text = "associative list with keys has an element that omits key field"
                where = f"{text_of(path)}: element {index}"
                yield f'{where}: {text} "{missing}" (and doesn\'t have default value)'
                continue
            if element in seen:
                key = text_of((element,))
                yield f"{text_of(path)}: duplicate entries for key {key}"
            seen.add(element)
        yield from _misfits(shape.element or ANY, item, (*path, element))


def _misfit_scalar(shape: Shape, value: Any, where: str) -> Iterator[str]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match shape.kind:
        case "integer" | "number":
            if not is_number:
                yield f"{where}: expected numeric (int or float), got {_type_in_go(value)}"
        case "boolean":
            if not isinstance(value, bool):
                yield f"{where}: expected boolean, got {_in_go(value)}"
        case "quantity" | "int-or-string":
            if isinstance(value, dict | list):
                text = "expected scalar (string, number or boolean)"
                yield f"{where}: {text}, got {_type_in_go(value)}"
        case _:
            if not isinstance(value, str):
                yield f"{where}: expected string, got {_in_go(value)}"


def _type_in_go(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case _:
            return "map[string]interface {}"


def _in_go(value: Any) -> str:
    """As Go's ``%v`` shows it in the places where a real server does."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"&value.valueUnstructured{{Value:{value}}}"
    return f"&{{{in_go(value)}}}"


def in_go(value: Any) -> str:
    """As Go's ``%v`` shows a value."""
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{' '.join(in_go(one) for one in value)}]"
        case dict():
            return f"map[{' '.join(f'{key}:{in_go(one)}' for key, one in sorted(value.items()))}]"
        case None:
            return "<nil>"
        case _:
            return str(value)
