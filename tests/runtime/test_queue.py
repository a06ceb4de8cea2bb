"""Which key is stepped next: tables, and a machine that knows what must hold at any time."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from unmoor.model.observation import ASKED_PAUSE_MAX_S
from unmoor.runtime.queue import (
    BACK_OFF_MAX_S,
    BACK_OFF_MIN_S,
    SPIN_WINDOW_S,
    SPINS_MAX,
    STALE_MAX,
    WorkQueue,
)
from unmoor.runtime.reconciler import Key


def taken(queue: WorkQueue, now: float) -> list[Key]:
    """Everything that is ready, stepped at once."""
    keys: list[Key] = []
    while (key := queue.take(now)) is not None:
        keys.append(key)
        queue.done(key, None)
    return keys


def test_keys_are_taken_in_the_order_of_coming_and_once() -> None:
    queue = WorkQueue()
    for key in ("b", "a", "b", "c", "a"):
        queue.add(key)

    assert len(queue) == 3
    assert taken(queue, 0.0) == ["b", "a", "c"]
    assert queue.is_idle


def test_a_key_is_never_taken_twice_at_once() -> None:
    queue = WorkQueue()
    queue.add("a")

    assert queue.take(0.0) == "a"
    queue.add("a")
    queue.wake("a", 0.0)
    assert queue.take(0.0) is None
    assert not queue.is_idle


def test_what_came_during_a_step_is_looked_at_once_more() -> None:
    queue = WorkQueue()
    queue.add("a")
    queue.take(0.0)
    queue.add("a")
    queue.add("a")

    queue.done("a", None)
    assert taken(queue, 0.0) == ["a"]


@pytest.mark.parametrize(
    ("wakes", "expected"),
    [
        ([5.0], 5.0),
        ([5.0, 3.0], 3.0),
        ([3.0, 5.0], 3.0),
        ([3.0, 3.0], 3.0),
        ([math.inf], None),
        ([math.inf, 4.0], 4.0),
        ([], None),
    ],
)
def test_the_earliest_wake_wins(wakes: list[float], expected: float | None) -> None:
    queue = WorkQueue()
    for at in wakes:
        queue.wake("a", at)

    assert queue.next_at() == expected
    if expected is not None:
        assert taken(queue, expected - 0.001) == []
        assert taken(queue, expected) == ["a"]
    assert queue.next_at() is None


def test_a_step_says_anew_when_to_look_again() -> None:
    queue = WorkQueue()
    queue.wake("a", 5.0)
    queue.add("a")
    queue.take(1.0)
    queue.done("a", 9.0)

    assert queue.next_at() == 9.0
    assert taken(queue, 5.0) == []


def test_failures_wait_longer_and_longer_until_success() -> None:
    queue = WorkQueue()
    queue.add("a")
    now, pauses = 0.0, []
    for _ in range(9):
        assert queue.take(now) == "a"
        pauses.append(queue.failed("a", now))
        now += pauses[-1]

    assert pauses[:4] == [BACK_OFF_MIN_S, 0.2, 0.4, 0.8]
    assert pauses[-1] == BACK_OFF_MAX_S
    assert queue.take(now) == "a"
    queue.done("a", None)
    queue.add("a")
    queue.take(now)
    assert queue.failed("a", now) == BACK_OFF_MIN_S


@pytest.mark.parametrize(("asked", "waited"), [(0.0, 0.1), (5.0, 5.0), (9e9, ASKED_PAUSE_MAX_S)])
def test_a_pause_that_is_asked_for_is_kept_within_bounds(asked: float, waited: float) -> None:
    queue = WorkQueue()
    queue.add("a")
    queue.take(0.0)

    assert queue.failed("a", 0.0, asked) == waited
    assert queue.next_at() == waited


def test_a_failed_key_is_stepped_at_once_when_something_changed() -> None:
    queue = WorkQueue()
    queue.add("a")
    queue.take(0.0)
    queue.add("a")
    queue.failed("a", 0.0)

    assert queue.take(0.0) == "a"


@pytest.mark.parametrize("how", ["added", "woken"])
def test_a_spinning_key_waits_and_holds_up_nobody(how: str) -> None:
    queue = WorkQueue()
    queue.add("a")
    steps = 0
    while (key := queue.take(7.0)) is not None:
        steps += 1
        queue.done(key, 7.0 if how == "woken" else None)
        if how == "added":
            queue.add("a")
    queue.add("b")

    assert steps == SPINS_MAX
    assert taken(queue, 7.0) == ["b"]
    assert queue.next_at() == 7.0 + SPIN_WINDOW_S
    assert taken(queue, 7.0 + SPIN_WINDOW_S) == ["a"]


def test_the_heap_stays_as_small_as_what_waits() -> None:
    queue = WorkQueue()
    for turn in range(5_000):
        queue.add("a")
        queue.take(float(turn))
        queue.done("a", 1e6 if turn % 2 else 2e6 + turn)

    assert len(queue._heap) <= STALE_MAX + 3
    assert queue.next_at() == 1e6


def test_a_time_that_is_no_time_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        WorkQueue().wake("a", math.nan)


def test_what_is_not_being_stepped_cannot_be_done() -> None:
    with pytest.raises(AssertionError):
        WorkQueue().done("a", None)


KEYS = st.sampled_from("abcd")
DELAYS = st.sampled_from([0.0, 0.05, 0.1, 0.5, 1.0, 3.0])


class QueueMachine(RuleBasedStateMachine):
    """``wanted`` is when each key must have been stepped again, at the latest."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = WorkQueue()
        self.now = 0.0
        self.stepping: set[Key] = set()
        self.wanted: dict[Key, float] = {}
        self.steps: list[tuple[float, Key]] = []

    def want(self, key: Key, at: float) -> None:
        self.wanted[key] = min(at, self.wanted.get(key, math.inf))

    @rule(key=KEYS)
    def add(self, key: Key) -> None:
        self.queue.add(key)
        self.want(key, self.now)

    @rule(key=KEYS, delay=DELAYS)
    def wake(self, key: Key, delay: float) -> None:
        self.queue.wake(key, self.now + delay)
        self.want(key, self.now + delay)

    @rule(delay=DELAYS)
    def let_time_pass(self, delay: float) -> None:
        self.now += delay

    @rule()
    def take(self) -> None:
        key = self.queue.take(self.now)
        if key is None:
            for other, at in self.wanted.items():
                assert other in self.stepping or at > self.now or self.has_spun(other)
            return
        assert key not in self.stepping
        assert self.wanted.pop(key) <= self.now
        self.stepping.add(key)
        self.steps.append((self.now, key))

    def has_spun(self, key: Key) -> bool:
        since = self.now - SPIN_WINDOW_S
        return sum(1 for at, other in self.steps if other == key and at > since) >= SPINS_MAX

    @precondition(lambda self: self.stepping)
    @rule(data=st.data(), delay=st.one_of(st.none(), DELAYS))
    def finish(self, data: st.DataObject, delay: float | None) -> None:
        key = data.draw(st.sampled_from(sorted(self.stepping, key=str)))
        self.stepping.remove(key)
        if data.draw(st.booleans()):
            self.want(key, self.now + self.queue.failed(key, self.now))
        else:
            self.queue.done(key, None if delay is None else self.now + delay)
            if delay is not None:
                self.want(key, self.now + delay)

    @invariant()
    def nothing_is_lost(self) -> None:
        """Whoever sleeps until ``next_at`` misses nothing."""
        due = [at for key, at in self.wanted.items() if key not in self.stepping and at > self.now]
        next_at = self.queue.next_at()
        if due and not len(self.queue):
            assert next_at is not None
            assert next_at <= min(due) or any(map(self.has_spun, self.wanted))
        assert self.queue.is_idle == (not len(self.queue) and not self.stepping)

    def teardown(self) -> None:
        for key in sorted(self.stepping, key=str):
            self.queue.done(key, None)
        left = set(self.wanted)
        for _ in range(100):
            self.now += SPIN_WINDOW_S
            left -= set(taken(self.queue, self.now))

        assert left == set()


TestQueue = QueueMachine.TestCase
