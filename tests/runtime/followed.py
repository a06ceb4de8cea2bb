"""An informer that follows a scripted server into a store, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.runtime.scripted import ScriptedApi, passes
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import NODES, Resource
from unmoor.runtime.informer import Informer
from unmoor.runtime.ports import ALL, Query
from unmoor.runtime.store import Store
from unmoor.sim.virtual import VirtualClock, run

CALM_S = 2 * Cadence().watch_retry_most_s


class Followed:
    """A server, an informer that follows its nodes (and pods, if asked), and a store."""

    def __init__(self, jitter: float = 1.0) -> None:
        self.api = ScriptedApi()
        self.store = Store()
        self.reports: list[str] = []
        self.informer = Informer(
            self.api, self.store, VirtualClock(), jitter=lambda: jitter, report=self._report
        )

    def _report(self, resource: Resource[Any], problem: str) -> None:
        self.reports.append(f"{resource.plural}: {problem}")

    def names(self) -> list[str]:
        return [node.name for node in self.store.sorted(NODES)]

    def is_equal(self) -> bool:
        held = {key: obj.metadata.resource_version for key, obj in self.store.all(NODES).items()}
        there = self.api.objects["Node"].items()
        return held == {key: body["metadata"]["resourceVersion"] for key, body in there}

    def times(self, verb: str) -> list[float]:
        return [at for at, called, _ in self.api.calls if called == verb]


def follow(
    play: Callable[[Followed], Awaitable[None]],
    *,
    resources: tuple[Resource[Any], ...] = (NODES,),
    query: Query = ALL,
    jitter: float = 1.0,
    before: Callable[[Followed], None] = lambda _: None,
) -> Followed:
    """Run an informer while ``play`` plays."""
    followed = Followed(jitter)

    async def main() -> None:
        before(followed)
        queries = {resource.kind: query for resource in resources}
        task = asyncio.create_task(followed.informer.run(resources, queries))
        await play(followed)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    return followed


async def idle(_: Followed) -> None:
    await passes(CALM_S)
