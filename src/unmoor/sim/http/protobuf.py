"""What does a body of a Go client say? Protobuf, read into the JSON that means the same.

Clients of Kubernetes made in Go send built-in kinds so. The table of messages is extracted from
the API's own types; what it does not know is skipped, as any protobuf reader does. Answers are
JSON: every such client takes it.

Must not: write protobuf, or know any kind.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from typing import Any, TypeAlias

import msgspec

from unmoor.model.base import JSON

MAGIC = b"k8s\x00"
DEPTH_LIMIT = 100
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_SECONDS = -62_135_596_800
_SECONDS_LIMIT = 253_402_300_800  # the year 10,000
_PLAIN = ("string", "bytes", "bool", "int")
_OPTIONS = "DeleteOptions"

Field: TypeAlias = tuple[str, str, str]
"""Name, type, and flags: r(epeated), i(nline), o(mitted when empty), p(ointer)."""
Raw: TypeAlias = int | bytes


class NotProtobuf(ValueError):
    """Bytes that are no message, or one that means nothing here."""


class _Table(msgspec.Struct, frozen=True):
    kinds: dict[str, str]
    messages: dict[str, dict[int, Field]]


@lru_cache(maxsize=1)
def _table() -> _Table:
    text = resources.files("unmoor.sim").joinpath("data", "wire.json").read_bytes()
    return msgspec.json.decode(text, type=_Table)


def decoded(body: bytes) -> JSON:
    """The object in an envelope, with its kind; raises NotProtobuf."""
    if not body.startswith(MAGIC):
        raise NotProtobuf("provided data does not appear to be a protobuf message")
    identity, raw = b"", b""
    for number, value in _fields(body[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            identity = value
        elif number == 2 and isinstance(value, bytes):  # noqa: PLR2004
            raw = value
    names = {number: _text(value) for number, value in _fields(identity)}
    version, kind = names.get(1, ""), names.get(2, "")
    known = f"meta.k8s.io/v1/{_OPTIONS}" if kind == _OPTIONS else f"{version}/{kind}"
    message = _table().kinds.get(known)
    if message is None:
        raise NotProtobuf(f'no kind "{kind}" is registered for version "{version}"')
    return {"apiVersion": version, "kind": kind, **_message(message, raw, 0)}


# ----------------------------------------------------------------------------------------- messages


def _message(name: str, data: bytes, depth: int) -> JSON:
    if depth > DEPTH_LIMIT:
        raise NotProtobuf("exceeded max depth")
    known = _table().messages[name]
    found: JSON = {}
    for number, raw in _fields(data):
        field = known.get(number)
        if field is not None:
            _put(found, field, raw, depth)
    return {key: value for key, value in found.items() if value is not _NOTHING}


_NOTHING: Any = object()


def _put(found: JSON, field: Field, raw: Raw, depth: int) -> None:
    name, kind, flags = field
    if kind.startswith("map "):
        key, value = _entry(kind[4:], _bytes(raw), depth)
        found.setdefault(name, {})[key] = value
    elif "r" in flags:
        values = _packed(raw) if kind in {"int", "bool"} and isinstance(raw, bytes) else [raw]
        found.setdefault(name, []).extend(_value(kind, one, depth) for one in values)
    elif "i" in flags:
        found.update(_value(kind, raw, depth))
    else:
        value = _value(kind, raw, depth)
        is_empty = "o" in flags and "p" not in flags and value in ("", 0, False, None, {})
        # A later field of the same number counts, so one that is empty must not vanish at once.
        found[name] = _NOTHING if is_empty else value


def _entry(kind: str, data: bytes, depth: int) -> tuple[str, Any]:
    key: str = ""
    value: Any = _empty(kind)
    for number, raw in _fields(data):
        if number == 1:
            key = _text(raw)
        elif number == 2:  # noqa: PLR2004
            value = _value(kind, raw, depth + 1)
    return key, value


def _empty(kind: str) -> Any:
    empty: dict[str, Any] = {"string": "", "bytes": "", "bool": False, "int": 0, "quantity": "0"}
    return empty.get(kind)


def _value(kind: str, raw: Raw, depth: int) -> Any:
    read = _READERS.get(kind)
    if read is not None:
        return read(raw)
    if kind.startswith("items "):
        return [_value(kind[6:], one, depth + 1) for _, one in _fields(_bytes(raw))]
    return _message(kind, _bytes(raw), depth + 1)


def _bool(raw: Raw) -> bool:
    return bool(_int(raw))


def _int(raw: Raw) -> int:
    if not isinstance(raw, int):
        raise NotProtobuf("a number is missing")
    return raw - 2**64 if raw >= 2**63 else raw


def _bytes(raw: Raw) -> bytes:
    if not isinstance(raw, bytes):
        raise NotProtobuf("a message is missing")
    return raw


def _text(raw: Raw) -> str:
    try:
        return _bytes(raw).decode()
    except UnicodeDecodeError:
        raise NotProtobuf("string field contains invalid UTF-8") from None


def _base64(raw: Raw) -> str:
    return base64.b64encode(_bytes(raw)).decode()


def _numbers(raw: Raw) -> dict[int, Raw]:
    return dict(_fields(_bytes(raw)))


def _time(raw: Raw, digits: int = 0) -> str | None:
    parts = _numbers(raw)
    if not parts:
        return None
    seconds, nanos = _int(parts.get(1, 0)), _int(parts.get(2, 0))
    if not _NEVER_SECONDS < seconds < _SECONDS_LIMIT or not 0 <= nanos < 10**9:
        return None  # Before the year 1 is how Go says "never".
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06d}Z" if digits else f"{text}Z"


def _micro_time(raw: Raw) -> str | None:
    return _time(raw, 6)


def _quantity(raw: Raw) -> str:
    return _text(_numbers(raw).get(1, b"0"))


def _int_or_string(raw: Raw) -> int | str:
    parts = _numbers(raw)
    if _int(parts.get(1, 0)) == 1:
        return _text(parts.get(3, b""))
    return _int(parts.get(2, 0))


def _raw_json(raw: Raw) -> Any:
    text = _bytes(_numbers(raw).get(1, b""))
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        raise NotProtobuf("embedded JSON cannot be read") from None


_READERS: dict[str, Callable[[Raw], Any]] = {
    "string": _text,
    "bytes": _base64,
    "bool": _bool,
    "int": _int,
    "time": _time,
    "micro-time": _micro_time,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "raw": _raw_json,
}


# --------------------------------------------------------------------------------------------- wire


def _fields(data: bytes) -> Iterator[tuple[int, Raw]]:
    """Number and content of each field."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise NotProtobuf("illegal tag 0")
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in {_FIXED64, _FIXED32}:
            size = 8 if wire == _FIXED64 else 4
        else:
            raise NotProtobuf(f"illegal wireType {wire}")
        if position + size > end:
            raise NotProtobuf("unexpected EOF")
        if wire == _BYTES:
            yield number, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:  # noqa: PLR2004
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:  # noqa: PLR2004
            return value & (2**64 - 1), position
        shift += 7
    raise NotProtobuf("unexpected EOF" if shift < 70 else "integer overflow")  # noqa: PLR2004


def _packed(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value
