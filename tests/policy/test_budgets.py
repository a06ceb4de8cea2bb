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


def test_a_window_is_in_utc() -> None:
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
