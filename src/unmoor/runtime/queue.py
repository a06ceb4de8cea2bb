"""Which key is stepped next: one at a time for each key, as often as something changed.

A value that takes the time instead of reading it. A key that is added while it is being stepped is
stepped once more afterwards, however often it was added; a later wake never displaces an earlier.
A key that is stepped too often waits for the next second, whatever wakes it: a bug of ours, or two
controllers that undo each other's work, must not become a storm.

Must not: wait. Whoever owns the queue asks ``next_at`` and waits itself.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from itertools import count

from unmoor.model.observation import ASKED_PAUSE_MAX_S
from unmoor.runtime.reconciler import Key

BACK_OFF_MIN_S = 0.1
BACK_OFF_MAX_S = 10.0
"""A failing key is tried again after the first, then twice as long each time, up to the second."""
SPINS_MAX = 20
SPIN_WINDOW_S = 1.0
"""No key is stepped more often than this in one window."""
STALE_MAX = 64
"""So many more entries in the heap than there are waiting keys, beyond their number, are swept."""


class WorkQueue:
    """Keys that are ready, being stepped, or waiting for a time."""

    def __init__(self) -> None:
        """Start empty."""
        self._ready: OrderedDict[Key, None] = OrderedDict()
        self._stepping: set[Key] = set()
        self._again: set[Key] = set()
        self._waiting: dict[Key, tuple[float, int, Key]] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._order = count()
        self._failures: dict[Key, int] = {}
        self._spins: dict[Key, int] = {}
        self._window_ends = -math.inf

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
        assert not math.isnan(at), key
        known = self._waiting.get(key)
        if at < (math.inf if known is None else known[0]):
            entry = self._waiting[key] = (at, next(self._order), key)
            heapq.heappush(self._heap, entry)
            self._sweep()

    def take(self, now: float) -> Key | None:
        """The next key to step, None when none is ready. Follow with ``done`` or ``failed``."""
        if now >= self._window_ends:
            self._spins.clear()
            self._window_ends = now + SPIN_WINDOW_S
        self._add_due(now)
        while self._ready:
            key, _ = self._ready.popitem(last=False)
            spins = self._spins.get(key, 0)
            if spins >= SPINS_MAX:
                self.wake(key, self._window_ends)
                continue
            self._spins[key] = spins + 1
            self._stepping.add(key)
            # What it was to be woken for, it now looks at; its step says when to look again.
            self._waiting.pop(key, None)
            return key
        return None

    def done(self, key: Key, wake_at: float | None) -> None:
        """The key was stepped; look again at ``wake_at``, or when something changes."""
        self._failures.pop(key, None)
        self._finish(key)
        if wake_at is not None:
            self.wake(key, wake_at)

    def failed(self, key: Key, now: float, asked_s: float = 0.0) -> float:
        """The key's step or effects failed: try again after a growing pause, which is returned.

        ``asked_s``: the other side asked us to wait this long.
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        pause: float = min(BACK_OFF_MIN_S * 2 ** min(failures, 20), BACK_OFF_MAX_S)
        pause = max(pause, min(asked_s, ASKED_PAUSE_MAX_S))
        self._finish(key)
        self.wake(key, now + pause)
        return pause

    def next_at(self) -> float | None:
        """When the next waiting key wakes; None when none waits."""
        while self._heap and self._is_stale(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _add_due(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if not self._is_stale(entry):
                key = entry[2]
                del self._waiting[key]
                self.add(key)

    def _finish(self, key: Key) -> None:
        assert key in self._stepping, key
        self._stepping.discard(key)
        if key in self._again:
            self._again.discard(key)
            self._ready[key] = None

    def _is_stale(self, entry: tuple[float, int, Key]) -> bool:
        """Its key was stepped, or is to be woken earlier, since it was pushed."""
        return self._waiting.get(entry[2]) is not entry

    def _sweep(self) -> None:
        """Keep the heap as small as what waits: a key that is stepped often leaves many entries."""
        if len(self._heap) > 2 * len(self._waiting) + STALE_MAX:
            self._heap = list(self._waiting.values())
            heapq.heapify(self._heap)
