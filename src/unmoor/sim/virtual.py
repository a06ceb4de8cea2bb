"""Virtual time: an asyncio event loop that jumps to its next deadline instead of waiting for it.

The production code runs on it unchanged. Nothing on it may wait for another thread or process; a
loop with nothing left to do and nothing to wait for is a deadlock and says so.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from unmoor.model.moment import Moment

T = TypeVar("T")
EPOCH = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
"""When simulated worlds begin: a Monday morning."""


class Deadlock(RuntimeError):
    """Every task waits and no timer is set: in the real world, it would wait for ever."""


class _JumpingSelector(selectors.SelectSelector):
    """Answers at once, and tells the loop how far it would have waited."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Deadlock(f"nothing to wait for at {self._loop.time():.3f} s")
        if timeout > 0:
            self._loop.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and costs nothing to wait for."""

    def __init__(self) -> None:
        """Start at time 0."""
        self._virtual_s = 0.0
        super().__init__(_JumpingSelector(self))
        # Equal deadlines would otherwise differ by the clock's resolution.
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """Seconds since the world began."""
        return self._virtual_s

    def jump(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        self._virtual_s += seconds


class VirtualClock:
    """The clocks of a simulated world. ``skew_s`` moves this process's wall clock off true time."""

    def __init__(self, epoch: datetime = EPOCH) -> None:
        """Begin at ``epoch``."""
        self._epoch = epoch
        self.skew_s = 0.0

    def now(self) -> Moment:
        """One reading of both."""
        mono = asyncio.get_running_loop().time()
        return Moment(wall=self._epoch + timedelta(seconds=mono + self.skew_s), mono=mono)

    def wall(self) -> datetime:
        """True time, whatever the skew: what the simulated API server stamps."""
        return self._epoch + timedelta(seconds=asyncio.get_running_loop().time())

    async def sleep(self, delay_s: float) -> None:
        """Wait in virtual time."""
        await asyncio.sleep(max(delay_s, 0.0))


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
