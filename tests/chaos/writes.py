"""Writes over a bad way, by the production interpreter: each once, and on whom it was meant for."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any

from tests.chaos import hands
from tests.chaos.far import NAMESPACE, Far
from unmoor.lifecycle.effects import AnyEffect, Create, Delete, Evict, Patch, Publish
from unmoor.model.base import JSON
from unmoor.model.kinds import CONFIG_MAPS, PODS, Resource
from unmoor.model.observation import ProblemKind
from unmoor.runtime.interpreter import Interpreter
from unmoor.runtime.ports import Api, Change, PortError, Query
from unmoor.runtime.problems import problem_of

WRITE_S = 30.0
COUNTER = CONFIG_MAPS.ref("counter", NAMESPACE)
COUNTED = "unmoor.dev/counted"


class Deaf:
    """A recorder that nobody needs here."""

    def publish(self, event: Publish, now: datetime, repeat_after_s: float) -> None:
        raise AssertionError(f"{event} at {now}, repeated after {repeat_after_s} s")


class Noted:
    """Notes each call about an object and what was raised; the rest of the port is not needed."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.calls: list[tuple[str, PortError | None]] = []

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[JSON]]:
        async def call(*args: Any, **options: Any) -> JSON:
            try:
                answer: JSON = await getattr(self._api, verb)(*args, **options)
            except PortError as error:
                self.calls.append((verb, error))
                raise
            self.calls.append((verb, None))
            return answer

        return call

    @property
    def doubts(self) -> int:
        """How many writes there were of which nobody knows what came of them."""
        return sum(
            verb != "get" and error is not None and _is_doubt(error) for verb, error in self.calls
        )

    def blind(self) -> list[tuple[str, PortError]]:
        """Those of them after which nobody looked."""
        return [
            (verb, error)
            for (verb, error), (after, _) in itertools.pairwise(self.calls)
            if verb != "get" and error is not None and _is_doubt(error) and after != "get"
        ]


def _is_doubt(error: PortError) -> bool:
    return problem_of(error).kind is ProblemKind.UNKNOWN


class Witness:
    """Sees what happens to the objects of one name on the server, over a way of its own."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, JSON]] = []
        self.news = asyncio.Event()

    async def watch(self, api: Api, resource: Resource[JSON], name: str, since: str) -> None:
        query = Query(namespace=NAMESPACE, fields=f"metadata.name={name}")
        async for event in api.watch(resource, query, since=since):
            if isinstance(event, Change):
                self.seen.append((event.type, event.object))
                self.news.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(WRITE_S):
            while not is_so():
                self.news.clear()
                await self.news.wait()


@contextlib.asynccontextmanager
async def witness(api: Api, resource: Resource[Any], name: str) -> AsyncIterator[Witness]:
    since = (await api.list(resource, limit=1)).resource_version
    seen = Witness()
    task = asyncio.create_task(seen.watch(api, resource.raw(), name, since))
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.wait({task})


def interpreter(far: Far, api: Any) -> Interpreter:
    return Interpreter(api, far.store, far.clock, cloud=None, recorder=Deaf())


async def count(far: Far, least: int) -> Noted:
    """Make a counter and count, one by one; what the view shows decides what is written next.

    At least to ``least``, and until some write was in doubt.
    """
    noted = Noted(far.api)
    hand = interpreter(far, noted)
    async with asyncio.timeout(WRITE_S):
        while (effect := _next(far, least if noted.doubts else math.inf)) is not None:
            (outcome,) = await hand.execute((effect,))
            assert outcome.crash == "", outcome.crash
    return noted


def _next(far: Far, target: float) -> AnyEffect | None:
    held = far.store.get(CONFIG_MAPS, COUNTER.name, NAMESPACE)
    if held is None:
        meta = {"name": COUNTER.name, "namespace": NAMESPACE, "annotations": {COUNTED: "0"}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        return Create(ref=COUNTER, body=body)
    counted = int(held.metadata.annotations[COUNTED])
    if counted >= target:
        return None
    ref = CONFIG_MAPS.ref(COUNTER.name, NAMESPACE, held.uid)
    body = {"metadata": {"annotations": {COUNTED: str(counted + 1)}}}
    return Patch(ref=ref, body=body, resource_version=held.metadata.resource_version)


async def send_away(far: Far, name: str, how: type[Delete | Evict]) -> None:
    """Delete or evict one pod, until the view says that it is gone or another one."""
    await far.until(lambda: far.store.get(PODS, name, NAMESPACE) is not None)
    hand = interpreter(far, far.api)
    first = far.store.get(PODS, name, NAMESPACE)
    assert first is not None
    ref = PODS.ref(name, NAMESPACE, first.uid)
    async with asyncio.timeout(WRITE_S):
        while far.store.find(ref) is not None:
            (outcome,) = await hand.execute((how(ref=ref),))
            assert outcome.crash == "", outcome.crash
            if outcome.problem is None:
                await far.until(lambda: far.store.find(ref) is None)


async def replace_when_gone(api: Api, seen: Witness, name: str) -> None:
    """Somebody makes a successor of the same name as soon as there is room."""
    await seen.until(lambda: any(change == "DELETED" for change, _ in seen.seen))
    await hands.make(api, PODS, name)
