"""How old is it, as a person reads it: ``5m12s``, ``3d``, ``<unknown>``.

Must not: read a clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

UNKNOWN = "<unknown>"
INVALID = "<invalid>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400

_STEPS: tuple[tuple[int, int, str, int, str], ...] = (
    # Below this many seconds: so many of the first unit, and the rest in the second.
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def duration(passed: timedelta) -> str:
    """A length of time with at most two units."""
    seconds = int(passed.total_seconds())
    if seconds < 0:
        return INVALID if seconds < -1 else "0s"
    for below, unit, letter, lesser, lesser_letter in _STEPS:
        if seconds < below:
            text = f"{seconds // unit}{letter}"
            rest = seconds % unit // lesser if lesser else 0
            return f"{text}{rest}{lesser_letter}" if rest else text
    return f"{seconds // _YEAR}y"


def time_of(text: Any) -> datetime | None:
    """An API time stamp, None when it is none."""
    if not isinstance(text, str) or not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def since(text: Any, now: datetime) -> str:
    """The time that has passed since a time stamp."""
    then = time_of(text)
    return UNKNOWN if then is None else duration(now - then)


def age(obj: dict[str, Any], now: datetime) -> str:
    """How long an object has existed."""
    return since(obj["metadata"].get("creationTimestamp"), now)
