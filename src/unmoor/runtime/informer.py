"""List, then watch, for ever: how a sink is kept equal to the server.

One task for each kind. A list gives everything as of a version; the watch continues from it; a
bookmark moves the version on; 410 ("too old") lists again; anything else that fails is tried again
from the last version, after a growing, jittered pause. So there is never a gap: what a cut watch
did not bring, the next one replays or the next list shows.

Must not: know what the objects mean. An object that cannot be read is handed on as such.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from unmoor.model.kinds import Resource
from unmoor.runtime.ports import (
    ALL,
    Api,
    ApiError,
    Bookmark,
    Broken,
    Change,
    Clock,
    PortError,
    Query,
)

PAGE_SIZE = 500
"""Objects in one page of a list: what client-go asks for."""
PAUSE_MIN_S = 0.2
PAUSE_MAX_S = 10.0
"""Pause before a failed list or watch is tried again: doubles from the first to the second."""


class Sink(Protocol):
    """What an informer keeps current. ``runtime.store.Store`` is one."""

    def replace(
        self,
        resource: Resource[Any],
        objects: Iterable[Any],
        version: str,
        broken: Iterable[Broken] = (),
    ) -> None:
        """Take a complete list as of a version; ``broken`` are in it but cannot be read."""
        ...

    def put(self, resource: Resource[Any], obj: Any) -> None:
        """Take an object's new state."""
        ...

    def drop(self, resource: Resource[Any], obj: Any) -> None:
        """Take an object's deletion, with its last state."""
        ...

    def mark_broken(self, resource: Resource[Any], broken: Broken) -> None:
        """Take note of an object that cannot be read."""
        ...


Jitter = Callable[[], float]
"""A number from 0 to 1; seeded in the simulator."""
Report = Callable[[Resource[Any], str], None]
"""Called with a kind and what went wrong, for logs and metrics."""


def _ignore(_resource: Resource[Any], _problem: str) -> None:
    """Report to nobody."""


class Informer:
    """Keeps a sink equal to the server for some kinds, until cancelled."""

    def __init__(
        self, api: Api, sink: Sink, clock: Clock, *, jitter: Jitter, report: Report = _ignore
    ) -> None:
        """Use ``run`` for each set of kinds; ``is_synced`` tells when all have been listed."""
        self._api = api
        self._sink = sink
        self._clock = clock
        self._jitter = jitter
        self._report = report
        self._waiting: set[str] = set()
        self._synced = asyncio.Event()

    @property
    def is_synced(self) -> bool:
        """Every kind has been listed at least once."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Wait until every kind has been listed at least once."""
        await self._synced.wait()

    async def run(
        self, resources: Sequence[Resource[Any]], queries: Mapping[str, Query] | None = None
    ) -> None:
        """Follow these kinds until cancelled; ``queries`` narrows a kind by name."""
        self._waiting = {resource.kind for resource in resources}
        async with asyncio.TaskGroup() as tasks:
            for resource in resources:
                query = (queries or {}).get(resource.kind, ALL)
                tasks.create_task(self._follow(resource, query))

    async def _follow(self, resource: Resource[Any], query: Query) -> None:
        version = ""
        failures = 0
        while True:
            try:
                if not version:
                    version = await self._list(resource, query)
                    self._waiting.discard(resource.kind)
                    if not self._waiting:
                        self._synced.set()
                    failures = 0
                before = version
                async for event in self._api.watch(resource, query, since=version):
                    version = self._take(resource, event, version)
                # The server closes a watch now and then; one that brought nothing waits a little.
                failures = 0 if version != before else max(failures, 1)
            except ApiError as error:
                if error.code == 410:  # noqa: PLR2004
                    version = ""
                failures += 1
                self._report(resource, str(error))
            except PortError as error:
                failures += 1
                self._report(resource, str(error))
            await self._pause(failures)

    async def _list(self, resource: Resource[Any], query: Query) -> str:
        objects: list[Any] = []
        after = ""
        broken: list[Broken] = []
        while True:
            page = await self._api.list(resource, query, limit=PAGE_SIZE, after=after)
            objects += page.items
            broken += page.broken
            after = page.next
            if not after:
                break
        self._sink.replace(resource, objects, page.resource_version, broken)
        for one in broken:
            self._report(resource, f"{one.ref} cannot be read: {one.problem}")
        return page.resource_version

    def _take(self, resource: Resource[Any], event: Any, version: str) -> str:
        match event:
            case Bookmark():
                return event.resource_version
            case Broken():
                self._sink.mark_broken(resource, event)
                self._report(resource, f"{event.ref} cannot be read: {event.problem}")
                return event.resource_version or version
            case Change(type="DELETED"):
                self._sink.drop(resource, event.object)
            case _:
                self._sink.put(resource, event.object)
        return _version_of(event.object) or version

    async def _pause(self, failures: int) -> None:
        if failures == 0:
            return
        longest = min(PAUSE_MIN_S * 2 ** min(failures - 1, 10), PAUSE_MAX_S)
        await self._clock.sleep(longest * (0.5 + 0.5 * self._jitter()))


def _version_of(obj: Any) -> str:
    """The resourceVersion of a struct or of plain JSON."""
    if isinstance(obj, dict):
        return str(obj.get("metadata", {}).get("resourceVersion", ""))
    return str(obj.metadata.resource_version)
