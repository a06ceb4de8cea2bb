"""Virtual time: exact, deterministic, and honest about a world that cannot go on."""

from __future__ import annotations

import asyncio

import pytest

from tests.runtime.scripted import passes
from unmoor.sim.virtual import EPOCH, Deadlock, Livelock, VirtualClock, run

DAY_S = 86_400.0


def test_waiting_costs_nothing_and_takes_exactly_as_long_as_asked() -> None:
    async def main() -> float:
        await asyncio.sleep(100 * DAY_S)
        return asyncio.get_running_loop().time()

    assert run(main()) == 100 * DAY_S


@pytest.mark.parametrize("start", [0.0, 0.1, 3.6e6 + 1 / 3, 2.0**31 + 0.7])
@pytest.mark.parametrize("delay", [1e-6, 0.1, 1 / 3, 7.0, 90_000.1])
def test_timers_fire_when_they_are_due_and_never_before(start: float, delay: float) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(start)
        due = loop.time() + delay
        fired: asyncio.Future[float] = loop.create_future()
        loop.call_at(due, lambda: fired.set_result(loop.time()))

        assert await fired == due

    run(main())


def test_what_is_due_at_once_happens_in_the_order_of_asking() -> None:
    async def main() -> list[str]:
        order: list[str] = []

        async def wait(name: str, delay: float) -> None:
            await asyncio.sleep(delay)
            order.append(f"{name} {asyncio.get_running_loop().time()}")

        async with asyncio.TaskGroup() as tasks:
            for name, delay in (("c", 2.0), ("a", 1.0), ("b", 1.0), ("d", 0.0)):
                tasks.create_task(wait(name, delay))
        return order

    expected = ["d 0.0", "a 1.0", "b 1.0", "c 2.0"]
    assert [run(main()) for _ in range(3)] == [expected] * 3


def test_a_deadlock_names_who_waits_and_where() -> None:
    async def starve() -> None:
        await passes(5)
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(starve(), name="termination node-a")

    with pytest.raises(Deadlock, match=r"at 5\.000 s; .*termination node-a in .*Event\.wait:\d+"):
        run(main())


def test_standing_time_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        await passes(3)
        loop = asyncio.get_running_loop()

        def again() -> None:
            loop.call_soon(again)

        again()
        await asyncio.Event().wait()

    with pytest.raises(Livelock, match=r"at 3\.000 s"):
        run(main())
    assert capsys.readouterr().err == ""


def test_timeouts_work_in_virtual_time() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run(main()) == 30


def test_a_clock_may_be_off_on_the_wall_only() -> None:
    async def main() -> None:
        clock = VirtualClock()
        clock.skew_s = 90.0
        for delay_s in (10, -5):
            await clock.sleep(delay_s)

        assert clock.now().mono == 10
        assert (clock.now().wall - EPOCH).total_seconds() == 100
        assert (clock.wall() - EPOCH).total_seconds() == 10

    run(main())
