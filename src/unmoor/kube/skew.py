"""Is our clock right? Each answer of the API server bears its time, to the second (RFC 9110, Date).

An answer was made between our request and its arrival, so how wrong a clock is at least follows
from one of them, however slow the way. It is told when it begins to be wrong, not at each answer.

Must not: correct anything. What differing clocks do is written in docs/state.md.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

WRONG_S = 5.0
"""Clocks that differ less than this are taken for right."""
_ONE_SECOND = timedelta(seconds=1)


class Skew:
    """How far our clock is off. ``tell`` hears it, in a sentence, whenever it becomes wrong."""

    def __init__(self) -> None:
        """Nothing is known yet, and nobody hears of it."""
        self.tell: Callable[[str], None] = lambda _: None
        self._is_wrong = False

    def note(self, sent: datetime, arrived: datetime, date: str) -> None:
        """Take the ``Date`` of an answer, and between which times of ours it was made."""
        try:
            made = parsedate_to_datetime(date)
        except (TypeError, ValueError):
            return  # proxies and broken servers may say anything, or nothing
        ahead_s = ahead_at_least_s(sent, arrived, made)
        was_wrong, self._is_wrong = self._is_wrong, abs(ahead_s) >= WRONG_S
        if self._is_wrong and not was_wrong:
            side, when = ("ahead of", "soon") if ahead_s > 0 else ("behind", "late")
            self.tell(
                f"our clock is at least {abs(ahead_s):.0f} s {side} that of the API server: what "
                f"hangs on times of day comes too {when}; look at the time service of both machines"
            )


def ahead_at_least_s(sent: datetime, arrived: datetime, made: datetime) -> float:
    """Return by how much our clock is ahead for certain, negative when behind, 0 when it may agree.

    ``made`` is a whole second: the answer was made in it, or at its end.
    """
    if made.tzinfo is None:
        made = made.replace(tzinfo=UTC)
    if sent > made + _ONE_SECOND:
        return (sent - made - _ONE_SECOND).total_seconds()
    return min((arrived - made).total_seconds(), 0.0)
