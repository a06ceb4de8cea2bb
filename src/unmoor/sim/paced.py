"""How does a simulated cluster run before somebody's eyes? On a loop with a speed.

Its time is the only time that the cluster has: actors, cloud, API server and unmoor wait on it and
read it, so all of them are as fast as each other. At ``JUMPING`` nothing is waited for, as in
virtual time; at 1 the loop's second is everybody's. Sockets and signals are served at any speed.

Must not: know what runs on it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from math import inf
from typing import Any, TypeVar

T = TypeVar("T")

JUMPING = inf
"""Simulated seconds in a second when there is nothing to look at."""


class _PacedSelector(selectors.DefaultSelector):
    """Waits for its share of what the loop would have waited."""

    def __init__(self, loop: PacedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if self._loop.speed != JUMPING:
            return super().select(timeout / self._loop.speed)
        ready = super().select(0)
        if not ready:
            self._loop.skip(timeout)
        return ready


class PacedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and runs ``speed`` times as fast as the machine's."""

    def __init__(self, speed: float = JUMPING) -> None:
        """Start at time 0. ``speed``: simulated seconds in a second, above 0."""
        self._speed = speed
        self._then_s = 0.0
        self._since_s = super().time()
        super().__init__(_PacedSelector(self))

    def time(self) -> float:
        """Simulated seconds since the beginning."""
        if self._speed == JUMPING:
            return self._then_s
        return self._then_s + (super().time() - self._since_s) * self._speed

    @property
    def speed(self) -> float:
        """Simulated seconds in a second, from now on; no time is lost or won by a change."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        """Run so fast from now on: simulated seconds in a second, above 0."""
        self._then_s, self._since_s = self.time(), super().time()
        self._speed = speed

    def skip(self, seconds: float) -> None:
        """Let time pass at once."""
        self._then_s += seconds


def running() -> PacedLoop:
    """The loop that runs now, which must be one of these."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, PacedLoop), "runs on a paced loop only"
    return loop


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` to its end; it begins jumping, and sets the speed itself."""
    with asyncio.Runner(loop_factory=PacedLoop) as runner:
        return runner.run(main)
