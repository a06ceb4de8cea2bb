"""An API port around another: every request goes through one method, so that what stands in front
of a server for one question (does it answer? who writes what? what breaks?) is said in one place.

Must not: change a request, an answer or an error by itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource
from unmoor.runtime.ports import (
    ALL,
    Api,
    DeleteOptions,
    Page,
    PatchType,
    Query,
    WatchEvent,
)

T = TypeVar("T")
READS = frozenset({"list", "watch", "get"})


class Call(msgspec.Struct, frozen=True):
    """One call: the verb, its object ("" names a collection), and what was sent."""

    verb: str
    ref: Ref
    subresource: str = ""
    body: Any = None

    @property
    def is_write(self) -> bool:
        """It may change something."""
        return self.verb not in READS


class ApiAround:
    """Passes every call on; a subclass has ``_through`` of its own, and ``watch`` if it need be."""

    def __init__(self, api: Api) -> None:
        """Stand in front of ``api``."""
        self._api = api

    async def list(
        self, resource: Resource[T], query: Query = ALL, *, limit: int = 0, after: str = ""
    ) -> Page[T]:
        """One page."""
        return await self._through(
            call_of_many("list", resource, query),
            lambda: self._api.list(resource, query, limit=limit, after=after),
        )

    async def watch(
        self, resource: Resource[T], query: Query = ALL, *, since: str
    ) -> AsyncIterator[WatchEvent[T]]:
        """Changes after version ``since``."""
        async for event in self._api.watch(resource, query, since=since):
            yield event

    async def get(self, ref: Ref) -> JSON:
        """One object."""
        return await self._through(Call("get", ref), lambda: self._api.get(ref))

    async def create(
        self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
    ) -> JSON:
        """POST."""
        return await self._through(
            Call("create", ref, subresource, body),
            lambda: self._api.create(ref, body, subresource=subresource, dry_run=dry_run),
        )

    async def replace(self, ref: Ref, body: JSON, *, subresource: str = "") -> JSON:
        """PUT."""
        return await self._through(
            Call("replace", ref, subresource, body),
            lambda: self._api.replace(ref, body, subresource=subresource),
        )

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
        return await self._through(
            Call("patch", ref, subresource, body),
            lambda: self._api.patch(ref, body, how=how, subresource=subresource, dry_run=dry_run),
        )

    async def delete(self, ref: Ref, options: DeleteOptions = DeleteOptions()) -> JSON:
        """DELETE."""
        return await self._through(
            Call("delete", ref, "", options), lambda: self._api.delete(ref, options)
        )

    async def _through(self, _call: Call, ask: Callable[[], Awaitable[T]]) -> T:
        return await ask()


def call_of_many(verb: str, resource: Resource[Any], query: Query) -> Call:
    """A call that is about a collection."""
    return Call(verb, Ref(resource.kind, "", namespace=query.namespace))
