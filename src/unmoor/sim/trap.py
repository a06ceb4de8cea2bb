"""Pulling the plug of a process right before, or right after, its n-th write from now.

Before: the write never reaches the server. After: it does, and the process never hears of it, nor
that it was refused. From then on nothing of the process reaches anybody, whatever it still tries.

Must not: end the process itself; ``spring`` tells whoever runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from unmoor.runtime.around import Call
from unmoor.runtime.ports import Unreachable


class When(Enum):
    """On which side of the write."""

    BEFORE = "before"
    AFTER = "after"


class Trap:
    """On all doors of one process: API and cloud are counted together."""

    def __init__(self) -> None:
        """Wait to be armed; count writes meanwhile."""
        self.writes = 0
        """How many were begun."""
        self.is_sprung = False
        self._at = 0
        self._when = When.BEFORE
        self._spring: Callable[[], None] = _nothing

    def arm(self, nth: int, when: When, spring: Callable[[], None]) -> None:
        """Call ``spring`` at the ``nth`` write from now."""
        assert nth > 0, "the next one is number 1"
        self._at, self._when, self._spring = self.writes + nth, when, spring
        self.is_sprung = False

    def disarm(self) -> None:
        """Let everything pass again."""
        self._at = 0
        self.is_sprung = False

    def before(self, call: Call) -> None:
        """Called before anything is sent."""
        self._hold()
        if call.is_write:
            self.writes += 1
            if self.writes == self._at and self._when is When.BEFORE:
                self._pull()

    def after(self, call: Call) -> None:
        """Called when the server has answered; writes end in the order of their begin."""
        self._hold()
        if call.is_write and self.writes == self._at and self._when is When.AFTER:
            self._pull()

    def _hold(self) -> None:
        if self.is_sprung:
            raise Unreachable("the plug was pulled")

    def _pull(self) -> None:
        self.is_sprung = True
        self._spring()
        raise Unreachable("the plug was pulled")


def _nothing() -> None:
    """Nobody wants to know."""
