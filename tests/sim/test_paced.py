"""A loop with a speed: everything on it is as fast as each other, and no time is lost."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from unmoor.sim import paced
from unmoor.sim.paced import JUMPING, PacedLoop
from unmoor.sim.virtual import VirtualClock

DAY_S = 86_400.0
PAST_S = 120.0
SHORT_S = 0.1


def real_s(loop: PacedLoop) -> float:
    """What the machine's own clock says."""
    return asyncio.SelectorEventLoop.time(loop)


def test_nothing_is_waited_for_while_it_jumps() -> None:
    async def main() -> tuple[float, float]:
        loop = paced.running()
        begun_s = real_s(loop)
        await asyncio.sleep(DAY_S)
        return loop.time(), real_s(loop) - begun_s

    slept_s, took_s = paced.run(main())

    assert slept_s == pytest.approx(DAY_S)
    assert took_s < 5.0


@pytest.mark.parametrize("speed", [1.0, 50.0])
def test_a_second_is_so_many_simulated_seconds(speed: float) -> None:
    async def main() -> tuple[list[float], float]:
        loop = paced.running()
        loop.speed = speed
        real = [real_s(loop)]
        begun_s = loop.time()
        real.append(real_s(loop))
        await asyncio.sleep(SHORT_S * speed)
        real.append(real_s(loop))
        ended_s = loop.time()
        real.append(real_s(loop))
        return real, ended_s - begun_s

    (before, begun, ended, after), passed_s = paced.run(main())

    # On a crowded machine much may happen between two looks at two clocks.
    assert passed_s >= speed * (ended - begun) * (1 - 1e-6)
    assert passed_s <= speed * (after - before) * (1 + 1e-6)
    assert ended - begun >= SHORT_S * (1 - 1e-6)


def test_timers_fire_in_their_order_and_not_before_they_are_due() -> None:
    async def main() -> list[str]:
        loop = paced.running()
        loop.speed = 1000.0
        order: list[str] = []

        async def wait(name: str, delay_s: float) -> None:
            due = loop.time() + delay_s
            await asyncio.sleep(delay_s)
            order.append(name if loop.time() >= due else f"{name} too early")

        async with asyncio.TaskGroup() as tasks:
            for name, delay_s in (("c", 90.0), ("a", 30.0), ("b", 60.0)):
                tasks.create_task(wait(name, delay_s))
        return order

    assert paced.run(main()) == ["a", "b", "c"]


def test_a_change_of_speed_neither_loses_nor_wins_time() -> None:
    async def main() -> tuple[list[float], float]:
        loop, clock = paced.running(), VirtualClock()
        await asyncio.sleep(PAST_S)
        begun_s = real_s(loop)
        seen = [clock.now().mono]
        for speed in (1.0, 100.0, JUMPING, 1.0):
            loop.speed = speed
            seen.append(clock.now().mono)
        return seen, real_s(loop) - begun_s

    seen, took_s = paced.run(main())

    assert seen == sorted(seen)
    assert seen[0] == pytest.approx(PAST_S)
    assert seen[-1] <= seen[0] + 100.0 * took_s, "never faster than 100 times, and no jump"


def test_a_signal_is_heard_while_it_jumps() -> None:
    async def main() -> bool:
        stop, clock = asyncio.Event(), VirtualClock()
        paced.running().add_signal_handler(signal.SIGUSR1, stop.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        while not stop.is_set():
            await clock.sleep(SHORT_S)
        return True

    assert paced.run(main())


def test_sockets_are_served_at_any_speed() -> None:
    async def main(speed: float) -> bytes:
        loop = paced.running()
        loop.speed = speed

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            answered = await reader.read()
            writer.close()
            return answered

    assert [paced.run(main(speed)) for speed in (1.0, 100.0, JUMPING)] == [b"hello\n"] * 3


def test_it_begins_at_zero() -> None:
    loop = PacedLoop()
    try:
        assert loop.time() == 0.0
    finally:
        loop.close()
