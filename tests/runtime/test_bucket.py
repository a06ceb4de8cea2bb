"""How fast is fast: a burst, then a rate."""

from unmoor.runtime.bucket import TokenBucket


def test_a_burst_is_free_and_then_each_waits_its_turn() -> None:
    bucket = TokenBucket(rate_per_s=10, burst=2)

    assert [bucket.reserve(0.0) for _ in range(4)] == [0, 0, 0.1, 0.2]


def test_it_fills_with_time_but_holds_no_more_than_its_burst() -> None:
    bucket = TokenBucket(rate_per_s=10, burst=2)
    for _ in range(2):
        bucket.reserve(0.0)

    assert bucket.try_take(0.05) is False
    assert bucket.try_take(0.1) is True
    assert [bucket.try_take(100.0) for _ in range(3)] == [True, True, False]


def test_a_clock_that_goes_back_neither_fills_nor_empties() -> None:
    bucket = TokenBucket(rate_per_s=1, burst=2)

    assert bucket.try_take(100.0) is True
    assert [bucket.try_take(50.0) for _ in range(2)] == [True, False]
    assert bucket.try_take(51.0) is True
