"""Virtual time: an asyncio event loop that jumps to its next deadline instead of waiting for it.

The production code runs on it unchanged. Nothing on it may wait for another thread or process; a
loop with nothing left to do and nothing to wait for is a deadlock and says so.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from unmoor.model.moment import Moment

T = TypeVar("T")
EPOCH = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
"""When simulated worlds begin: a Monday morning."""


ROUNDING_S = 1e-6
"""Sums of times may be off by less than this; nothing waits for so little."""
Passing: TypeAlias = Callable[[float], object]
"""Called with each stretch of time that is about to be skipped, in seconds."""
IDLE_TURNS_MAX = 300_000
"""So many turns of the loop without time passing are a livelock."""


class Deadlock(RuntimeError):
    """Every task waits and no timer is set: in the real world, it would wait for ever."""


class Livelock(RuntimeError):
    """Time stands still: tasks wake each other for ever and none of them waits."""


class _JumpingSelector(selectors.SelectSelector):
    """Answers at once, and tells the loop how far it would have waited."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        self._loop.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and costs nothing to wait for."""

    _scheduled: list[asyncio.TimerHandle]
    """The base class's timers, the earliest first."""

    def __init__(self, passing: Passing | None = None) -> None:
        """Start at time 0. ``passing`` may make a jump last, for somebody who looks on."""
        self._virtual_s = 0.0
        self._passing = passing
        self._idle_turns = 0
        super().__init__(_JumpingSelector(self))

    @property
    def _clock_resolution(self) -> float:
        """The base class runs what is due within this: exactly what is due, however late it is."""
        return math.ulp(self._virtual_s)

    @_clock_resolution.setter
    def _clock_resolution(self, _seconds: float) -> None:
        """The base class sets that of the real clock."""

    def time(self) -> float:
        """Seconds since the world began."""
        return self._virtual_s

    def jump(self, timeout: float | None) -> None:
        """Let time pass, as far as the loop would have waited."""
        if timeout is None:
            raise Deadlock(f"nothing to wait for at {self._virtual_s:.3f} s; {self._waiting()}")
        if timeout > 0:
            self._idle_turns = 0
            # The sum of now and the difference to then is not always exactly then.
            then = self._scheduled[0].when()
            late = self._virtual_s + timeout
            self._virtual_s = then if abs(then - late) < ROUNDING_S else late
            if self._passing is not None:
                self._passing(timeout)
            return
        self._idle_turns += 1
        if self._idle_turns > IDLE_TURNS_MAX:
            self._idle_turns = 0
            raise Livelock(f"time stands still at {self._virtual_s:.3f} s; {self._waiting()}")

    def _waiting(self) -> str:
        """Which tasks there are, and where each one stands."""
        tasks = sorted(asyncio.all_tasks(self), key=lambda task: task.get_name())
        return "; ".join(f"{task.get_name()} in {_place_of(task)}" for task in tasks) or "no tasks"


def _place_of(task: asyncio.Task[Any]) -> str:
    """The innermost function of ours, or of anybody, that the task is in."""
    coroutine: Any = task.get_coro()
    place = "a new task"
    while coroutine is not None and getattr(coroutine, "cr_frame", None) is not None:
        frame = coroutine.cr_frame
        place = f"{coroutine.__qualname__}:{frame.f_lineno}"
        coroutine = coroutine.cr_await
    return place


class VirtualClock:
    """The clocks of a simulated world. ``skew_s`` moves this process's wall clock off true time."""

    def __init__(self, epoch: datetime = EPOCH) -> None:
        """Begin at ``epoch``."""
        self._epoch = epoch
        self._last: tuple[float, float, Moment] | None = None
        self.skew_s = 0.0

    def now(self) -> Moment:
        """One reading of both. Much happens at one instant, so the last reading is kept."""
        mono = asyncio.get_running_loop().time()
        last = self._last
        if last is not None and last[0] == mono and last[1] == self.skew_s:
            return last[2]
        moment = Moment(wall=self._epoch + timedelta(seconds=mono + self.skew_s), mono=mono)
        self._last = (mono, self.skew_s, moment)
        return moment

    def wall(self) -> datetime:
        """True time, whatever the skew: what the simulated API server stamps."""
        return self._epoch + timedelta(seconds=asyncio.get_running_loop().time())

    async def sleep(self, delay_s: float) -> None:
        """Wait in virtual time."""
        await asyncio.sleep(max(delay_s, 0.0))


def run(main: Coroutine[Any, Any, T], *, passing: Passing | None = None) -> T:
    """Run ``main`` to its end in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(passing)) as runner:
        return runner.run(main)
