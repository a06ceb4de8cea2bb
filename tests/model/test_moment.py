"""When: waits on one clock, time stamps on the other, and never both mixed up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from unmoor.model.moment import (
    FIRST,
    LAST,
    Moment,
    doubled_s,
    earliest,
    later,
    rfc3339,
    rfc3339_micro,
    utc,
)

WALL = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
NOW = Moment(WALL, 1000.0)
LATER = timedelta(seconds=30)


def test_waits_are_never_in_the_past() -> None:
    assert NOW.after(30) == 1030.0
    assert NOW.after(-30) == 1000.0
    assert NOW.at(WALL + LATER) == 1030.0
    assert NOW.at(WALL - LATER) == 1000.0


@pytest.mark.parametrize(
    ("since", "seconds"), [(WALL - LATER, 30.0), (WALL, 0.0), (WALL + LATER, 0.0), (None, 0.0)]
)
def test_nothing_has_lasted_less_than_no_time(since: datetime | None, seconds: float) -> None:
    assert NOW.since_s(since) == seconds


@pytest.mark.parametrize(
    ("times", "seconds"), [(-1, 10.0), (0, 10.0), (1, 20.0), (4, 160.0), (5, 300.0), (10**6, 300.0)]
)
def test_waits_double_up_to_the_longest(times: int, seconds: float) -> None:
    assert doubled_s(10.0, times, 300.0) == seconds


def test_a_deadline_is_a_wall_time() -> None:
    assert NOW.plus(30) == WALL + LATER


def test_times_are_written_as_the_api_does() -> None:
    there = datetime(2024, 5, 1, 14, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))

    assert rfc3339(there) == "2024-05-01T12:00:00Z"
    assert rfc3339_micro(there) == "2024-05-01T12:00:00.123456Z"


@pytest.mark.parametrize(
    ("times", "first"), [((), None), ((None, None), None), ((3.0, None, 2.0), 2.0), ((0.0,), 0.0)]
)
def test_the_earliest_of_what_is_known(times: tuple[float | None, ...], first: float) -> None:
    assert earliest(*times) == first


@pytest.mark.parametrize("delay_s", [1e12, 2**63 - 1, 1e300, float("inf")])
def test_no_delay_and_no_year_is_too_large(delay_s: float) -> None:
    assert later(WALL, delay_s) == LAST
    assert later(WALL, -delay_s) == FIRST
    assert later(LAST, 2) == LAST
    assert later(FIRST, -2) == FIRST


@pytest.mark.parametrize(
    ("ago_s", "is_recent"),
    [(0, True), (59.9, True), (60, False), (-59.9, True), (-60, False), (-1e11, False)],
)
def test_what_was_not_long_ago_or_is_not_long_to_come(ago_s: float, *, is_recent: bool) -> None:
    moment = Moment(WALL, 1.0)

    assert moment.is_recent(later(WALL, -ago_s), 60) is is_recent
    assert not moment.is_recent(None, 60)


EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))


@pytest.mark.parametrize(
    ("wall", "there"),
    [
        (datetime(9999, 12, 31, 22, tzinfo=WEST), LAST),
        (datetime(1, 1, 1, 2, tzinfo=EAST), FIRST),
        (datetime(2024, 5, 1, 2, tzinfo=EAST), datetime(2024, 4, 30, 12, tzinfo=UTC)),
    ],
)
def test_a_time_that_utc_has_no_year_for_is_the_last_or_the_first(
    wall: datetime, there: datetime
) -> None:
    """A custom resource keeps the offset that somebody has written."""
    assert utc(wall) == there
    assert rfc3339(wall) == rfc3339(there)


def test_a_year_has_four_digits() -> None:
    assert rfc3339(FIRST) == "0001-01-01T00:00:00Z"
    assert rfc3339_micro(LAST) == "9999-12-31T23:59:59.999999Z"
