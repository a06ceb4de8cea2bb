"""A pass runs off the loop, and nobody waits for one whose result is not wanted any more."""

import asyncio
import subprocess
import sys
import threading

import pytest

from unmoor.runtime.executor import TURN_S, ThreadExecutor


async def test_work_runs_on_another_thread_and_its_result_comes_back() -> None:
    executor = ThreadExecutor("a-name")

    assert await executor.run(lambda: threading.current_thread().name) == "a-name"
    assert await executor.run(threading.get_ident) != threading.get_ident()


async def test_a_pass_keeps_the_interpreter_from_the_loop_for_short_turns_only() -> None:
    """At Python's own 5 ms, every request sent during a pass holds the loop up that long."""
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        await ThreadExecutor().run(lambda: None)
        assert sys.getswitchinterval() == pytest.approx(TURN_S, abs=2e-6)

        sys.setswitchinterval(TURN_S / 5)  # somebody wants shorter ones
        await ThreadExecutor().run(lambda: None)
        assert sys.getswitchinterval() == pytest.approx(TURN_S / 5, abs=2e-6)
    finally:
        sys.setswitchinterval(before)


async def test_what_it_raises_is_raised_where_it_was_asked_for() -> None:
    def fail() -> None:
        raise ZeroDivisionError("a bug")

    executor = ThreadExecutor()

    with pytest.raises(ZeroDivisionError, match="a bug"):
        await executor.run(fail)
    assert await executor.run(lambda: 1) == 1


async def test_one_pass_comes_after_another() -> None:
    executor, begun, may_end = ThreadExecutor(), asyncio.Event(), threading.Event()
    event_loop = asyncio.get_running_loop()

    def first() -> str:
        event_loop.call_soon_threadsafe(begun.set)
        may_end.wait(10)
        return "first"

    one = asyncio.create_task(executor.run(first))
    await begun.wait()
    other = asyncio.create_task(executor.run(lambda: "second"))
    dropped = asyncio.create_task(executor.run(lambda: 1 / 0))
    await asyncio.sleep(0)
    dropped.cancel()
    may_end.set()

    assert await one == "first"
    assert await other == "second"


def test_an_endless_pass_does_not_hold_the_process_up() -> None:
    program = """
import asyncio, threading
from unmoor.runtime.executor import ThreadExecutor

async def main():
    begun, event_loop = asyncio.Event(), asyncio.get_running_loop()
    def endless():
        event_loop.call_soon_threadsafe(begun.set)
        threading.Event().wait()
    task = asyncio.create_task(ThreadExecutor().run(endless))
    await begun.wait()
    task.cancel()

asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
