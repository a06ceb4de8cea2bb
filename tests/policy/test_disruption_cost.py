"""What the eviction of a pod counts, and which node goes first (11.1, spec 3.6, R8)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import at, changed, moment
from tests.policy.underused import consolidated, look, node, pod
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.model.settings import FEWEST_PODS, LEAST_COST
from unmoor.policy import candidates, consolidation, disruption_cost
from unmoor.policy.command import Candidate
from unmoor.policy.verdict import Method


def costing(deletion_cost: str | None = None, priority: int | None = None) -> float:
    annotations = {} if deletion_cost is None else {names.POD_DELETION_COST: deletion_cost}
    return disruption_cost.eviction_cost(_pod(priority, annotations=annotations))


def _pod(priority: int | None = None, on: str = "a", **given: Any) -> Pod:
    made = pod("web-1", on, **given)
    return changed(made, spec=changed(made.spec, priority=priority))


def test_t001_an_ordinary_pod_counts_one() -> None:
    assert costing() == 1.0


@pytest.mark.parametrize(
    ("given", "is_more"),
    [
        (("100", None), True),  # T002
        (("-100", None), False),  # T003
        ((None, 1), True),  # T005
        ((None, -1), False),  # T006
    ],
)
def test_what_counts_more_and_less(given: tuple[str | None, int | None], *, is_more: bool) -> None:
    assert (costing(*given) > 1.0) is is_more
    assert costing(*given) != 1.0


def test_t004_a_higher_deletion_cost_counts_more() -> None:
    costs = [costing(given) for given in ("101", "100", "99")]

    assert costs == sorted(set(costs), reverse=True)


@pytest.mark.parametrize(
    ("given", "cost"),
    [
        (("2147483647", 2_000_001_000), 10.0),
        (("-2147483647", -2_000_000_000), -10.0),
        (("much", None), 1.0),
        (("nan", None), 1.0),
        (("inf", None), 1.0),
        (("", None), 1.0),
    ],
)
def test_it_has_bounds_whatever_is_written(
    given: tuple[str | None, int | None], cost: float
) -> None:
    assert costing(*given) == cost


def candidates_of(*objects: Any) -> list[Candidate]:
    seen = look(*objects)
    found = candidates.find(seen.view, Method.CONSOLIDATION, consolidation.wants, seen.moment)
    return list(found.candidates)


@pytest.mark.parametrize(
    ("age_s", "ttl_s", "left"),
    [(0, 100, 1.0), (25, 100, 0.75), (200, 100, 0.0), (5, None, 1.0), (-420, 100, 1.0)],
)
def test_how_much_of_its_life_is_left(age_s: float, ttl_s: int | None, left: float) -> None:
    """T09: a clock that is ahead of ours makes no node younger than none."""
    [one] = candidates_of(
        consolidated(ttlSecondsUntilExpired=ttl_s), node("a", created_at=at(-age_s))
    )

    assert disruption_cost.lifetime_left(one, moment()) == left


def names_in(order: str, *objects: Any) -> list[str]:
    found = disruption_cost.ordered(candidates_of(*objects), order, moment())
    return [one.node.name for one in found]


def test_the_pages_order() -> None:
    """Fewer pods; then who expires soon; then lower priority; then by name (001:90-94)."""
    nodes = [node(name, created_at=at(-50 if name == "d" else 0)) for name in "edcba"]
    pods = [_pod(5, on="a"), *(_pod(on=name) for name in "bcd")]
    crowd = [pod(f"web-{i}", "e") for i in range(2)]

    expiring = consolidated(ttlSecondsUntilExpired=100)
    shown = names_in(FEWEST_PODS, expiring, *nodes, *_apart(pods), *crowd)

    assert shown == ["d", "b", "c", "a", "e"]


def _apart(pods: list[Pod]) -> list[Pod]:
    """The same, under names of their own."""
    return [
        changed(one, metadata=changed(one.metadata, name=f"one-{i}", uid=f"uid-{i}"))
        for i, one in enumerate(pods)
    ]


def test_by_the_formula_pods_of_little_worth_go_first() -> None:
    cheap = {names.POD_DELETION_COST: "-2000000000"}
    pods = [pod("web-1", "b"), *(pod(f"api-{i}", "a", annotations=cheap) for i in range(2))]

    assert names_in(LEAST_COST, node("a"), node("b"), *pods) == ["a", "b"]
    assert names_in(FEWEST_PODS, node("a"), node("b"), *pods) == ["b", "a"]
