"""What do the server's bytes mean? From JSON straight into frozen structs, one codec for each kind.

The fast path decodes a whole page, or one watch event, in one go. Only when that fails is the text
looked at again, object by object: servers do send ``null`` where the API reference promises a list
(``"drivers": null``), which means "nothing there"; and an object that still does not fit is
``Broken``, reported and passed over, so that one odd object cannot blind us to the rest.

Must not: keep objects, but for parts that many of them have in common (``sharing``).
"""

from __future__ import annotations

import functools
from typing import Any, Generic, Literal, TypeVar

import msgspec

from unmoor.kube.sharing import Sharing
from unmoor.model.base import JSON, without_nulls
from unmoor.model.kinds import Resource
from unmoor.runtime.broken import broken_of
from unmoor.runtime.ports import Bookmark, Broken, Change, Page, WatchEvent

T = TypeVar("T")


class Malformed(ValueError):
    """Text that is not what an API server sends at all: cut off, or somebody else's."""


class ServerSaid(Exception):
    """An ERROR event in a watch; ``status`` is its Status."""

    def __init__(self, status: JSON) -> None:
        """Carry the Status to whoever knows what errors look like."""
        super().__init__("the watch ended with an ERROR event")
        self.status = status


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str | None = None
    next: str | None = msgspec.field(default=None, name="continue")


class _List(msgspec.Struct, Generic[T], frozen=True, gc=False):
    # No default: an answer without items is not a list. A null is one without objects.
    items: tuple[T, ...] | None
    metadata: _ListMeta | None = None
    kind: str = ""


class _Event(msgspec.Struct, Generic[T], frozen=True, gc=False):
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: T


class _RawEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


_RAW_LIST = msgspec.json.Decoder(_List[msgspec.Raw])
_RAW_EVENT = msgspec.json.Decoder(_RawEvent)
_KIND = msgspec.json.Decoder(_Kind)
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@functools.cache
def codec_of(resource: Resource[T]) -> Codec[T]:
    """The codec of a kind; building its decoders takes a millisecond, so it is done once."""
    return Codec(resource)


class Codec(Generic[T]):
    """Decodes what the server says about one kind."""

    def __init__(self, resource: Resource[T]) -> None:
        """Build the decoders for ``resource.type``."""
        self._kind = resource.kind
        self._type = resource.type
        # The parameters exist at run time only, so no type checker can follow.
        item: Any = resource.type
        self._one: msgspec.json.Decoder[T] = msgspec.json.Decoder(item)
        self._list: msgspec.json.Decoder[_List[T]] = msgspec.json.Decoder(_List[item])
        self._event: msgspec.json.Decoder[_Event[T]] = msgspec.json.Decoder(_Event[item])
        self._share = Sharing(resource.type).share

    def page(self, text: bytes) -> Page[T]:
        """One page of a list. Raises Malformed."""
        try:
            page = self._list.decode(text)
        except _FAILURES:
            return self._page_by_item(text)
        return self._checked(page, page.items or (), ())

    def _page_by_item(self, text: bytes) -> Page[T]:
        try:
            page = _RAW_LIST.decode(text)
        except _FAILURES as error:
            raise Malformed(f"the list of {self._kind} cannot be read: {error}") from None
        decoded = [self._object(bytes(item)) for item in page.items or ()]
        items = tuple(one for one in decoded if not isinstance(one, Broken))
        broken = tuple(one for one in decoded if isinstance(one, Broken))
        return self._checked(page, items, broken)

    def _checked(
        self, page: _List[Any], items: tuple[T, ...], broken: tuple[Broken, ...]
    ) -> Page[T]:
        if page.kind not in {"", "List", f"{self._kind}List"}:
            raise Malformed(f"a list of {self._kind} was asked for, and a {page.kind[:40]} came")
        for item in items:
            self._share(item)
        meta = page.metadata or _ListMeta()
        return Page(items, broken, meta.resource_version or "", meta.next or "")

    def check_kind(self, line: bytes) -> None:
        """Raise Malformed when this line of a watch is about another kind."""
        try:
            event = _RAW_EVENT.decode(line)
            kind = _KIND.decode(event.object).kind
        except _FAILURES:
            return  # to read it will fail, too, and say why
        if event.type != "ERROR" and kind not in {"", self._kind}:
            raise Malformed(f"a watch of {self._kind} was asked for, and a {kind[:40]} came")

    def event(self, line: bytes) -> WatchEvent[T]:
        """One line of a watch. Raises Malformed, and ServerSaid for an ERROR event."""
        try:
            event = self._event.decode(line)
        except _FAILURES:
            return self._other_event(line)
        self._share(event.object)
        return Change(event.type, event.object)

    def _other_event(self, line: bytes) -> WatchEvent[T]:
        try:
            event = _RAW_EVENT.decode(line)
        except _FAILURES as error:
            raise Malformed(f"a watch event of {self._kind} cannot be read: {error}") from None
        text = bytes(event.object)
        match event.type:
            case "ADDED" | "MODIFIED" | "DELETED":
                decoded = self._object(text)
                if not isinstance(decoded, Broken):
                    return Change(event.type, decoded)
                return msgspec.structs.replace(decoded, is_deleted=event.type == "DELETED")
            case "BOOKMARK":
                return Bookmark(_version(_lenient(text)))
            case "ERROR":
                raise ServerSaid(_lenient(text))
            case _:
                raise Malformed(f"a watch event of {self._kind} has type {event.type[:40]!r}")

    def _object(self, text: bytes) -> T | Broken:
        """One object, with its nulls taken for "nothing there" if need be."""
        try:
            return self._one.decode(text)
        except _FAILURES:
            pass
        try:
            return msgspec.convert(without_nulls(_OBJECT.decode(text)), self._type)
        except _FAILURES as error:
            return broken_of(self._kind, _lenient(text), error)


def decode_object(text: bytes) -> JSON:
    """Any one object as plain JSON. Raises Malformed."""
    try:
        return _OBJECT.decode(text)
    except _FAILURES as error:
        raise Malformed(f"the answer is not a JSON object: {error}") from None


def _lenient(text: bytes) -> JSON:
    """Whatever can be read of an object that does not decode, bad characters replaced."""
    try:
        return _OBJECT.decode(text.decode(errors="replace"))
    except _FAILURES:
        return {}


def _version(obj: JSON) -> str:
    meta = obj.get("metadata")
    value = meta.get("resourceVersion") if isinstance(meta, dict) else ""
    return value if isinstance(value, str) else ""
