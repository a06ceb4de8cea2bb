"""A wrong clock is told once, and a slow way is no wrong clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.kube.server import ManualClock, Server, says
from unmoor.kube.skew import Skew, ahead_at_least_s
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import PortError

NOON = datetime(2026, 1, 5, 12, 0, 0, tzinfo=UTC)
DATE = "Mon, 05 Jan 2026 12:00:00 GMT"


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("sent_s", "arrived_s", "ahead_s"),
    [
        (0, 0.1, 0),
        (0.9, 1.0, 0),
        (-30, 0.1, 0),  # a slow answer
        (-0.5, 60, 0),
        (1.5, 1.6, 0.5),
        (61, 62, 60),
        (-62, -60, -60),
        (-0.4, -0.2, -0.2),
    ],
)
def test_only_what_is_certain_counts(sent_s: float, arrived_s: float, ahead_s: float) -> None:
    found = ahead_at_least_s(after(sent_s), after(arrived_s), NOON)

    assert found == pytest.approx(ahead_s)


def test_it_is_told_when_it_begins_and_when_it_begins_again() -> None:
    skew, told = Skew(), list[str]()
    skew.tell = told.append
    for ahead_s in (0, 5.9, 6, 90, 3600, 0, -4, -20, -21):
        skew.note(after(ahead_s), after(ahead_s), DATE)

    ahead, behind = told
    assert ahead.startswith("our clock is at least 5 s ahead of that of the API server: what hangs")
    assert "comes too soon" in ahead
    assert behind.startswith("our clock is at least 20 s behind that of the API server")
    assert "comes too late" in behind


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Jan 2026 12:00:00 GMT", "0", "\x00"])
def test_a_date_that_is_none_says_nothing(date: str) -> None:
    skew, told = Skew(), list[str]()
    skew.tell = told.append
    skew.note(after(3600), after(3600), date)

    assert told == []


async def test_a_client_looks_at_every_answer() -> None:
    """The client's clock stands still at the first moment of 2026."""
    told = list[str]()
    async with Server() as server:
        server.otherwise = says(403, headers={"Date": "Thu, 01 Jan 2026 00:01:00 GMT"})
        async with server.api(clock=ManualClock()) as api:
            api.skew.tell = told.append
            for _ in range(3):
                with pytest.raises(PortError):
                    await api.get(NODES.ref("a"))

    assert [text.partition(":")[0] for text in told] == [
        "our clock is at least 60 s behind that of the API server"
    ]


def test_a_date_without_a_zone_is_utc() -> None:
    skew, told = Skew(), list[str]()
    skew.tell = told.append
    skew.note(after(0), after(0), "Mon, 05 Jan 2026 12:00:00 -0000")
    assert told == []

    skew.note(after(0), after(0), "Mon, 05 Jan 2026 11:00:00 -0000")
    assert len(told) == 1
