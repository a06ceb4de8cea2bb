"""The direct face of the embedded API server: the ``Api`` port without a wire.

Decodes as the production client does, from raw JSON to the kind's struct, once for each version of
an object however many read it. Never yields to other tasks unless a watch has nothing to tell: a
wrapper at the port adds latency and faults where a rehearsal wants them.

Must not: be a shortcut; what the HTTP face cannot do, this one cannot do either.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Literal, TypeVar, cast

import msgspec

from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource
from unmoor.runtime.broken import broken_of
from unmoor.runtime.ports import (
    ALL,
    Bookmark,
    Broken,
    Change,
    Clock,
    DeleteOptions,
    Page,
    PatchType,
    Query,
    WatchEvent,
)
from unmoor.sim.apiserver.server import Server
from unmoor.sim.apiserver.terms import PLAIN, Terms

T = TypeVar("T")

BOOKMARK_EVERY_S = 60.0
"""How often a real server tells quiet watchers how far they are."""
CACHE_LIMIT_OBJECTS = 200_000
"""Decoded objects that are remembered for each type; then all are forgotten."""

MANAGER = "unmoor"
"""Who owns what is written here, when nobody says otherwise."""

_NO_OPTIONS = DeleteOptions()


class Decoder:
    """Raw JSON to structs, remembered by type and uid for the latest version seen."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[Any, dict[str, tuple[str, Any]]] = {}

    def decode(self, resource: Resource[T], obj: JSON) -> T | Broken:
        """The object as ``resource.type``, or why it cannot be read as such."""
        wanted: Any = resource.type
        if wanted == _RAW:
            return cast("T", obj)
        meta = obj["metadata"]
        known = self._known.setdefault(wanted, {})
        uid, version = meta["uid"], meta["resourceVersion"]
        found = known.get(uid)
        if found is not None and found[0] == version:
            return cast("T | Broken", found[1])
        try:
            decoded: T | Broken = msgspec.convert(obj, wanted)
        except msgspec.ValidationError as error:
            decoded = broken_of(resource.kind, obj, error)
        if len(known) >= CACHE_LIMIT_OBJECTS:
            known.clear()
        known[uid] = (version, decoded)
        return decoded


_RAW = dict[str, Any]


class DirectApi:
    """The ``Api`` port on a server in the same process."""

    def __init__(
        self, server: Server, decoder: Decoder | None = None, *, manager: str = MANAGER
    ) -> None:
        """Several faces of one server may share a decoder. ``manager``: who owns what we write."""
        self._server = server
        self._decoder = decoder or Decoder()
        self._terms = Terms(manager=manager) if server.manners.tracks_managers else PLAIN
        self._apply_terms = Terms(manager=manager, force=True)
        """An apply takes fields over from other managers, as controllers should."""

    async def list(
        self, resource: Resource[T], query: Query = ALL, *, limit: int = 0, after: str = ""
    ) -> Page[T]:
        """One page of a list."""
        listing = self._server.list(resource, query, limit=limit, after=after)
        items: list[T] = []
        broken: list[Broken] = []
        for obj in listing.items:
            decoded = self._decoder.decode(resource, obj)
            if isinstance(decoded, Broken):
                broken.append(decoded)
            else:
                items.append(decoded)
        return Page(tuple(items), tuple(broken), listing.resource_version, listing.next)

    async def watch(
        self, resource: Resource[T], query: Query = ALL, *, since: str
    ) -> AsyncIterator[WatchEvent[T]]:
        """Changes after a version, for as long as the server keeps the watch open."""
        watch = self._server.watch(resource, query, since=since)
        decode = self._decoder.decode
        try:
            while True:
                told = watch.next()
                if told is not None:
                    decoded = decode(resource, told[1])
                    yield _event(told[0], decoded)
                elif watch.take_bookmark():
                    yield Bookmark(str(watch.seen))
                elif watch.is_open:
                    ready = asyncio.get_running_loop().create_future()
                    watch.when_ready(partial(_wake, ready))
                    await ready
                else:
                    return
        finally:
            watch.is_open = False

    async def get(self, ref: Ref) -> JSON:
        """One object as it is now."""
        return self._server.get(ref)

    async def create(
        self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
    ) -> JSON:
        """POST."""
        return self._server.create(
            ref, _as_sent(body), subresource=subresource, dry_run=dry_run, terms=self._terms
        )

    async def replace(self, ref: Ref, body: JSON, *, subresource: str = "") -> JSON:
        """PUT."""
        sent = _as_sent(body)
        return self._server.replace(ref, sent, subresource=subresource, terms=self._terms)

    async def patch(
        self,
        ref: Ref,
        body: Any,
        *,
        how: PatchType = "merge",
        subresource: str = "",
        dry_run: bool = False,
    ) -> JSON:
        """PATCH."""
        sent = _as_sent(body)
        terms = self._apply_terms if how == "apply" else self._terms
        return self._server.patch(
            ref, sent, how=how, subresource=subresource, dry_run=dry_run, terms=terms
        )

    async def delete(self, ref: Ref, options: DeleteOptions = _NO_OPTIONS) -> JSON:
        """DELETE."""
        return self._server.delete(ref, options)


def _event(change: Literal["ADDED", "MODIFIED", "DELETED"], decoded: T | Broken) -> WatchEvent[T]:
    if not isinstance(decoded, Broken):
        return Change(change, decoded)
    return msgspec.structs.replace(decoded, is_deleted=change == "DELETED")


async def send_bookmarks(
    server: Server, clock: Clock, *, every_s: float = BOOKMARK_EVERY_S
) -> None:
    """Tell every watcher how far it is, now and then, until cancelled."""
    while True:
        await clock.sleep(every_s)
        server.send_bookmarks()


def _as_sent(body: Any) -> Any:
    """What is left of a body on a wire: plain JSON that nobody else holds."""
    return msgspec.json.decode(msgspec.json.encode(body))


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
