"""Does the API server answer? Told once when it ceases to, and once when it does again.

An API port around another. A watch that is cut after a while says nothing: servers and what stands
before them do that, and the next one goes on. One that cannot be opened does.

Must not: change an answer or an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource
from unmoor.runtime.informer import GOOD_WATCH_S
from unmoor.runtime.ports import (
    ALL,
    Api,
    ApiError,
    Clock,
    DeleteOptions,
    Page,
    PatchType,
    Query,
    Unreachable,
    WatchEvent,
)

T = TypeVar("T")


class Answering:
    """Passes every call on. ``problem``: why nobody answers now, "" when somebody does.

    ``last``: the words of the last error that was no answer.
    """

    def __init__(self, api: Api, clock: Clock, tell: Callable[[str], None]) -> None:
        """``tell`` hears when ``problem`` comes and goes."""
        self.problem = ""
        self.last = ""
        self._api, self._clock, self._tell = api, clock, tell

    async def list(
        self, resource: Resource[T], query: Query = ALL, *, limit: int = 0, after: str = ""
    ) -> Page[T]:
        """One page."""
        return await self._asked(self._api.list(resource, query, limit=limit, after=after))

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

    async def get(self, ref: Ref) -> JSON:
        """One object."""
        return await self._asked(self._api.get(ref))

    async def create(
        self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
    ) -> JSON:
        """POST."""
        return await self._asked(
            self._api.create(ref, body, subresource=subresource, dry_run=dry_run)
        )

    async def replace(self, ref: Ref, body: JSON, *, subresource: str = "") -> JSON:
        """PUT."""
        return await self._asked(self._api.replace(ref, body, subresource=subresource))

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
        return await self._asked(
            self._api.patch(ref, body, how=how, subresource=subresource, dry_run=dry_run)
        )

    async def delete(self, ref: Ref, options: DeleteOptions = DeleteOptions()) -> JSON:
        """DELETE."""
        return await self._asked(self._api.delete(ref, options))

    async def _asked(self, request: Awaitable[T]) -> T:
        try:
            answer = await request
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
