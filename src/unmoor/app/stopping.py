"""How does a command end when it is told to? Cleanly and soon; at once when told again later.

One wish may come as two signals: ``timeout`` and some supervisors tell the process and then its
whole group. So what follows within a second is the same signal, up to the very end of the process.

Must not: know what it stops.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

STOP_S = 1.5
"""A clean stop takes at most this long; then the process ends as it is. Under 2 s in all."""
SAME_S = 1.0
"""A signal that comes this soon after the first is the same one."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Told to stop; the last one comes when the terminal is closed."""


def _nothing() -> None:
    """Do nothing."""


async def until_stopped(
    work: Coroutine[Any, Any, T],
    *,
    on_stop: Callable[[], None] = _nothing,
    at_last: Callable[[], None] = _nothing,
) -> T | None:
    """Run ``work``; a signal cancels it, and None is returned once it has cleaned up.

    A signal ``SAME_S`` after the first ends the process at once, and so does a clean-up that takes
    too long: then ``at_last`` puts away what must not stay, and nothing else is done. ``on_stop``
    and ``at_last`` are called wherever the program is, so they must be short and wait for nothing.
    """
    stop = _Stop(asyncio.get_running_loop(), on_stop, at_last)
    before = {number: signal.signal(number, stop.take) for number in _heeded()}
    task = asyncio.create_task(work)
    waiting = asyncio.create_task(stop.told.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return await task
        task.cancel()
        await asyncio.wait({task}, timeout=STOP_S)
        if not task.done():
            stop.end_as_it_is(1)
        if not task.cancelled() and task.exception() is None:
            return task.result()
        return None
    finally:
        waiting.cancel()
        if stop.is_told:  # the second half of the signal may still be on its way
            atexit.register(_be_deaf, tuple(before))
        else:
            for number, handler in before.items():
                signal.signal(number, handler)


def _be_deaf(numbers: tuple[signal.Signals, ...]) -> None:
    """Python gives its handlers up before the process is gone; a signal would then kill it."""
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def _heeded() -> tuple[signal.Signals, ...]:
    """Under ``nohup`` a closed terminal is to be survived."""
    is_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return tuple(n for n in SIGNALS if not (n == signal.SIGHUP and is_ignored))


class _Stop:
    """Takes signals as Python does, not as the loop does: those work while it hangs, and after."""

    def __init__(
        self,
        event_loop: asyncio.AbstractEventLoop,
        on_stop: Callable[[], None],
        at_last: Callable[[], None],
    ) -> None:
        self.told = asyncio.Event()
        self._event_loop, self._on_stop, self._at_last = event_loop, on_stop, at_last
        self._told_at: float | None = None

    @property
    def is_told(self) -> bool:
        """A signal has come."""
        return self._told_at is not None

    def take(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal."""
        if self._told_at is None:
            self._on_stop()
            self._told_at = self._event_loop.time()  # a loop that is closed has its time, too
            self._event_loop.call_soon_threadsafe(self.told.set)
        elif self._event_loop.time() >= self._told_at + SAME_S:
            self.end_as_it_is(128 + number)

    def end_as_it_is(self, code: int) -> NoReturn:
        """End the process without cleaning up."""
        try:
            self._at_last()
        finally:
            os._exit(code)
