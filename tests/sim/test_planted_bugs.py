"""Bugs that somebody might write are found by the swarm: each within 200 seeds.

Seeds are lived through in order until a rule is broken; to be quick, each search begins at a
seed that is known to find its bug (a missing uid takes a slow request in the wrong moment). Without
the bug none of these seeds breaks a rule.
"""

from __future__ import annotations

import pytest

from tests.sim import sabotage
from unmoor.sim.mischief import Meddling

SEEDS_MOST = 200
HOURS = 2.0

BUGS: list[tuple[type[Meddling], int, str]] = [
    (sabotage.NoUidPrecondition, 4, "nothing-that-is-not-ours"),
    (sabotage.BudgetNotRead, 1, "a-pod-leaves-by-eviction"),
    (sabotage.FinalizerRemovedFirst, 1, "the-finalizer-holds"),
    (sabotage.UnknownTakenForRefused, 5, "a-machine-is-launched-once"),
    (sabotage.AttemptNotWrittenDown, 1, "a-machine-is-launched-once"),
    (sabotage.TerminatingTakenForGone, 7, "no-machine-ended-under-a-pod"),
    (sabotage.WatchTrusted, 6, "no-machine-ended-under-a-pod"),
    (sabotage.ClockTrusted, 42, "no-machine-ended-under-a-pod"),
    (sabotage.ReferenceLeft, 8, "nothing-of-ours-is-left"),
    (sabotage.ClusterTagIgnored, 1, "nothing-that-is-not-ours"),
    (sabotage.AnyCordonRemoved, 2, "a-cordon-of-a-person-stays"),
    (sabotage.NotReallyEmpty, 1, "a-node-goes-for-a-reason"),
    (sabotage.RunningCommandForgotten, 1, "one-command-at-a-time"),
]
"""(the bug, a seed that finds it, the rule that it breaks there)."""


@pytest.mark.parametrize(
    ("bug", "first", "rule"), [pytest.param(b, f, r, id=b.__name__) for b, f, r in BUGS]
)
def test_a_planted_bug_is_found(bug: type[Meddling], first: int, rule: str) -> None:
    for seed in range(first, SEEDS_MOST + 1):
        result = sabotage.play(seed, HOURS, bug())
        if not result.ok:
            assert (seed, result.rule) == (first, rule), result.summary
            return
    raise AssertionError(f"no seed up to {SEEDS_MOST} has found it")
