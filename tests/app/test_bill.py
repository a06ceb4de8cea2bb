"""What the machines of a rehearsal cost, and how it is told: unknown is never free."""

from __future__ import annotations

import pytest

from unmoor.app.bill import NAMES_KEPT, Bill, Sum

HOUR = 3600.0


@pytest.mark.parametrize(
    ("given", "said", "known"),
    [
        (Sum(), "0 USD/h", 0.0),
        (Sum(0.25), "0.25 USD/h", 0.25),
        (Sum(0.00156), "0.00156 USD/h", 0.00156),
        (Sum(0.25, 2), "at least 0.25 USD/h (2 machines without a price)", 0.25),
        (Sum(0.0, 1), "an unknown sum (1 machine without a price)", None),
    ],
)
def test_a_sum(given: Sum, said: str, known: float | None) -> None:
    assert given.said("USD/h") == said
    assert given.known_usd == known


def test_what_runs_and_what_was_spent() -> None:
    bill = Bill()
    bill.start("a", 0.0, 0.5)
    bill.start("b", 0.0, 0.25)
    bill.start("b", HOUR, 9.0)
    before = bill.fleet()
    bill.stop("a", HOUR)
    bill.stop("never-seen", HOUR)

    cost = bill.cost("mine.json", before, 2 * HOUR)

    assert (cost.usd_per_h_before, cost.usd_per_h_after, cost.spent_usd) == (0.75, 0.25, 1.0)
    assert " ".join(cost.lines("at first", "it spent")) == (
        "the fleet costs 0.25 USD/h, and at first it cost 0.75 USD/h; it spent 1 USD "
        "(prices: mine.json)"
    )


def test_machines_without_a_price_are_counted_beside_each_sum_and_named() -> None:
    bill = Bill()
    bill.start("a", 0.0, None)
    before = bill.fleet()
    bill.start("b", 0.0, 0.5)
    bill.start("c", 0.0, None)
    bill.stop("a", HOUR)
    cost = bill.cost("mine.json", before, HOUR)

    assert (cost.usd_per_h_before, cost.unpriced_before) == (None, 1)
    assert (cost.usd_per_h_after, cost.unpriced_after) == (0.5, 1)
    assert (cost.spent_usd, cost.unpriced_spent, cost.unpriced) == (0.5, 2, ("a", "c"))
    told, names = cost.lines("at first", "it spent")
    assert told == (
        "the fleet costs at least 0.5 USD/h (1 machine without a price), "
        "and at first it cost an unknown sum (1 machine without a price); "
        "it spent at least 0.5 USD (2 machines without a price) (prices: mine.json)"
    )
    assert names == "without a price: a, c"


def test_what_was_before_does_not_count_once_it_begins_anew() -> None:
    bill = Bill()
    bill.start("gone", 0.0, None)
    bill.start("a", 0.0, 0.5)
    bill.start("b", 0.0, None)
    bill.stop("gone", HOUR)
    bill.begin_anew(HOUR)
    cost = bill.cost("mine.json", bill.fleet(), 3 * HOUR)

    assert (cost.spent_usd, cost.unpriced_spent, cost.unpriced) == (1.0, 1, ("b",))


def test_not_all_names_are_kept() -> None:
    bill = Bill()
    for number in range(NAMES_KEPT + 1):
        bill.start(f"m-{number}", 0.0, None)
        bill.stop(f"m-{number}", 0.0)
    cost = bill.cost("mine.json", Sum(), HOUR)

    assert (cost.unpriced_spent, len(cost.unpriced)) == (NAMES_KEPT + 1, NAMES_KEPT)
    assert cost.lines("at first", "it spent")[1] == "without a price: m-0, m-1, m-2 and 998 more"
