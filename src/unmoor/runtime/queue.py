"""Which key is stepped next: one at a time for each key, as often as something changed.

A value that takes the time instead of reading it. A key that is added while it is being stepped is
stepped once more afterwards, however often it was added; a later wake never displaces an earlier.

Must not: wait. Whoever owns the queue asks ``next_at`` and waits itself.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from itertools import count

from unmoor.runtime.reconciler import Key

BACK_OFF_MIN_S = 0.1
BACK_OFF_MAX_S = 10.0
"""A failing key is tried again after the first, then twice as long each time, up to the second."""


class WorkQueue:
    """Keys that are ready, being stepped, or waiting for a time."""

    def __init__(self) -> None:
        """Start empty."""
        self._ready: OrderedDict[Key, None] = OrderedDict()
        self._stepping: set[Key] = set()
        self._again: set[Key] = set()
        self._wake_at: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._order = count()
        self._failures: dict[Key, int] = {}

    def __len__(self) -> int:
        """How many keys are ready."""
        return len(self._ready)

    @property
    def is_idle(self) -> bool:
        """Nothing is ready and nothing is being stepped."""
        return not self._ready and not self._stepping

    def add(self, key: Key) -> None:
        """Something changed for this key."""
        if key in self._stepping:
            self._again.add(key)
        else:
            self._ready[key] = None

    def wake(self, key: Key, at: float) -> None:
        """Step this key at ``at`` (monotonic seconds) unless it is stepped earlier anyway."""
        known = self._wake_at.get(key)
        if known is None or at < known:
            self._wake_at[key] = at
            heapq.heappush(self._heap, (at, next(self._order), key))

    def take(self, now: float) -> Key | None:
        """The next key to step, None when none is ready. Follow with ``done`` or ``failed``."""
        while self._heap and self._heap[0][0] <= now:
            at, _, key = heapq.heappop(self._heap)
            if self._wake_at.get(key) == at:
                del self._wake_at[key]
                self.add(key)
        if not self._ready:
            return None
        key, _ = self._ready.popitem(last=False)
        self._stepping.add(key)
        # What it was to be woken for, it now looks at; its step says when to look again.
        self._wake_at.pop(key, None)
        return key

    def done(self, key: Key, wake_at: float | None) -> None:
        """The key was stepped; look again at ``wake_at``, or when something changes."""
        self._failures.pop(key, None)
        self._finish(key)
        if wake_at is not None:
            self.wake(key, wake_at)

    def failed(self, key: Key, now: float) -> float:
        """The key's step or effects failed: try again after a growing pause, which is returned."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        pause: float = min(BACK_OFF_MIN_S * 2 ** min(failures, 20), BACK_OFF_MAX_S)
        self._finish(key)
        self.wake(key, now + pause)
        return pause

    def next_at(self) -> float | None:
        """When the next waiting key wakes; None when none waits."""
        while self._heap and self._wake_at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _finish(self, key: Key) -> None:
        self._stepping.discard(key)
        if key in self._again:
            self._again.discard(key)
            self._ready[key] = None
