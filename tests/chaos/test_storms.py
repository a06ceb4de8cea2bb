"""Storms on the way to the embedded server: afterwards the view equals the server, always.

The same storms blow on the way to a real API server, and more of them, in tests/chaos/e2e.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias

from tests.chaos import storms
from tests.chaos.answers import UNDONE, UNTOLD
from tests.chaos.far import HASTY, Way, nothing_left
from tests.chaos.streams import BETWEEN, IN_IT
from tests.chaos.troubles import (
    BEFORE_A_LINE,
    IN_A_LINE,
    NOT_TOLD,
    READ,
    WATCHED,
    WIRE,
    WRITTEN,
    Trouble,
    Weather,
)
from unmoor.lifecycle.effects import Delete, Evict
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Api
from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.direct import BOOKMARK_EVERY_S, DirectApi, send_bookmarks
from unmoor.sim.http import HttpFace

SEEDS = range(1, 13)
AT_ONCE = 6
"""More storms on one machine would hinder each other: their requests make many handshakes."""


def wall() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - a server has a clock


@contextlib.asynccontextmanager
async def embedded(bookmark_s: float = BOOKMARK_EVERY_S) -> AsyncIterator[tuple[Way, Api]]:
    """``bookmark_s``: how often quiet watches hear how far they are."""
    server = Server(wall, seed=1, manners=FAITHFUL)
    async with HttpFace(server) as face:
        marking = asyncio.create_task(send_bookmarks(server, SystemClock(), every_s=bookmark_s))
        try:
            yield Way(face.port, face.ca_pem, face.token), DirectApi(server)
        finally:
            marking.cancel()
            await asyncio.wait({marking})


Play: TypeAlias = Callable[[Way, Api], Coroutine[Any, Any, None]]


async def at_once(each: Iterable[Play], bookmark_s: float = BOOKMARK_EVERY_S) -> None:
    """Each with a server of its own, some at once: a storm is mostly waiting."""
    some = asyncio.Semaphore(AT_ONCE)

    async def play(one: Play) -> None:
        async with some, embedded(bookmark_s) as (way, direct):
            await one(way, direct)

    async with nothing_left(), asyncio.TaskGroup() as tasks:
        for one in each:
            tasks.create_task(play(one))


async def test_after_a_storm_the_view_equals_the_server() -> None:
    await at_once(partial(storms.storm, seed=seed) for seed in SEEDS)


ALONE: dict[str, list[tuple[str, Trouble]]] = {
    "wire": [("wire", Trouble(what, 3000)) for what in WIRE],
    "read": [("read", Trouble(what)) for what in READ],
    "watch": [("watch", Trouble(what)) for what in WATCHED],
}


async def test_no_trouble_alone_has_lasting_consequences() -> None:
    # Those who are through should be quiet while the others struggle.
    bookmark_s = HASTY.watch_silence_s / 2
    await at_once((partial(storms.alone, troubles=each) for each in ALONE.values()), bookmark_s)


async def test_every_number_is_written_once() -> None:
    await at_once(partial(storms.counted, seed=seed) for seed in (1, 2))


async def test_who_comes_after_a_pod_under_its_name_stays() -> None:
    await at_once(partial(storms.sent_away, seed=1, how=how) for how in (Delete, Evict))


def test_the_same_seed_brings_the_same_troubles() -> None:
    def drawn(seed: int) -> list[Trouble | None]:
        weather = Weather(seed)
        paths = ("/nodes", "/pods")
        return [weather.on_connection() for _ in range(50)] + [
            on(path)
            for on in (weather.on_read, weather.on_write, weather.on_watch)
            for path in paths
            for _ in range(50)
        ]

    assert drawn(1) == drawn(1) != drawn(2)


def test_every_trouble_that_is_named_is_made() -> None:
    assert UNDONE.keys() | UNTOLD.keys() == {*READ, *WRITTEN, ""}
    assert set(NOT_TOLD) <= UNTOLD.keys()
    assert IN_IT.keys() == set(IN_A_LINE)
    assert BETWEEN.keys() | {"slow head", "no gzip"} == set(BEFORE_A_LINE)
