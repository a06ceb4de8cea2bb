"""How long, how much processor and memory, and how long did others wait for the event loop?"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

TICK_S = 0.002
"""How often the loop is asked to do something on time."""
PERCENTS = (50, 90, 99, 99.9, 100)


def memory_mb(what: str = "VmHWM", process: str = "self") -> float:
    """Resident memory of a process in MB (10^6): VmHWM is the peak, VmRSS the present."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError(f"no {what} in /proc/{process}/status")


def cpu_s(process: int) -> float:
    """Processor seconds that another process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def print_measured(measured: Callable[[int, int], Mapping[str, Any]]) -> None:
    """Measure a cluster of as many nodes and pods as the command line says; print JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True)
    given = parser.parse_args()
    print(json.dumps(measured(given.nodes, given.pods)))


def percentile(sorted_values: Sequence[float], percent: float) -> float:
    """The value that so many per cent do not exceed; 0 when there is none."""
    if not sorted_values:
        return 0.0
    return sorted_values[min(int(len(sorted_values) * percent / 100), len(sorted_values) - 1)]


class Stopwatch:
    """Wall and processor time of this process since it was made."""

    def __init__(self) -> None:
        """Start."""
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @property
    def wall_s(self) -> float:
        """Seconds that have passed."""
        return time.perf_counter() - self._wall

    @property
    def cpu_s(self) -> float:
        """Processor seconds that this process has used."""
        return time.process_time() - self._cpu


class Pauses:
    """How long had others to wait for a turn of the event loop?

    Something is due every two milliseconds. What it is late by is a pause; on a machine that has
    other work, part of it is theirs, so the processor time of the loop itself is noted besides.
    """

    def __init__(self) -> None:
        """Enter it as a context to measure."""
        self._late_s: list[float] = []
        self._busy_s: list[float] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Begin."""
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        """End."""
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, busy = loop.time() + TICK_S, time.thread_time()
            await asyncio.sleep(TICK_S)
            self._late_s.append(loop.time() - due)
            self._busy_s.append(time.thread_time() - busy)

    def ms(self) -> dict[str, float]:
        """Percentiles in milliseconds; 100 is the longest."""
        found = {}
        for what, values in (("pause", self._late_s), ("busy", self._busy_s)):
            ordered = sorted(values)
            for percent in PERCENTS:
                found[f"{what}_p{percent}_ms"] = percentile(ordered, percent) * 1000
        return found
