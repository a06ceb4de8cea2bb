"""Where a pass over the whole cluster runs in production: on a daemon thread of its own.

The loop stays free for leases, probes, interruptions and SIGTERM. One thread, one pass after
another. A pass cannot be stopped, so at the end of the process its result is dropped: nobody waits
for the thread, and a daemon thread does not hold the interpreter up. (A ThreadPoolExecutor was
rejected, because Python joins its threads at exit.)

Two threads take turns at the interpreter. Whoever lets go of it, as each call of the system does,
gets it back when the other's turn is over; at Python's own 5 ms for a turn, some tens of requests
sent during a pass would hold the loop up for a third of a second.

Must not: touch the store. A pass works on the frozen view that it was given.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

R = TypeVar("R")

TURN_S = 0.0001
"""How long a pass may keep the interpreter from the loop."""

_Job: TypeAlias = "tuple[Callable[[], Any], asyncio.Future[Any], asyncio.AbstractEventLoop]"


class ThreadExecutor:
    """Runs work on one daemon thread, which starts with the first work."""

    def __init__(self, name: str = "unmoor-pass") -> None:
        """``name``: of the thread, as debuggers show it."""
        self._name = name
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], R]) -> R:
        """Run ``work`` there; if the caller is cancelled, the result is dropped."""
        event_loop = asyncio.get_running_loop()
        result: asyncio.Future[R] = event_loop.create_future()
        self._jobs.put((work, result, event_loop))
        if self._thread is None:
            sys.setswitchinterval(min(TURN_S, sys.getswitchinterval()))
            self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._thread.start()
        return await result

    def _serve(self) -> None:
        while True:
            work, result, event_loop = self._jobs.get()
            if result.cancelled():
                continue
            answer: Any = None
            error: BaseException | None = None
            try:
                answer = work()
            except BaseException as raised:  # noqa: BLE001 - raised again where it was asked for
                error = raised
            with suppress(RuntimeError):  # the loop is closed: nobody wants it any more
                event_loop.call_soon_threadsafe(_deliver, result, answer, error)
            # Else the last pass's view would stay alive until the next one.
            del work, result, event_loop, answer, error


def _deliver(result: asyncio.Future[Any], answer: Any, error: BaseException | None) -> None:
    if result.done():
        return
    if error is not None:
        result.set_exception(error)
    else:
        result.set_result(answer)
