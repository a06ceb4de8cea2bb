"""A gate in one process's way to the API server: sees every call, and can be shut.

With it a world kills a process between two effects (the gate shuts; nothing more gets through),
stops it before or after its n-th write, and records who wrote what.

Must not: change a call or an answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from unmoor.model.kinds import Resource
from unmoor.runtime.around import ApiAround, Call, call_of_many
from unmoor.runtime.ports import ALL, Api, PortError, Query, Unreachable, WatchEvent

T = TypeVar("T")


def _see_nothing(_call: Call) -> None:
    """Look away."""


class Gate(ApiAround):
    """The API port, watched. ``before`` and ``after`` may raise to end the caller there."""

    def __init__(
        self,
        api: Api,
        *,
        before: Callable[[Call], None] = _see_nothing,
        after: Callable[[Call], None] = _see_nothing,
        refused: Callable[[Call], None] = _see_nothing,
    ) -> None:
        """Stand in front of ``api``; of ``after`` and ``refused`` one is called for each call."""
        super().__init__(api)
        self._before = before
        self._after = after
        self._refused = refused
        self.is_shut = False

    def shut(self) -> None:
        """Let nothing through any more, in either direction."""
        self.is_shut = True

    async def watch(
        self, resource: Resource[T], query: Query = ALL, *, since: str
    ) -> AsyncIterator[WatchEvent[T]]:
        """Watch."""
        self._see(call_of_many("watch", resource, query))
        async for event in self._api.watch(resource, query, since=since):
            if self.is_shut:
                raise Unreachable("the gate is shut")
            yield event

    async def _through(self, call: Call, ask: Callable[[], Awaitable[T]]) -> T:
        self._see(call)
        try:
            answer = await ask()
        except PortError:
            self._refused(call)
            raise
        if self.is_shut:
            raise Unreachable("the gate is shut")
        self._after(call)
        return answer

    def _see(self, call: Call) -> None:
        if self.is_shut:
            raise Unreachable("the gate is shut")
        self._before(call)
