"""When: one reading of both clocks, taken once for each decision.

The pure packages receive a moment and never a clock. ``wall`` stands for API time stamps and may
jump; ``mono`` is for waits and never goes back. Two readings in one decision would make a state
that is never true (a pod both before and after its deadline), so there is only ever one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

SECOND = 1.0
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DOUBLINGS_MAX = 30
"""Keeps the power of two of a wait that doubles a small number."""
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
"""No time before or after these can be written."""


class Moment(msgspec.Struct, frozen=True):
    """``wall``: aware UTC time. ``mono``: seconds of a clock that only goes forward."""

    wall: datetime
    mono: float

    def after(self, delay_s: float) -> float:
        """The monotonic time ``delay_s`` seconds from now: what a step returns as ``wake_at``."""
        return self.mono + max(delay_s, 0.0)

    def at(self, wall: datetime) -> float:
        """The monotonic time at which the wall clock should read ``wall``, now if it has passed."""
        return self.after((wall - self.wall).total_seconds())

    def since_s(self, wall: datetime | None) -> float:
        """Seconds from ``wall`` until now; 0 when ``wall`` is unknown or in the future."""
        if wall is None:
            return 0.0
        return max((self.wall - wall).total_seconds(), 0.0)

    def is_recent(self, wall: datetime | None, within_s: float) -> bool:
        """True when less than ``within_s`` seconds have passed since ``wall``.

        A clock that was wrong may have written a time that is still to come: one that is as far
        ahead says nothing.
        """
        return wall is not None and abs((self.wall - wall).total_seconds()) < within_s

    def plus(self, delay_s: float) -> datetime:
        """The wall time ``delay_s`` seconds from now."""
        return later(self.wall, delay_s)


def later(wall: datetime, delay_s: float) -> datetime:
    """The time ``delay_s`` seconds after ``wall``, or the last (or first) that can be written.

    People write any number for a delay, and any year for a time.
    """
    try:
        return wall + timedelta(seconds=delay_s)
    except OverflowError:
        return LAST if delay_s > 0 else FIRST


def utc(wall: datetime) -> datetime:
    """The same time in UTC, or the last (or first) that can be written there."""
    try:
        return wall.astimezone(UTC)
    except OverflowError:
        return LAST if wall.year > FIRST.year else FIRST


def rfc3339(wall: datetime) -> str:
    """Format an aware time as the API does for metav1.Time: UTC, whole seconds, ``Z``."""
    return _formatted(wall, "seconds")


def rfc3339_micro(wall: datetime) -> str:
    """Format an aware time as the API does for metav1.MicroTime (Lease, events.k8s.io)."""
    return _formatted(wall, "microseconds")


def _formatted(wall: datetime, timespec: str) -> str:
    return utc(wall).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def doubled_s(first_s: float, times: int, most_s: float) -> float:
    """Return ``first_s`` seconds, doubled so many times (none below 1), ``most_s`` at most."""
    waited_s: float = first_s * 2 ** min(max(times, 0), DOUBLINGS_MAX)
    return min(waited_s, most_s)


def earliest(*times: float | None) -> float | None:
    """The first of several wake times; None means "not on my account"."""
    known = [time for time in times if time is not None]
    return min(known) if known else None
