"""How long: Go durations ("1h30m", "300ms"), as settings and Karpenter's fields are written.

Must not: know what waits; a bound on a duration belongs to whoever uses it.
"""

from __future__ import annotations

import re

TEXT_LIMIT_CHARS = 128
"""A longer text is refused before it costs time."""
DURATION_LIMIT_NS = 2**63 - 1
"""The longest Go duration, about 292 years."""

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # the micro sign
    "\u03bcs": 10**3,  # and the Greek letter, which looks the same
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_PRINTED = (("h", 3600 * 10**9), ("m", 60 * 10**9))


class DurationError(ValueError):
    """A value that is no duration; ``value`` is what was given, as text."""

    def __init__(
        self, value: str, hint: str = "write numbers with units, as in 1h30m or 300ms"
    ) -> None:
        """``hint`` says what to write instead."""
        self.value = value
        super().__init__(f"{value!r} is not a duration: {hint}")


def parse(text: str) -> float:
    """Return the duration in seconds; negative ones are read too. Raises DurationError.

    The notation is Go's: one or more decimal numbers, each with a unit out of ns, us, ms, s, m and
    h, in any order, and "0" without one. A day has no unit, because it has no fixed length.
    """
    return _parse_ns(text) / 10**9


def _parse_ns(text: str) -> int:
    if len(text) > TEXT_LIMIT_CHARS:
        raise DurationError(text[:20] + "...", f"it is longer than {TEXT_LIMIT_CHARS} characters")
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0
    total, position = 0, 0
    while position < len(rest) or not rest:
        found = _PART.match(rest, position)
        if found is None:
            raise DurationError(text)
        whole, part, only_part, unit = found.groups()
        fraction = part or only_part or ""
        digits = int((whole or "") + fraction)
        total += digits * _NANOSECONDS[unit] // 10 ** len(fraction)
        position = found.end()
    if total > DURATION_LIMIT_NS:
        raise DurationError(text, "it is longer than 292 years")
    return sign * total


def format_duration(seconds: float) -> str:
    """Print seconds without idle parts: 1h30m, 10s, 1.5s, 300ms, 0s; exact to the microsecond."""
    left = round(seconds * 10**6) * 10**3
    sign = "-" if left < 0 else ""
    left = abs(left)
    if 0 < left < _NANOSECONDS["s"]:
        return f"{sign}{_number(left, _NANOSECONDS['ms'])}ms"
    text = ""
    for unit, nanoseconds in _PRINTED:
        count, left = divmod(left, nanoseconds)
        if count:
            text += f"{count}{unit}"
    if left or not text:
        text += f"{_number(left, _NANOSECONDS['s'])}s"
    return sign + text


def _number(amount: int, unit: int) -> str:
    """``amount / unit`` in decimal, without trailing zeros; ``unit`` is a power of ten."""
    whole, part = divmod(amount, unit)
    digits = str(part + unit)[1:].rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
