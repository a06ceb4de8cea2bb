"""Does each disruption budget hold at every moment? Independent of unmoor and of the server.

Must not: act on anything.
"""

from __future__ import annotations

from typing import Any

from unmoor.model import kinds
from unmoor.model.pod import Pod
from unmoor.model.selector import SelectorError, matches
from unmoor.model.snapshot import View


class Overruns:
    """What was seen so far. Call ``look`` whenever a pod or a budget has changed."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self.found: list[str] = []
        self._was_healthy: set[str] = set()

    def look(self, view: View) -> None:
        """Count the healthy pods of each budget; it holds from when it first has enough."""
        for budget in view.sorted(kinds.BUDGETS):
            name = f"{budget.namespace}/{budget.name}"
            needed = budget.status.desired_healthy
            healthy = sum(
                _is_healthy_under(pod, budget.spec.selector)
                for pod in view.sorted(kinds.PODS)
                if pod.namespace == budget.namespace
            )
            if healthy >= needed > 0:
                self._was_healthy.add(name)
            elif name in self._was_healthy and healthy < needed:
                self.found.append(f"{name} had {healthy} healthy pods, needs {needed}")


def _is_healthy_under(pod: Pod, selector: Any) -> bool:
    try:
        return pod.is_ready and not pod.is_deleting and matches(selector, pod.metadata.labels)
    except SelectorError:
        return False
