"""How does a command end when it is told to? Cleanly and soon; at once when told twice.

Must not: know what it stops.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

STOP_S = 1.5
"""A clean stop takes at most this long; then the process ends as it is. Under 2 s in all."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _nothing() -> None:
    """Tell nobody."""


async def until_stopped(
    work: Coroutine[Any, Any, T], on_stop: Callable[[], None] = _nothing
) -> T | None:
    """Run ``work``; SIGTERM or SIGINT cancels it, and None is returned once it has cleaned up.

    A second signal ends the process at once, and so does a clean-up that takes too long.
    """
    event_loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def take(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        on_stop()

    for number in SIGNALS:
        event_loop.add_signal_handler(number, take, number)
    task = asyncio.create_task(work)
    waiting = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return await task
        task.cancel()
        await asyncio.wait({task}, timeout=STOP_S)
        if not task.done():
            os._exit(1)
        if not task.cancelled() and task.exception() is None:
            return task.result()
        return None
    finally:
        waiting.cancel()
        for number in SIGNALS:
            event_loop.remove_signal_handler(number)
