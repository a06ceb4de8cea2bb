"""How many nodes a budget lets go, when, and what is wrong with one (V405, V407)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from tests.builders import provisioner
from unmoor.model import names
from unmoor.policy import budgets
from unmoor.policy.budgets import DRIFTED, EMPTY, UNDERUTILIZED

MONDAY = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def allowed(*written: dict[str, Any], reason: str = EMPTY, nodes: int = 100) -> int | None:
    text = msgspec.json.encode(written).decode()
    made = provisioner(annotations={names.BUDGETS: text})
    return budgets.allowed(made, reason, nodes, MONDAY).most


def window(schedule: str, duration: str, nodes: str = "5") -> dict[str, Any]:
    return {"nodes": nodes, "schedule": schedule, "duration": duration}


def test_without_a_budget_as_many_as_like() -> None:
    assert budgets.allowed(provisioner(), EMPTY, 100, MONDAY).most is None


@pytest.mark.parametrize(
    ("written", "reason", "most"),
    [
        ([{"nodes": "0"}], EMPTY, 0),
        ([{"nodes": 7}], EMPTY, 7),
        ([{"nodes": "10%"}], EMPTY, 10),
        ([{"nodes": "100%"}], EMPTY, 100),
        ([{}], EMPTY, 10),
        ([{"nodes": "3", "reasons": ["Drifted"]}], EMPTY, None),
        ([{"nodes": "3", "reasons": ["Drifted"]}], DRIFTED, 3),
        ([{"nodes": "3", "reasons": ["Drifted", "Empty"]}], EMPTY, 3),
        ([{"nodes": "9"}, {"nodes": "3", "reasons": ["Empty"]}], EMPTY, 3),
        ([{"nodes": "9"}, {"nodes": "3", "reasons": ["Empty"]}], UNDERUTILIZED, 9),
        ([{"nodes": "9"}, {"nodes": "20"}], EMPTY, 9),
        ([], EMPTY, None),
    ],
)
def test_v405_the_smallest_that_applies(
    written: list[dict[str, Any]], reason: str, most: int | None
) -> None:
    assert allowed(*written, reason=reason) == most


@pytest.mark.parametrize(("nodes", "most"), [(0, 0), (1, 1), (9, 1), (10, 1), (11, 2)])
def test_v405_a_share_is_rounded_up(nodes: int, most: int) -> None:
    assert allowed({"nodes": "10%"}, nodes=nodes) == most


@pytest.mark.parametrize(
    ("schedule", "duration", "is_open"),
    [
        ("0 12 * * *", "1h", True),  # it opens now
        ("0 9 * * *", "8h", True),
        ("0 9 * * mon-fri", "8h", True),
        ("0 9 * * sat,sun", "8h", False),
        ("0 9 * * *", "3h", True),  # it closes now
        ("0 9 * * *", "2h59m", False),
        ("0 13 * * *", "1h", False),  # not yet
        ("@hourly", "90m", True),  # longer than between two hits
        ("@daily", "11h", False),
        ("@daily", "12h", True),
        ("@yearly", "24h", False),
        ("@daily", "2500000h", True),  # 285 years
    ],
)
def test_v405_a_window(schedule: str, duration: str, *, is_open: bool) -> None:
    assert allowed(window(schedule, duration)) == (5 if is_open else None)


def test_w03_a_window_is_in_utc() -> None:
    """W03: whatever zone the clock of whoever asks is set to."""
    elsewhere = MONDAY.astimezone(timezone(timedelta(hours=5)))
    budget = budgets.Budget(nodes="5", schedule="0 12 * * *", duration="1m")

    assert budgets.is_active(budget, elsewhere)
    assert not budgets.is_active(budget, MONDAY + timedelta(minutes=2))


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        ({"nodes": "-1"}, "nodes"),
        ({"nodes": "101%"}, "nodes"),
        ({"nodes": "1000%"}, "nodes"),
        ({"nodes": "-10%"}, "nodes"),
        ({"nodes": "many"}, "nodes"),
        ({"nodes": "1", "schedule": "@daily"}, "duration"),
        ({"nodes": "1", "duration": "1h"}, "schedule"),
        (window("* * * *", "1h"), "schedule"),
        (window("* * * * * *", "1h"), "schedule"),
        (window("61 * * * *", "1h"), "schedule"),
        (window("@fortnightly", "1h"), "schedule"),
        (window("@daily", "-1h"), "duration"),
        (window("@daily", "30s"), "duration"),
        (window("@daily", ""), "duration"),
        (window("@daily", "999999999h"), "duration"),
        ({"nodes": "1", "reasons": ["Ugly"]}, "reasons"),
    ],
)
def test_v407_what_is_not_valid_lets_nothing_go(broken: dict[str, Any], field: str) -> None:
    text = msgspec.json.encode([{"nodes": "50%"}, broken]).decode()
    made = provisioner(annotations={names.BUDGETS: text})

    found = budgets.allowed(made, EMPTY, 100, MONDAY)
    _, [error] = budgets.budgets_of(made)

    assert found.most == 0
    assert f"[1].{field}" in found.why
    assert error.remedy


@pytest.mark.parametrize(
    "text", ["", "10%", "{}", '[{"node": 1}]', '[{"nodes": 1.5}]', "[1]", '[{"nodes": null}]']
)
def test_what_cannot_be_read_lets_nothing_go(text: str) -> None:
    found = budgets.allowed(provisioner(annotations={names.BUDGETS: text}), EMPTY, 100, MONDAY)

    assert found.most == 0
    assert "unmoor.dev/budgets" in found.why


def test_there_is_a_limit_to_them() -> None:
    assert allowed(*({"nodes": "1"} for _ in range(50))) == 1
    assert allowed(*({"nodes": "1"} for _ in range(51))) == 0


@pytest.mark.parametrize("duration", ["1h", "90m", "1h30m", "1h30m0s"])
def test_v407_hours_and_minutes_are_durations(duration: str) -> None:
    assert allowed(window("0 12 * * *", duration)) == 5


def test_a_window_may_have_opened_before_there_were_years() -> None:
    budget = budgets.Budget(nodes="5", schedule="0 12 * * *", duration="2500000h")

    assert budgets.is_active(budget, datetime(2, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("schedule", "length", "fix"),
    [
        ("0 0 * * sat-sun", "24h", "sat,sun"),
        ("0 0 * * fri-mon", "24h", "sat,sun"),
        ("0 0 * * 6-0", "24h", "sat,sun"),
        ("0 22-6 * * *", "1h", "a list"),
        ("0 0 * nov-feb *", "1h", "a list"),
        ("0 0 30 2 *", "1h", "five fields"),
        ("0 0 * * 8", "1h", "five fields"),
    ],
)
def test_w01_an_impossible_schedule_is_told_with_its_fix(
    schedule: str, length: str, fix: str
) -> None:
    """W01: and lets nothing go, for this provisioner alone (test_allowance)."""
    text = msgspec.json.encode([{"nodes": "10%"}, window(schedule, length)]).decode()
    made = provisioner(annotations={names.BUDGETS: text})

    _, [error] = budgets.budgets_of(made)

    assert (error.field, error.value) == (
        f"metadata.annotations[{names.BUDGETS}][1].schedule",
        schedule,
    )
    assert fix in error.remedy
    assert budgets.allowed(made, EMPTY, 100, MONDAY).most == 0


def test_w01_sunday_may_be_written_as_seven() -> None:
    assert allowed(window("30 10 * * 1-7", "22h")) == 5
    assert allowed(window("0 12 * * 1-7", "1m")) == 5


@pytest.mark.parametrize(
    ("days", "length", "opens"),
    [
        ("sun-fri", "16h30m", "tue"),
        ("sun-fri", "16h30m", "sun"),
        ("sun-fri", "24h", "fri"),
        ("sat", "48h", "sun"),  # on into the next week
        ("fri", "96h", "mon"),
    ],
)
def test_w05_a_window_goes_on_past_the_end_of_the_week(days: str, length: str, opens: str) -> None:
    week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    noon = MONDAY + timedelta(days=week.index(opens))
    budget = budgets.Budget(nodes="5", schedule=f"0 6 * * {days}", duration=length)

    assert budgets.is_active(budget, noon)
    is_open = [budgets.is_active(budget, MONDAY + timedelta(days=day)) for day in range(7)]
    assert not all(is_open)


@pytest.mark.parametrize("length", ["0s", "0m", "0h", "0h0m", "0h0m0s"])
def test_w06_a_window_that_is_never_open_is_refused(length: str) -> None:
    text = msgspec.json.encode([window("0 3 * * sat,sun", length)]).decode()
    made = provisioner(annotations={names.BUDGETS: text})

    _, [error] = budgets.budgets_of(made)

    assert error.field.endswith("[0].duration")
    assert "never open" in str(error)
    assert "24h" in error.remedy
    assert budgets.allowed(made, EMPTY, 100, MONDAY).most == 0


@pytest.mark.parametrize("length", ["30s", "1h30m5s", "1hr", "-1s", "Never", "FooNever", ""])
def test_w12_a_window_is_open_for_hours_and_minutes(length: str) -> None:
    text = msgspec.json.encode([window("0 3 * * *", length)]).decode()

    _, [error] = budgets.budgets_of(provisioner(annotations={names.BUDGETS: text}))

    assert error.field.endswith("[0].duration")
