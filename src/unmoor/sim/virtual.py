"""Virtual time: an asyncio event loop that jumps to its next deadline instead of waiting for it.

The production code runs on it unchanged. Nothing on it may wait for another thread or process; a
loop with nothing left to do and nothing to wait for is a deadlock and says so.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeVar, TypeVarTuple, Unpack

from unmoor.model.moment import Moment

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
EPOCH = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
"""When simulated worlds begin: a Monday morning."""


Passing: TypeAlias = Callable[[float], object]
"""Called with each stretch of time that is about to be skipped, in seconds."""
IDLE_TURNS_MAX = 300_000
"""So many turns of the loop without time passing are a livelock."""
TIMERS_LEAST = 100
"""With more timers than these, cancelled ones are swept when they are the most."""


class Deadlock(RuntimeError):
    """Every task waits and no timer is set: in the real world, it would wait for ever."""


class Livelock(RuntimeError):
    """Time stands still: tasks wake each other for ever and none of them waits."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and costs nothing to wait for.

    It has no sockets to look after, so a turn is only this: time jumps if there is nothing else to
    do, timers that are due follow what is ready, and all of that is called. Nearly everything that
    a rehearsal does is a turn of this loop, hence the short cuts past the base class.
    """

    _ready: deque[asyncio.Handle]
    """The base class's calls that are to be made."""
    _scheduled: list[asyncio.TimerHandle]
    """The base class's timers, the earliest first."""
    _timer_cancelled_count: int
    """How many of them are cancelled."""
    _stopping: bool

    def __init__(self, passing: Passing | None = None) -> None:
        """Start at time 0. ``passing`` may make a jump last, for somebody who looks on."""
        self._virtual_s = 0.0
        self._passing = passing
        self._idle_turns = 0
        super().__init__()

    def time(self) -> float:
        """Seconds since the world began."""
        return self._virtual_s

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Call it in the next turn."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _run_once(self) -> None:
        """Take one turn."""
        ready, timers = self._ready, self._timers()
        if ready or self._stopping or (timers and timers[0].when() <= self._virtual_s):
            self._idle_turns += 1
            if self._idle_turns > IDLE_TURNS_MAX:
                self._idle_turns = 0
                raise Livelock(f"time stands still at {self._virtual_s:.3f} s; {self._waiting()}")
        elif timers:
            self._idle_turns = 0
            then = timers[0].when()
            passing_s, self._virtual_s = then - self._virtual_s, then
            if self._passing is not None:
                self._passing(passing_s)
        else:
            raise Deadlock(f"nothing to wait for at {self._virtual_s:.3f} s; {self._waiting()}")
        while timers and timers[0].when() <= self._virtual_s:
            ready.append(_taken(timers))
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001 - as the base class calls it

    def _timers(self) -> list[asyncio.TimerHandle]:
        """The timers, the first of which is not cancelled."""
        timers = self._scheduled
        if len(timers) > TIMERS_LEAST and 2 * self._timer_cancelled_count > len(timers):
            left = [timer for timer in timers if not timer.cancelled()]
            heapq.heapify(left)
            self._scheduled, self._timer_cancelled_count = left, 0
            return left
        while timers and timers[0].cancelled():
            _taken(timers)
            self._timer_cancelled_count -= 1
        return timers

    def _waiting(self) -> str:
        """Which tasks there are, and where each one stands."""
        tasks = sorted(asyncio.all_tasks(self), key=lambda task: task.get_name())
        return "; ".join(f"{task.get_name()} in {_place_of(task)}" for task in tasks) or "no tasks"


def _taken(timers: list[asyncio.TimerHandle]) -> asyncio.TimerHandle:
    """Take out the earliest; if it is cancelled later, it is not there to be swept."""
    timer = heapq.heappop(timers)
    timer._scheduled = False  # type: ignore[attr-defined]  # noqa: SLF001 - the base class's mark
    return timer


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
