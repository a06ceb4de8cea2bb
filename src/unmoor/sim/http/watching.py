"""How is a watch told? One line of JSON for each event, until it ends.

What is there to tell is sent in one piece; a client that does not read holds up only itself. An
error after the first byte is an ERROR event, as is a version that is too old.

Must not: decide what is told; ``apiserver.watch`` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from aiohttp import web

from unmoor.model.base import JSON
from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver.server import Listing, Server
from unmoor.sim.apiserver.watch import Watch
from unmoor.sim.http.answers import Shaper, encoded
from unmoor.sim.http.parameters import ListOptions
from unmoor.sim.http.target import Target

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
DEFAULT_TIMEOUT_S = 1800
CHUNK_BYTES = 64 * 1024
"""About as much is sent in one piece."""


class Stream:
    """One watch on its way to one client."""

    def __init__(self, server: Server, target: Target, options: ListOptions) -> None:
        """Look at the server at once, so that a refusal is a plain answer."""
        self._server, self._options = server, options
        self._first: list[JSON] = []
        self._end_of_first = ""
        self._error: ApiError | None = None
        self._watch: Watch | None = None
        self._told_any = False
        resource = target.served.resource
        since = options.version
        try:
            if options.initial:
                listing: Listing = server.list(resource, options.query)
                self._first = list(listing.items)
                since = self._end_of_first = listing.resource_version
            self._watch = server.watch(resource, options.query, since=since)
        except ApiError as error:
            if error.reason != "Expired":
                raise
            self._error = error

    async def send(
        self,
        response: web.StreamResponse,
        shaper: Shaper,
        wall: Callable[[], datetime],
        *,
        pace: float = 1.0,
    ) -> None:
        """Tell everything until the time is up, the server closes the watch or nobody listens."""
        timeout_s = self._options.timeout_s
        if timeout_s is None or timeout_s <= 0:
            timeout_s = DEFAULT_TIMEOUT_S
        try:
            async with asyncio.timeout(timeout_s * pace):
                await self._send(response, shaper, wall)
        except TimeoutError:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Forget the watch."""
        if self._watch is not None:
            self._watch.is_open = False

    async def _send(
        self, response: web.StreamResponse, shaper: Shaper, wall: Callable[[], datetime]
    ) -> None:
        for obj in self._first:
            await response.write(self._line(shaper, "ADDED", obj, wall()))
        if self._options.initial and self._options.bookmarks and self._error is None:
            ended = {INITIAL_EVENTS_END: "true"}
            await response.write(self._bookmark(shaper, self._end_of_first, ended))
        while self._watch is not None:
            lines = self._ready(shaper, wall())
            if lines:
                await response.write(b"".join(lines))
            elif self._error is None and self._watch.is_open:
                await _something(self._watch)
            else:
                break
        if self._error is not None:
            await response.write(encoded({"type": "ERROR", "object": self._error.status}) + b"\n")

    def _ready(self, shaper: Shaper, now: datetime) -> list[bytes]:
        """What can be told now, up to a piece."""
        watch = self._watch
        assert watch is not None
        lines: list[bytes] = []
        size = 0
        while size < CHUNK_BYTES:
            try:
                told = watch.next()
            except ApiError as error:
                self._error = error
                break
            if told is not None:
                lines.append(self._line(shaper, told[0], told[1], now))
            elif watch.take_bookmark() and self._options.bookmarks:
                lines.append(self._bookmark(shaper, str(watch.seen), {}))
            else:
                break
            size += len(lines[-1])
        return lines

    def _line(self, shaper: Shaper, change: str, obj: JSON, now: datetime) -> bytes:
        is_first, self._told_any = not self._told_any, True
        return encoded(shaper.event(change, obj, now, is_first=is_first)) + b"\n"

    def _bookmark(self, shaper: Shaper, version: str, annotations: dict[str, str]) -> bytes:
        is_first, self._told_any = not self._told_any, True
        return encoded(shaper.bookmark(version, annotations, is_first=is_first)) + b"\n"


async def _something(watch: Watch) -> None:
    """Wait until there may be something to tell."""
    future = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not future.done():
            future.set_result(None)

    watch.when_ready(wake)
    await future
