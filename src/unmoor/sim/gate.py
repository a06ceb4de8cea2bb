"""A gate in one process's way to the API server: sees every call, and can be shut.

With it a world kills a process between two effects (the gate shuts; nothing more gets through),
stops it before or after its n-th write, and records who wrote what.

Must not: change a call or an answer.
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
    PortError,
    Query,
    Unreachable,
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


def _see_nothing(_call: Call) -> None:
    """Look away."""


class Gate:
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
        self._api = api
        self._before = before
        self._after = after
        self._refused = refused
        self.is_shut = False

    def shut(self) -> None:
        """Let nothing through any more, in either direction."""
        self.is_shut = True

    async def list(
        self, resource: Resource[T], query: Query = ALL, *, limit: int = 0, after: str = ""
    ) -> Page[T]:
        """List."""
        call = Call("list", Ref(resource.kind, "", namespace=query.namespace))
        return await self._pass(
            call, lambda: self._api.list(resource, query, limit=limit, after=after)
        )

    async def watch(
        self, resource: Resource[T], query: Query = ALL, *, since: str
    ) -> AsyncIterator[WatchEvent[T]]:
        """Watch."""
        self._see(Call("watch", Ref(resource.kind, "", namespace=query.namespace)))
        async for event in self._api.watch(resource, query, since=since):
            if self.is_shut:
                raise Unreachable("the gate is shut")
            yield event

    async def get(self, ref: Ref) -> JSON:
        """Get."""
        return await self._pass(Call("get", ref), lambda: self._api.get(ref))

    async def create(
        self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
    ) -> JSON:
        """Create."""
        return await self._pass(
            Call("create", ref, subresource, body),
            lambda: self._api.create(ref, body, subresource=subresource, dry_run=dry_run),
        )

    async def replace(self, ref: Ref, body: JSON, *, subresource: str = "") -> JSON:
        """Replace."""
        return await self._pass(
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
        """Patch."""
        return await self._pass(
            Call("patch", ref, subresource, body),
            lambda: self._api.patch(ref, body, how=how, subresource=subresource, dry_run=dry_run),
        )

    async def delete(self, ref: Ref, options: DeleteOptions = DeleteOptions()) -> JSON:
        """Delete."""
        return await self._pass(
            Call("delete", ref, "", options), lambda: self._api.delete(ref, options)
        )

    async def _pass(self, call: Call, ask: Callable[[], Awaitable[T]]) -> T:
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
