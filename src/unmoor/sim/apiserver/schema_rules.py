"""What a schema asks of single values: bounds, lengths, patterns, formats, choices.

Each keyword becomes a check when the schema is read, so that an object pays for what its schema
says and for nothing else.

Must not: walk through objects; ``schema`` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from unmoor.model.base import JSON
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.status import Cause

Check: TypeAlias = Callable[[Any, str], Iterator[Cause]]

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_EVERY_TYPE = ("array", "boolean", "integer", "null", "number", "object", "string")


def type_of(value: Any) -> str:
    """What JSON calls a value's type."""
    match value:
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case _:
            return "null"


def checks_of(schema: JSON) -> dict[str, tuple[Check, ...]]:
    """The checks of one place, by the type of the value that stands there."""
    found: dict[str, list[Check]] = {}
    if "enum" in schema:
        for name in _EVERY_TYPE:
            found.setdefault(name, []).append(_choice(schema["enum"]))
    if any(word in schema for word in ("maxLength", "minLength", "pattern")):
        found.setdefault("string", []).append(_text(schema))
    if schema.get("format") == "date-time":
        found.setdefault("string", []).append(_date_time)
    if any(word in schema for word in ("minimum", "maximum", "multipleOf")):
        for name in ("integer", "number"):
            found.setdefault(name, []).append(_number(schema))
    if any(word in schema for word in ("minItems", "maxItems")):
        check = _count(schema.get("minItems", 0), schema.get("maxItems"), "items")
        found.setdefault("array", []).append(check)
    if any(word in schema for word in ("minProperties", "maxProperties")):
        check = _count(schema.get("minProperties", 0), schema.get("maxProperties"), "properties")
        found.setdefault("object", []).append(check)
    kind = schema.get("x-kubernetes-list-type")
    if kind in {"set", "map"}:
        keys = schema.get("x-kubernetes-list-map-keys") or () if kind == "map" else ()
        found.setdefault("array", []).append(_unique(tuple(keys)))
    return {name: tuple(checks) for name, checks in found.items()}


def _choice(choices: list[Any]) -> Check:
    listed = tuple(str(one) for one in choices)

    def check(value: Any, where: str) -> Iterator[Cause]:
        if value not in choices:
            yield status.unsupported(where, value, listed)

    return check


def _text(schema: JSON) -> Check:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    pattern = _compiled(schema.get("pattern", ""))

    def check(value: str, where: str) -> Iterator[Cause]:
        if most is not None and len(value) > most:
            text = f"Too long: may not be more than {most} bytes"
            yield Cause("FieldValueTooLong", text, where)
        elif len(value) < least:
            text = f"{where} in body should be at least {least} chars long"
            yield status.bad_value(where, value, text)
        elif pattern is not None and not pattern.search(value):
            text = f"{where} in body should match '{schema['pattern']}'"
            yield status.bad_value(where, value, text)

    return check


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """A pattern that is written for RE2 and that we cannot read holds nobody up."""
    if not pattern:
        return None
    try:
        # There "$" is the end, here it may be followed by a line break.
        return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))
    except re.error:
        return None


def _date_time(value: str, where: str) -> Iterator[Cause]:
    if not _DATE_TIME.fullmatch(value):
        text = f'Invalid value: "{value}": {where} in body must be of type date-time: "{value}"'
        yield Cause("FieldValueTypeInvalid", text, where)


def _number(schema: JSON) -> Check:
    least, most, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    is_least_out, is_most_out = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")

    def check(value: float, where: str) -> Iterator[Cause]:
        said = ""
        if least is not None and (value < least or (is_least_out and value == least)):
            said = f"greater than {'' if is_least_out else 'or equal to '}{least}"
        elif most is not None and (value > most or (is_most_out and value == most)):
            said = f"less than {'' if is_most_out else 'or equal to '}{most}"
        elif step and abs(value / step - round(value / step)) > 1e-9:  # noqa: PLR2004
            said = f"a multiple of {step}"
        if said:
            yield status.bad_value(where, value, f"{where} in body should be {said}")

    return check


def _count(least: int, most: int | None, what: str) -> Check:
    def check(value: Any, where: str) -> Iterator[Cause]:
        count = len(value)
        if most is not None and count > most:
            items = "item" if most == 1 else "items"
            text = f"Too many: {count}: must have at most {most} {items}"
            yield Cause("FieldValueTooMany", text, where)
        elif count < least:
            text = f"{where} in body should have at least {least} {what}"
            yield status.bad_value(where, count, text)

    return check


def _unique(keys: tuple[str, ...]) -> Check:
    def check(value: list[Any], where: str) -> Iterator[Cause]:
        seen: list[Any] = []
        for index, item in enumerate(value):
            named = item
            if keys and isinstance(item, dict):
                named = {key: item[key] for key in keys if key in item}
            if named in seen:
                text = f"Duplicate value: {status.shown(named)}"
                yield Cause("FieldValueDuplicate", text, f"{where}[{index}]")
            seen.append(named)

    return check
