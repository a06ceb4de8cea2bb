"""The clock by which processes end: it counts what they wait for, and not what others do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests import ending

BUSY = "while True: pass"
ENDS = """
import signal, sys, time

def end(*_):
    {how}
    sys.exit(3)

signal.signal(signal.SIGTERM, end)
print("works", flush=True)
signal.pause()
"""
SLEEPS = "time.sleep(0.5)"
WORKS = (
    "until = time.process_time() + 0.2; [0 for _ in iter(lambda: time.process_time() < until, 0)]"
)


@contextlib.asynccontextmanager
async def started(program: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def took(how: str) -> tuple[float, float]:
    """Seconds of its own, and of everybody."""
    async with started(ENDS.format(how=how)) as process:
        assert process.stdout is not None
        await process.stdout.readline()
        begun_s = asyncio.get_running_loop().time()
        code, took_s = await ending.told(process, signal.SIGTERM)
        assert code == 3
        return took_s, asyncio.get_running_loop().time() - begun_s


async def test_what_it_waits_for_counts() -> None:
    took_s, _ = await took(SLEEPS)

    assert took_s >= 0.5


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="nobody says who waited")
async def test_what_others_do_does_not() -> None:
    """One processor for all: it gets a third of it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        async with started(BUSY), started(BUSY):
            took_s, passed_s = await took(WORKS)
    finally:
        os.sched_setaffinity(0, before)

    assert took_s < passed_s * 3 / 4
