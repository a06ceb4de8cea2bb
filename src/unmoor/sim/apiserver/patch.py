"""What an object becomes under a JSON merge patch (RFC 7386) or a JSON patch (RFC 6902).

Both return new objects that share what did not change, and the very same object when nothing did.

Must not: know any kind; strategic merge patch, which does, is in ``strategic``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from unmoor.model.base import JSON

OPERATIONS_LIMIT = 10_000
"""More operations in one JSON patch are refused (as the real server does)."""
COPIES_LIMIT_BYTES = 3 * 2**20
"""What the copies of one JSON patch may come to, or a few lines could fill the memory."""


class PatchError(ValueError):
    """An operation of a JSON patch that does not apply."""


def is_same(old: Any, new: Any) -> bool:
    """Equal as JSON: True is not 1."""
    return type(old) is type(new) and old == new


def merge(target: JSON, patch: JSON) -> JSON:
    """Apply a merge patch: null removes, objects merge, everything else replaces."""
    result: JSON | None = None
    for name, value in patch.items():
        if value is None:
            if name in target:
                result = dict(target) if result is None else result
                result.pop(name, None)
            continue
        old = target.get(name)
        if isinstance(value, dict):
            # A patch may bring a whole object; nulls in it mean nothing and are left out.
            new = merge(old if isinstance(old, dict) else {}, value)
            if new is old:
                continue
        elif is_same(old, value):
            continue
        else:
            new = value
        result = dict(target) if result is None else result
        result[name] = new
    return target if result is None else result


def apply(document: Any, operations: list[JSON]) -> Any:
    """Apply a JSON patch, all or nothing. Raises PatchError naming the operation that failed."""
    copied_bytes = 0
    for operation in operations:
        if operation.get("op") == "copy":
            copied_bytes += len(msgspec.json.encode(_copied(document, operation)))
            if copied_bytes > COPIES_LIMIT_BYTES:
                raise PatchError("its copies are too big")
        document = _applied(document, operation)
    return document


def _applied(document: Any, operation: JSON) -> Any:
    name = operation.get("op")
    path = _parts(operation.get("path"))
    match name:
        case "add":
            return _edit(document, path, "add", _value(operation))
        case "replace":
            return _edit(document, path, "replace", _value(operation))
        case "remove":
            return _edit(document, path, "remove", None)
        case "copy":
            return _edit(document, path, "add", _copied(document, operation))
        case "move":
            source = _parts(operation.get("from"))
            value = _read(document, source)
            return _edit(_edit(document, source, "remove", None), path, "add", value)
        case "test":
            try:
                found = _read(document, path)
            except PatchError:
                found = None
            if found != operation.get("value"):
                raise PatchError(f"test of {operation.get('path')} failed")
            return document
        case _:
            raise PatchError(f"unknown operation {name!r}")


def _copied(document: Any, operation: JSON) -> Any:
    """A member that is not there is copied as null (as the real server does)."""
    source = _parts(operation.get("from"))
    try:
        return _read(document, source)
    except PatchError:
        if source and isinstance(_read(document, source[:-1]), dict):
            return None
        raise


def _value(operation: JSON) -> Any:
    if "value" not in operation:
        raise PatchError(f"{operation.get('op')} of {operation.get('path')} has no value")
    return operation["value"]


def _parts(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchError(f"{pointer!r} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _index(items: list[Any], part: str, limit: int) -> int:
    try:
        index = int(part)
    except ValueError:
        raise PatchError(f"{part!r} is no index") from None
    if index < 0:
        index += len(items)  # The real server counts from the end, too.
    if not 0 <= index <= limit:
        raise PatchError(f"index {part} is out of bounds")
    return index


def _read(document: Any, path: list[str]) -> Any:
    for part in path:
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list):
            document = document[_index(document, part, len(document) - 1)]
        else:
            raise PatchError(f"there is no {part!r}")
    return document


def _edit(document: Any, path: list[str], how: str, value: Any) -> Any:
    """Copy along the path, and add, replace or remove at its end."""
    if not path:
        if how == "remove":
            raise PatchError("the whole document cannot be removed")
        return value
    part, rest = path[0], path[1:]
    if isinstance(document, dict):
        return _edit_member(document, part, rest, (how, value))
    if isinstance(document, list):
        return _edit_item(document, part, rest, (how, value))
    raise PatchError(f"{part!r} is in nothing")


def _edit_member(document: JSON, name: str, rest: list[str], what: tuple[str, Any]) -> JSON:
    how, value = what
    if rest:
        if name not in document:
            raise PatchError(f"there is no {name!r}")
        return {**document, name: _edit(document[name], rest, how, value)}
    if how == "remove":
        if name not in document:
            raise PatchError(f"there is no {name!r} to remove")
        return {key: kept for key, kept in document.items() if key != name}
    return {**document, name: value}


def _edit_item(items: list[Any], part: str, rest: list[str], what: tuple[str, Any]) -> list[Any]:
    how, value = what
    copy = list(items)
    if rest:
        index = _index(items, part, len(items) - 1)
        copy[index] = _edit(items[index], rest, how, value)
    elif how == "add":
        copy.insert(len(items) if part == "-" else _index(items, part, len(items)), value)
    elif how == "remove":
        del copy[_index(items, part, len(items) - 1)]
    else:
        copy[_index(items, part, len(items) - 1)] = value
    return copy
