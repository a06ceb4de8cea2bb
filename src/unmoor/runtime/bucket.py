"""How fast may we go? A token bucket: so many at once, then so many a second.

Must not: read a clock or wait. The caller says what time it is and does the waiting.
"""

from __future__ import annotations


class TokenBucket:
    """Starts full. ``rate_per_s``: how fast it fills; ``burst``: how much it holds."""

    __slots__ = ("_burst", "_rate_per_s", "_seen_s", "_tokens")

    def __init__(self, rate_per_s: float, burst: float) -> None:
        """Both must be positive: an empty bucket that never fills would stop the world."""
        assert rate_per_s > 0, "a bucket that never fills"
        assert burst >= 1, "a bucket that never holds one whole token"
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._tokens = burst
        self._seen_s: float | None = None

    def try_take(self, now_s: float) -> bool:
        """Take one token if there is one."""
        self._fill(now_s)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve(self, now_s: float) -> float:
        """Take one token, from the future if need be; returns the seconds to wait for it.

        Who reserves first is served first, so nobody starves.
        """
        self._fill(now_s)
        self._tokens -= 1
        return max(-self._tokens / self._rate_per_s, 0.0)

    def _fill(self, now_s: float) -> None:
        # A clock that went back fills nothing; it must not take anything away either.
        elapsed_s = 0.0 if self._seen_s is None else max(now_s - self._seen_s, 0.0)
        self._tokens = min(self._tokens + elapsed_s * self._rate_per_s, self._burst)
        self._seen_s = now_s
