"""List, then watch, for ever: how a sink is kept equal to the server.

One task for each kind. A list gives everything as of a version; the watch continues from it; a
bookmark moves the version on; 410 ("too old") lists again; anything else that fails is tried again
from the last version, after a growing, jittered pause, and after a few times by a list. So there is
never a gap: what a cut watch did not bring, the next one replays or the next list shows.

A connection can die without a word to either end. A server tells even a quiet watch how far it is,
about once a minute; so one that says nothing at all for ``watch_silence_s`` is opened again, and
when that one says nothing either, a list is made.

A change that cannot be read, not even whom it is about, may have been a deletion. Only a list can
tell, so one follows soon.

Must not: know what the objects mean. An object that cannot be read is handed on as such.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from unmoor.model.cadence import Cadence
from unmoor.model.kinds import Resource
from unmoor.model.observation import ASKED_PAUSE_MAX_S
from unmoor.runtime.ports import (
    ALL,
    Api,
    ApiError,
    Bookmark,
    Broken,
    Change,
    Clock,
    Page,
    PortError,
    Query,
    Unreachable,
)

PAGE_SIZE = 500
"""Objects in one page of a list: what client-go asks for."""
GOOD_WATCH_S = 5.0
"""A watch that lasted this long was a good one, even if nothing happened in it."""
WATCH_FAILURES_MAX = 5
"""After so many failures in a row to go on from a version, it is given up and a list made: the
server may have been restored from a backup in which that version has not come yet."""
PAGE_FAILURES_MAX = 5
"""After so many failures in a row to get the next page of a list, it is begun again."""
SILENCES_MAX = 2
"""After so many watches in a row that said nothing, a list is made."""
LIST_AFTER_BROKEN_S = 60.0
"""From a change of nobody knows whom until the kind is listed again."""
_GONE = 410


class Sink(Protocol):
    """What an informer keeps current. ``runtime.store.Store`` is one."""

    def begin(self, resource: Resource[Any]) -> None:
        """Know that a list is asked for now."""
        ...

    def replacing(
        self,
        resource: Resource[Any],
        objects: Sequence[Any],
        version: str,
        broken: Sequence[Broken] = (),
    ) -> Iterator[None]:
        """Take a complete list as of a version, a little at each step of the iterator.

        ``broken`` are in the list but cannot be read.
        """
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


def ignore(_resource: Resource[Any], _problem: str) -> None:
    """Report to nobody."""


class _PagesExpired(ApiError):
    """The server does not know any more what the next page of a list was to be (410)."""


class _Place:
    """How far the sink has followed one kind. ``version`` "": a list is needed."""

    __slots__ = ("asked_s", "failures", "list_at", "silences", "version")

    def __init__(self) -> None:
        self.version = ""
        self.failures = 0
        self.silences = 0
        self.list_at: float | None = None
        self.asked_s = 0.0


class Informer:
    """Keeps a sink equal to the server for some kinds, until cancelled."""

    def __init__(
        self,
        api: Api,
        sink: Sink,
        clock: Clock,
        *,
        jitter: Jitter,
        report: Report = ignore,
        cadence: Callable[[], Cadence] = Cadence,
    ) -> None:
        """Use ``run`` for each set of kinds; ``is_synced`` tells when all have been listed.

        ``cadence``: the intervals as they are set now.
        """
        self._api = api
        self._sink = sink
        self._clock = clock
        self._jitter = jitter
        self._report = report
        self._cadence = cadence
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
        self._waiting |= {resource.kind for resource in resources}
        if self._waiting:
            self._synced.clear()
        else:
            self._synced.set()
        async with asyncio.TaskGroup() as tasks:
            for resource in resources:
                query = (queries or {}).get(resource.kind, ALL)
                tasks.create_task(
                    self._follow(resource, query), name=f"informer of {resource.plural}"
                )

    async def _follow(self, resource: Resource[Any], query: Query) -> None:
        place = _Place()
        while True:
            try:
                await self._go_on(resource, query, place)
            except PortError as error:
                place.failures += 1
                if isinstance(error, ApiError):
                    place.asked_s = error.retry_after_s or 0.0
                    if error.code == _GONE:
                        place.version = ""
                self._report(resource, str(error))
            if place.failures and place.failures % WATCH_FAILURES_MAX == 0:
                place.version = ""
            await self._pause(place)

    async def _go_on(self, resource: Resource[Any], query: Query, place: _Place) -> None:
        """List if need be, then watch until the server closes it or a list is due."""
        if not place.version:
            place.list_at = None
            place.version = await self._list(resource, query)
            self._has_listed(resource)
        opened_at, before = self._clock.now().mono, place.version
        is_good = False
        try:
            await self._watch(resource, query, place)
        finally:
            is_good = self._clock.now().mono >= opened_at + GOOD_WATCH_S
            # A list alone is no success: where each watch is refused, the pause must grow.
            if is_good or place.version != before:
                place.failures = 0
        if not is_good:
            # The server closes a watch now and then, but not so soon.
            place.failures += 1

    async def _watch(self, resource: Resource[Any], query: Query, place: _Place) -> None:
        limit = asyncio.timeout_at(place.list_at)
        silence = _Silence(self._cadence().watch_silence_s, limit)
        try:
            async with limit:
                async for event in self._api.watch(resource, query, since=place.version):
                    silence.begin_anew()
                    place.silences = 0
                    place.version = self._take(resource, event, place.version)
                    if _leaves_doubt(event) and place.list_at is None:
                        place.list_at = self._clock.now().mono + LIST_AFTER_BROKEN_S
                        limit.reschedule(place.list_at)
        except TimeoutError:
            if not silence.has_lasted:
                place.version = ""
                return
            place.silences += 1
            if place.silences >= SILENCES_MAX:
                place.silences = 0
                place.version = ""
        finally:
            silence.end()

    def _has_listed(self, resource: Resource[Any]) -> None:
        self._waiting.discard(resource.kind)
        if not self._waiting:
            self._synced.set()

    async def _list(self, resource: Resource[Any], query: Query) -> str:
        try:
            return await self._list_pages(resource, query, PAGE_SIZE)
        except _PagesExpired as error:
            # The rest of the pages is no longer to be had: take everything in one answer.
            self._report(resource, str(error))
            return await self._list_pages(resource, query, 0)

    async def _list_pages(self, resource: Resource[Any], query: Query, limit: int) -> str:
        self._sink.begin(resource)
        page = await self._api.list(resource, query, limit=limit)
        objects, broken = list(page.items), list(page.broken)
        while page.next:
            before, page = page, await self._next_page(resource, query, limit, page.next)
            if page.next == before.next:
                raise Unreachable(
                    f"the list of {resource.plural} has the same page again and again"
                )
            if page.resource_version != before.resource_version:
                # Whoever went on from the later one would miss what changed between them.
                raise Unreachable(
                    f"the list of {resource.plural} has pages of version "
                    f"{before.resource_version} and of {page.resource_version}"
                )
            objects += page.items
            broken += page.broken
        for _ in self._sink.replacing(resource, objects, page.resource_version, broken):
            await asyncio.sleep(0)  # A long list must not keep leases and probes waiting.
        for one in broken:
            self._report(resource, f"{one.ref} cannot be read: {one.problem}")
        return page.resource_version

    async def _next_page(
        self, resource: Resource[Any], query: Query, limit: int, after: str
    ) -> Page[Any]:
        """Ask a few times, or a list of hundreds of pages would hardly ever come to its end."""
        failures = 0
        while True:
            try:
                return await self._api.list(resource, query, limit=limit, after=after)
            except PortError as error:
                failures += 1
                asked_s = 0.0
                if isinstance(error, ApiError):
                    if error.code == _GONE:
                        raise _PagesExpired(error.code, error.reason, error.message) from error
                    asked_s = error.retry_after_s or 0.0
                if failures == PAGE_FAILURES_MAX:
                    raise
                self._report(resource, str(error))
            await self._clock.sleep(self._pause_s(failures, asked_s))

    def _take(self, resource: Resource[Any], event: Any, version: str) -> str:
        match event:
            case Change():  # First, as nearly all are.
                take = self._sink.drop if event.type == "DELETED" else self._sink.put
                take(resource, event.object)
                return _version_of(event.object) or version
            case Broken():
                self._sink.mark_broken(resource, event)
                self._report(resource, f"{event.ref} cannot be read: {event.problem}")
                return event.resource_version or version
            case _:
                told: Bookmark = event
                return told.resource_version

    async def _pause(self, place: _Place) -> None:
        asked_s, place.asked_s = place.asked_s, 0.0
        if place.failures:
            await self._clock.sleep(self._pause_s(place.failures, asked_s))

    def _pause_s(self, failures: int, asked_s: float) -> float:
        """How long to wait after so many failures in a row, when the server asked for that much."""
        cadence = self._cadence()
        grown_s: float = cadence.watch_retry_s * 2 ** min(failures - 1, 10)
        longest_s = min(grown_s, cadence.watch_retry_most_s)
        return max(longest_s * (0.5 + 0.5 * self._jitter()), min(asked_s, ASKED_PAUSE_MAX_S))


class _Silence:
    """Ends ``limit`` when nothing is heard for a while. To hear something costs next to nothing."""

    def __init__(self, limit_s: float, limit: asyncio.Timeout) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit_s = limit_s
        self._limit = limit
        self._heard_at = self._loop.time()
        self._timer = self._loop.call_later(limit_s, self._look)
        self.has_lasted = False

    def begin_anew(self) -> None:
        self._heard_at = self._loop.time()

    def end(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        due = self._heard_at + self._limit_s
        if self._loop.time() < due:
            self._timer = self._loop.call_at(due, self._look)
        elif not self._limit.expired():
            self.has_lasted = True
            self._limit.reschedule(self._loop.time())


def _leaves_doubt(event: Any) -> bool:
    return isinstance(event, Broken) and not event.ref.uid


def _version_of(obj: Any) -> str:
    """The resourceVersion of a struct or of plain JSON."""
    if isinstance(obj, dict):
        return str(obj.get("metadata", {}).get("resourceVersion", ""))
    return str(obj.metadata.resource_version)
