"""What a request's body is, as JSON; or why it cannot be read.

JSON and YAML come in, objects as deep and as big as the real server takes them and no more. What
JSON could not say (NaN, numbers without end, half characters) does not get past here.

Must not: know any kind.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml
from aiohttp import web

from unmoor.model.base import JSON
from unmoor.runtime.ports import ApiError, PatchType
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.fields import problems
from unmoor.sim.http import protobuf

LIMIT_BYTES = 3 * 2**20
DEPTH_LIMIT = 200
"""Deeper objects are refused; the kinds we serve are a tenth as deep at most."""
YAML_NODES_LIMIT = 200_000
"""What the aliases of a YAML document may grow to."""

PROTOBUF = "application/vnd.kubernetes.protobuf"
OBJECT_TYPES = ("application/json", "application/yaml", PROTOBUF)
PATCHES: dict[str, PatchType] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE = re.compile(rf"(?P<pair>{_HIGH}{_LOW})|{_HIGH}|{_LOW}|(?P<other>\\[^uU])")
_WORDS: dict[type, str] = {str: "string", bool: "bool", list: "array", dict: "object"}
_TOO_DEEP = "exceeded max depth"


async def read(request: web.Request) -> bytes:
    """The whole body; raises 413 for one that is too big, 415 for one that is packed."""
    packing = request.headers.get("Content-Encoding", "identity")
    if packing.lower() not in {"", "identity"}:
        text = f"the body of the request was packed as {packing}; only identity is served"
        raise status.failure(415, "UnsupportedMediaType", text)
    if request.content_length is not None and request.content_length > LIMIT_BYTES:
        raise _too_large()
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > LIMIT_BYTES:
            raise _too_large()
    return bytes(body)


def _too_large() -> ApiError:
    text = f"Request entity too large: limit is {LIMIT_BYTES}"
    return status.failure(413, "RequestEntityTooLarge", text, {})


def media_type(request: web.Request, default: str = "application/json") -> str:
    """The body's content type without its parameters."""
    return (request.headers.get("Content-Type") or default).split(";", 1)[0].strip().lower()


def patch_type(request: web.Request) -> PatchType:
    """How a PATCH is meant; raises 415 for another kind of patch."""
    found = PATCHES.get(media_type(request, ""))
    if found is None:
        raise _unsupported(PATCHES)
    return found


def _unsupported(accepted: Any) -> ApiError:
    text = "the body of the request was in an unknown format - accepted media types include: "
    return status.failure(415, "UnsupportedMediaType", text + ", ".join(accepted))


class Unreadable(ValueError):
    """A body that is no JSON, in the decoder's words."""


def decoded(body: bytes, media: str) -> Any:
    """The JSON that a body says; raises 400."""
    try:
        return _decoded(body, media)
    except Unreadable as error:
        raise status.bad_request(f"couldn't get version/kind; {error}") from None


def decoded_patch(body: bytes, media: str) -> Any:
    """The same, of a patch."""
    try:
        return _decoded(body, media)
    except Unreadable as error:
        said = str(error).removeprefix("json parse error: ")
        raise status.bad_request(f"error decoding patch: {said}") from None


def decoded_object(body: bytes, media: str, kind: str) -> JSON:
    """The same, of a body that has to be an object of a kind."""
    unrecognized = f"the object provided is unrecognized (must be of type {kind}): "
    try:
        value = _decoded(body, media)
        _hold_identity(value)
    except Unreadable as error:
        raise status.bad_request(f"{unrecognized}couldn't get version/kind; {error}") from None
    assert isinstance(value, dict)
    meta = value.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        text = f"json: cannot unmarshal {_word(meta)} into Go struct field {kind}.metadata of type"
        raise status.bad_request(f"{kind} cannot be handled as a {kind}: {text} v1.ObjectMeta")
    return value


def _hold_identity(value: Any) -> None:
    if not isinstance(value, dict):
        raise Unreadable(f"json parse error: json: cannot unmarshal {_word(value)} into an object")
    for name in ("kind", "apiVersion"):
        found = value.get(name)
        if not isinstance(found or "", str):
            text = f"json: cannot unmarshal {_word(found)} into Go struct field .{name}"
            raise Unreadable(f"json parse error: {text} of type string")


def _word(value: Any) -> str:
    return _WORDS.get(type(value), "number")


def _decoded(body: bytes, media: str) -> Any:
    if media == PROTOBUF:
        try:
            return protobuf.decoded(body)
        except protobuf.NotProtobuf as error:
            raise Unreadable(str(error)) from None
    if media not in {"application/json", "application/yaml", *PATCHES}:
        raise _unsupported(OBJECT_TYPES)
    try:
        value = _from_yaml(body) if media.endswith("yaml") else _from_json(body)
    except RecursionError:
        raise Unreadable(f"json parse error: {_TOO_DEEP}") from None
    if body.count(b"{") + body.count(b"[") > DEPTH_LIMIT:
        _hold_depth(value)
    if _LONG_NUMBER.search(body):
        value = _with_real_numbers(value)
    return value


def _from_json(body: bytes) -> Any:
    """JSON; what is no text in it becomes the sign for that (as the real server reads it)."""
    try:
        return msgspec.json.decode(body)
    except msgspec.MsgspecError as first:
        said = first
    text = _LONE.sub(_whole, body.decode(errors="replace"))
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        start = body.strip()[:1].decode(errors="replace")
        if not start:
            raise Unreadable("json parse error: unexpected end of JSON input") from None
        if start not in '{["-0123456789tfn':
            why = f"invalid character '{start}' looking for beginning of value"
            raise Unreadable(f"json parse error: {why}") from None
        raise Unreadable(f"json parse error: {said}") from None


def _whole(found: re.Match[str]) -> str:
    """Two halves of a character stay, one is replaced."""
    return found[0] if found["pair"] or found["other"] else "\\ufffd"


def doubled(body: bytes, media: str) -> tuple[str, ...]:
    """Fields that an object has twice, by path; the later value counts."""
    if media == PROTOBUF or (media.endswith("yaml") and not body.lstrip().startswith(b"{")):
        return ()
    try:
        value = msgspec.json.decode(body)
        if len(msgspec.json.encode(value)) == len(body.strip()):
            return ()  # What was said twice would have made it longer.
        return problems.read(body)[1]
    except (ValueError, RecursionError):
        return ()


def _hold_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH_LIMIT):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return
    raise Unreadable(f"json parse error: {_TOO_DEEP}")


def _with_real_numbers(value: Any) -> Any:
    """Numbers too big for 64 bits are floating (as Go reads them)."""
    if isinstance(value, dict):
        return {name: _with_real_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_real_numbers(inner) for inner in value]
    if isinstance(value, int) and not _INT_MIN <= value <= _INT_MAX:
        if value.bit_length() > 1000:  # noqa: PLR2004
            raise Unreadable("json parse error: number out of range")
        return float(value)
    return value


# ---------------------------------------------------------------------------------------- YAML


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as JSON: no dates, no binary, no sets."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _from_yaml(body: bytes) -> Any:
    if body.lstrip().startswith(b"{"):
        return _from_json(body)
    try:
        text = body.decode()
        return _Plain().copy(yaml.load(text, Loader=_Loader), 0)  # noqa: S506 - a safe loader
    except Unreadable:
        raise
    except (ValueError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise Unreadable(f"yaml: {said}") from None


class _Plain:
    """A copy in which nothing is shared, and nothing is but what JSON has."""

    def __init__(self) -> None:
        self._nodes = 0

    def copy(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > YAML_NODES_LIMIT:
            raise ValueError("its aliases make it too big")
        if depth > DEPTH_LIMIT:
            raise Unreadable(f"json parse error: {_TOO_DEEP}")
        match value:
            case dict():
                return {_key(name): self.copy(inner, depth + 1) for name, inner in value.items()}
            case list():
                return [self.copy(inner, depth + 1) for inner in value]
            case float() if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124
                raise ValueError(f"{value} is no number that JSON has")
            case None | bool() | int() | float() | str():
                return value
            case _:
                raise ValueError(f"{type(value).__name__} is nothing that JSON has")


def _key(name: Any) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, bool):
        return "true" if name else "false"
    if isinstance(name, (int, float)):
        return str(name)
    raise ValueError(f"{name!r} cannot be a field's name")
