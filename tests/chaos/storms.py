"""A storm on the way to a server that somebody else changes; then calm, and what must hold."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from random import Random

from tests.chaos import hands, writes
from tests.chaos.far import CALM_S, Way, far_from, there
from tests.chaos.troubles import Once, Trouble, Weather
from unmoor.lifecycle.effects import Delete, Evict
from unmoor.model.kinds import CONFIG_MAPS, NODES, PODS
from unmoor.runtime.ports import Api

ROUNDS = 2
STRIKES_MOST = 10
"""In one round, for all requests and connections together."""
AT_ONCE = 8
"""More processes would hinder each other: each of their requests makes handshakes."""
STRIKE_S = 30.0
CONNECTIONS_MOST = 24
"""Three kinds are followed, each by one request at a time."""
COUNT_LEAST = 8


async def nothing() -> None:
    """Let nothing special happen."""


async def storm(
    way: Way,
    direct: Api,
    seed: int,
    in_the_middle: Callable[[], Awaitable[None]] = nothing,
) -> None:
    """Whatever happened, the store is equal to the server soon after it has ceased."""
    dice, weather = Random(f"hands/{seed}"), Weather(seed)
    async with far_from(way, weather) as far:
        for number in range(ROUNDS):
            for _ in range(dice.randint(1, 5)):
                await hands.turn(direct, dice)
            await weather.strikes(dice.randint(1, STRIKES_MOST), STRIKE_S)
            if number == 0:
                await in_the_middle()
        weather.is_calm = True
        far.be_patient()
        try:
            for _ in range(2):  # and it stays so
                await hands.turn(direct, dice)
                await far.until_equal(await there(direct))
        except AssertionError as error:
            error.add_note(f"seed {seed}, troubles: {dict(weather.struck)}")
            raise
        assert far.wire.peak <= CONNECTIONS_MOST


async def alone(way: Way, direct: Api, troubles: Sequence[tuple[str, Trouble]]) -> None:
    """Each of these troubles strikes another process, once, and none has lasting consequences."""
    for at in range(0, len(troubles), AT_ONCE):
        await _alone(way, direct, troubles[at : at + AT_ONCE])
        await hands.clear(direct)


async def _alone(way: Way, direct: Api, troubles: Sequence[tuple[str, Trouble]]) -> None:
    fates = [Once(where, trouble) for where, trouble in troubles]
    async with contextlib.AsyncExitStack() as stack:
        for name in "abc":
            await hands.make(direct, NODES, name)
        fars = [await stack.enter_async_context(far_from(way, fate, (NODES,))) for fate in fates]
        for fate, far in zip(fates, fars, strict=True):
            fate.when_struck = far.be_patient
        async with asyncio.timeout(CALM_S):
            await asyncio.gather(*(far.informer.wait_synced() for far in fars))
        for name in "def":
            await hands.make(direct, NODES, name)
        await direct.delete(NODES.ref("a"))
        wanted = await there(direct)
        await asyncio.gather(*(far.until_equal(wanted) for far in fars))
    assert [fate.trouble for fate in fates if not fate.has_struck] == []


async def counted(way: Way, direct: Api, seed: int) -> None:
    """Every number is written once, whatever becomes of the answers; in doubt it is looked up."""
    weather = Weather(seed)
    async with (
        writes.witness(direct, CONFIG_MAPS, writes.COUNTER.name) as seen,
        far_from(way, weather) as far,
    ):
        noted = await writes.count(far, COUNT_LEAST)
        weather.is_calm = True
        far.be_patient()
        counter = await direct.get(writes.COUNTER)
        count = int(counter["metadata"]["annotations"][writes.COUNTED])
        await seen.until(lambda: len(seen.seen) > count)
        await far.until_equal(await there(direct))
        told = [(change, obj["metadata"]["annotations"]) for change, obj in seen.seen]
        assert told == [
            ("MODIFIED" if number else "ADDED", {writes.COUNTED: str(number)})
            for number in range(count + 1)
        ]
        assert noted.blind() == []


async def sent_away(way: Way, direct: Api, seed: int, how: type[Delete | Evict]) -> None:
    """One pod goes, once; who comes after it under its name stays."""
    name, weather = "guest", Weather(seed)
    first = await hands.make(direct, PODS, name)
    async with (
        writes.witness(direct, PODS, name) as seen,
        far_from(way, weather) as far,
    ):
        coming = asyncio.create_task(writes.replace_when_gone(direct, seen, name))
        await writes.send_away(far, name, how)
        await coming
        weather.is_calm = True
        far.be_patient()
        await far.until_equal(await there(direct))
    gone = [obj["metadata"]["uid"] for change, obj in seen.seen if change == "DELETED"]
    assert gone == [first["metadata"]["uid"]]
    successor = await direct.get(hands.ref_of(PODS, name))
    assert "deletionTimestamp" not in successor["metadata"]
