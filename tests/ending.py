"""How long does a process take to end? By a clock that stands still while it may not run.

On a crowded machine a process spends most of its time ready to run, and waiting for a processor.
That is not its fault, and what it waits for by its own will is counted in full. Linux says how much
it was (``/proc/PID/schedstat``); where nobody says it, all time counts.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Final

from tests.controlplane import eventually

PATIENCE_S: Final = 60.0
LOOK_S: Final = 0.02


class Stopwatch:
    """Runs from now on, for one process; it has to be looked at until the process has ended."""

    def __init__(self, pid: int) -> None:
        self._path = Path(f"/proc/{pid}/schedstat")
        self._begun_s = time.monotonic()  # noqa: TID251 - real processes take real time
        self._held_up_before_s = self._held_up_s = 0.0
        self.look()
        self._held_up_before_s = self._held_up_s

    def look(self) -> None:
        """Note how long the process was kept from running so far."""
        try:
            _, waited_ns, _ = self._path.read_text().split()
        except (OSError, ValueError):
            return
        self._held_up_s = max(self._held_up_s, int(waited_ns) / 1e9)

    @property
    def took_s(self) -> float:
        """Its own time until now."""
        passed_s = time.monotonic() - self._begun_s  # noqa: TID251
        return passed_s - (self._held_up_s - self._held_up_before_s)


async def told(process: asyncio.subprocess.Process, number: int) -> tuple[int, float]:
    """Send a signal; return the exit code, and the seconds of its own until then."""
    watch = Stopwatch(process.pid)
    process.send_signal(number)
    ending = asyncio.ensure_future(process.wait())
    async with asyncio.timeout(PATIENCE_S):
        while not (await asyncio.wait({ending}, timeout=LOOK_S))[0]:
            watch.look()
    return await ending, watch.took_s


def told_and_waited(process: subprocess.Popen[str], number: int) -> tuple[int, float]:
    """The same, of a process that no loop looks after."""
    watch = Stopwatch(process.pid)
    process.send_signal(number)

    def has_ended() -> bool:
        watch.look()
        return process.poll() is not None

    eventually("its end", has_ended, timeout_s=PATIENCE_S)
    return process.wait(), watch.took_s
