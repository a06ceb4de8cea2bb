"""PodDisruptionBudgets: how many pods may be missing, as the API server last computed it.

Must not: predict. The server decides each eviction; these numbers say what it will probably answer
and name the budget in reports.
"""

from __future__ import annotations

from datetime import datetime

from unmoor.model.base import Object, Struct
from unmoor.model.selector import LabelSelector


class PodDisruptionBudgetSpec(Struct):
    """API reference: policy/v1 PodDisruptionBudgetSpec."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = "IfHealthyBudget"


class PodDisruptionBudgetStatus(Struct):
    """API reference: policy/v1 PodDisruptionBudgetStatus."""

    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, datetime] = {}


class PodDisruptionBudget(Object):
    """API reference: policy/v1 PodDisruptionBudget."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
