"""Told to stop, a command cleans up; told again later, or after too long, it ends as it is."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from unmoor.app import stopping
from unmoor.runtime import leader

PATIENCE_S = 30.0
WORK = """
import asyncio, signal
from unmoor.app import stopping

stopping.SAME_S = {same_s}

async def work():
    try:
        {begin}
        print("works", flush=True)
        await asyncio.Event().wait()
    finally:
        print("cleans up", flush=True)
        {clean_up}

def put_away():
    print("puts away", flush=True)

result = asyncio.run(stopping.until_stopped(work(), at_last=put_away))
{tail}
print(result, flush=True)
"""
HANGS = "await asyncio.Event().wait()"
AGAIN = "signal.raise_signal(signal.{name})"
NOTHING_S = 0.0
"""``SAME_S``, when whatever follows is to come later; else it is ``PATIENCE_S``."""


async def told(
    clean_up: str,
    number: signal.Signals,
    *,
    begin: str = "pass",
    tail: str = "",
    same_s: float = PATIENCE_S,
    under: tuple[str, ...] = (),
) -> tuple[int, list[str], float]:
    """Exit code, what was printed, and seconds from the signal to the end."""
    process = await asyncio.create_subprocess_exec(
        *under,
        sys.executable,
        "-c",
        WORK.format(begin=begin, clean_up=clean_up, tail=tail, same_s=same_s),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    clock = asyncio.get_running_loop()
    try:
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
        begun_s = clock.time()
        process.send_signal(number)
        rest = await asyncio.wait_for(process.stdout.read(), PATIENCE_S)
        code = await asyncio.wait_for(process.wait(), PATIENCE_S)
    finally:
        if process.returncode is None:
            process.kill()
    return code, (line + rest).decode().split("\n"), clock.time() - begun_s


@pytest.mark.parametrize("number", stopping.SIGNALS)
async def test_a_clean_up_is_waited_for(number: signal.Signals) -> None:
    code, said, _ = await told("await asyncio.sleep(0)", number)

    assert (code, said) == (0, ["works", "cleans up", "None", ""])


async def test_under_nohup_a_closed_terminal_is_survived() -> None:
    begin = f"{AGAIN.format(name='SIGHUP')}; [await asyncio.sleep(0) for _ in range(20)]"

    code, said, _ = await told("pass", signal.SIGTERM, begin=begin, under=("nohup",))

    assert (code, said) == (0, ["works", "cleans up", "None", ""])


async def test_one_that_hangs_is_cut_off() -> None:
    code, said, took_s = await told(HANGS, signal.SIGTERM)

    assert (code, said) == (1, ["works", "cleans up", "puts away", ""])
    assert took_s >= stopping.STOP_S


@pytest.mark.parametrize("second", stopping.SIGNALS)
async def test_a_signal_right_after_the_first_is_the_same_one(second: signal.Signals) -> None:
    """`timeout` tells the process and then its group; the second may come at the very end."""
    again = AGAIN.format(name=second.name)

    code, said, _ = await told(again, signal.SIGINT, tail=again)

    assert (code, said) == (0, ["works", "cleans up", "None", ""])


@pytest.mark.parametrize("second", stopping.SIGNALS)
async def test_a_later_one_ends_it_as_it_is_whatever_hangs(second: signal.Signals) -> None:
    again = AGAIN.format(name=second.name)

    code, said, _ = await told(again, signal.SIGINT, same_s=NOTHING_S)

    assert (code, said) == (128 + second, ["works", "cleans up", "puts away", ""])


@pytest.mark.parametrize("second", ["SIGTERM", "SIGINT"])
async def test_nor_does_one_end_it_when_python_has_given_its_handlers_up(second: str) -> None:
    """What is alive until the interpreter is gone sends it: nothing of Python's hears it then."""
    last = f"""
class Last:
    def __del__(self, kill=__import__("os").kill, me=__import__("os").getpid()):
        kill(me, signal.{second})
last = Last()
"""

    code, said, _ = await told("pass", signal.SIGTERM, tail=last)

    assert (code, said) == (0, ["works", "cleans up", "None", ""])


async def test_a_later_one_ends_it_at_the_very_end_too() -> None:
    again = AGAIN.format(name="SIGTERM")

    code, said, _ = await told("pass", signal.SIGINT, tail=again, same_s=NOTHING_S)

    assert (code, said) == (128 + signal.SIGTERM, ["works", "cleans up", "puts away", ""])


def test_giving_the_lease_up_is_given_up_before_the_process_is_cut_off() -> None:
    assert leader.RELEASE_LIMIT_S < stopping.STOP_S
