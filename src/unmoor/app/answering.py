"""Does the API server answer? Told once when it ceases to, and once when it does again.

An API port around another. A watch that is cut after a while says nothing: servers and what stands
before them do that, and the next one goes on. One that cannot be opened does.

Must not: change an answer or an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from unmoor.model.kinds import Resource
from unmoor.runtime.around import ApiAround, Call
from unmoor.runtime.informer import GOOD_WATCH_S
from unmoor.runtime.ports import ALL, Api, ApiError, Clock, Query, Unreachable, WatchEvent

T = TypeVar("T")


class Answering(ApiAround):
    """Passes every call on. ``problem``: why nobody answers now, "" when somebody does.

    ``last``: the words of the last error that was no answer.
    """

    def __init__(self, api: Api, clock: Clock, tell: Callable[[str], None]) -> None:
        """``tell`` hears when ``problem`` comes and goes."""
        self.problem = ""
        self.last = ""
        super().__init__(api)
        self._clock, self._tell = clock, tell

    async def watch(
        self, resource: Resource[T], query: Query = ALL, *, since: str
    ) -> AsyncIterator[WatchEvent[T]]:
        """Changes after version ``since``."""
        opened_at = self._clock.now().mono
        try:
            async for event in self._api.watch(resource, query, since=since):
                self._heard()
                yield event
        except Unreachable as error:
            self.last = str(error)
            if self._clock.now().mono < opened_at + GOOD_WATCH_S:
                self._unheard()
            raise

    async def _through(self, _call: Call, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            answer = await ask()
        except ApiError:
            self._heard()
            raise
        except Unreachable as error:
            self.last = str(error)
            self._unheard()
            raise
        self._heard()
        return answer

    def _heard(self) -> None:
        if self.problem:
            self.problem = ""
            self._tell("the cluster answers again")

    def _unheard(self) -> None:
        is_new = not self.problem
        self.problem = f"the cluster cannot be reached: {self.last}"
        if is_new:
            self._tell(
                f"{self.problem}; it is tried again until it can. Ctrl-C ends that and leaves the "
                "node as it is"
            )
