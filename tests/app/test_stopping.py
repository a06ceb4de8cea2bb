"""Told to stop, a command cleans up; told twice, or after too long a time, it ends as it is."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from unmoor.app import stopping
from unmoor.runtime import leader

PATIENCE_S = 30.0
WORK = """
import asyncio
from unmoor.app import stopping

async def work():
    try:
        print("works", flush=True)
        await asyncio.Event().wait()
    finally:
        print("cleans up", flush=True)
        {clean_up}

print(asyncio.run(stopping.until_stopped(work())), flush=True)
"""
HANGS = "await asyncio.Event().wait()"


async def told(clean_up: str, *signals: signal.Signals) -> tuple[int, list[str], float]:
    """Exit code, what was printed, and seconds from the first signal to the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORK.format(clean_up=clean_up), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    clock = asyncio.get_running_loop()
    begun_s = clock.time()
    said: list[str] = []
    try:
        for number in signals:
            line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
            said.append(line.decode().strip())
            begun_s = begun_s if len(said) > 1 else clock.time()
            process.send_signal(number)
        rest = await asyncio.wait_for(process.stdout.read(), PATIENCE_S)
        code = await asyncio.wait_for(process.wait(), PATIENCE_S)
    finally:
        if process.returncode is None:
            process.kill()
    return code, [*said, *rest.decode().split("\n")], clock.time() - begun_s


@pytest.mark.parametrize("number", stopping.SIGNALS)
async def test_a_clean_up_is_waited_for(number: signal.Signals) -> None:
    code, said, _ = await told("await asyncio.sleep(0)", number)

    assert (code, said) == (0, ["works", "cleans up", "None", ""])


async def test_one_that_hangs_is_cut_off() -> None:
    code, said, took_s = await told(HANGS, signal.SIGTERM)

    assert (code, said) == (1, ["works", "cleans up", ""])
    assert took_s >= stopping.STOP_S


@pytest.mark.parametrize("second", stopping.SIGNALS)
async def test_a_second_signal_ends_it_as_it_is(second: signal.Signals) -> None:
    code, said, _ = await told(HANGS, signal.SIGINT, second)

    assert (code, said) == (128 + second, ["works", "cleans up", ""])


def test_giving_the_lease_up_is_given_up_before_the_process_is_cut_off() -> None:
    assert leader.RELEASE_LIMIT_S < stopping.STOP_S
