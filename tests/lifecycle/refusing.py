"""What the small world's server refuses, and where the answer is kept."""

from __future__ import annotations

from unmoor.lifecycle.effects import Create, Delete, Patch
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.policy.drain import budgets_over


def asked_by(effect: Patch | Delete | Create) -> tuple[Asked, str]:
    """What a refused write is remembered about."""
    if isinstance(effect, Create):
        return Asked.CREATION, effect.owner.uid if effect.owner is not None else ""
    return Asked.WRITE, effect.ref.uid


def eviction_refusal(view: View, pod: Pod | None) -> Problem | None:
    """Why a pod may not be evicted now, None when it may."""
    if pod is None:
        return Problem(ProblemKind.NOT_FOUND)
    budgets = budgets_over(view, pod)
    if len(budgets) > 1:
        return Problem(ProblemKind.FAILED, "more than one budget", code=500)
    if any(budget.status.disruptions_allowed <= 0 for budget in budgets):
        return Problem(ProblemKind.TOO_MANY_REQUESTS, "would violate the budget", code=429)
    return None
