"""Disruption budgets: how many pods are there, are healthy, should be, and may be missing.

The status is what the API server's eviction answers by. As in a real cluster, a pod that is being
deleted, or whose eviction was admitted lately, is not healthy; what is expected is what the owners
of the pods want, except for a ``minAvailable`` in pods, which counts the pods that there are.

Must not: admit or refuse evictions. The server does, and writes into the same status.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from unmoor.model import selector
from unmoor.model.base import JSON, Object
from unmoor.model.disruption_budget import PodDisruptionBudget
from unmoor.model.kinds import BUDGETS, DEPLOYMENTS, JOBS, KINDS, PODS, REPLICA_SETS, STATEFUL_SETS
from unmoor.model.moment import Moment, rfc3339
from unmoor.model.pod import Pod
from unmoor.runtime.reconciler import either
from unmoor.sim.actors.actor import Actor, Key
from unmoor.sim.actors.owners import scaled

ADMITTED_FOR = timedelta(minutes=2)
"""How long an admitted eviction is believed to be under way (disruption controller)."""
_SCALED = (REPLICA_SETS.kind, STATEFUL_SETS.kind, DEPLOYMENTS.kind)


class Budgets(Actor):
    """Keeps the status of every PodDisruptionBudget."""

    kinds: ClassVar[tuple[str, ...]] = (BUDGETS.kind, PODS.kind, *_SCALED, JOBS.kind)

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """A pod concerns the budgets that select it; a new size all budgets of its namespace."""
        if kind == BUDGETS.kind:
            if new is not None:
                self.mark(new.key)
        elif kind == PODS.kind:
            self._look_at_pod(old, new)
        elif old is None or new is None or kind == JOBS.kind or _size(old) != _size(new):
            namespace = either(old, new).namespace
            for budget in self.store.budgets_in(namespace):
                self.mark(budget.key)

    def _look_at_pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None and _facts(old) == _facts(new):
            return
        for pod in (old, new):
            if pod is None:
                continue
            for budget in self.store.budgets_in(pod.namespace):
                if _selects(budget, pod):
                    self.mark(budget.key)

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Count, and write the status if it says something new."""
        budget = self.store.get(BUDGETS, key[1], key[0])
        if budget is None:
            return None
        pods = [pod for pod in self._pods_in(budget.namespace) if _selects(budget, pod)]
        admitted, look_again_at = _admitted(budget, pods, moment)
        healthy = sum(
            pod.is_ready and not pod.is_deleting and pod.name not in admitted for pod in pods
        )
        expected, desired = self._desired(budget, pods)
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        status = budget.status
        counts = (expected, healthy, desired, allowed, budget.metadata.generation)
        known = (
            status.expected_pods,
            status.current_healthy,
            status.desired_healthy,
            status.disruptions_allowed,
            status.observed_generation,
        )
        forgotten = sorted(status.disrupted_pods.keys() - admitted)
        if counts != known or forgotten:
            body = _status(counts, forgotten, moment)
            await self.stage.patch(budget, body, subresource="status", seen="this version")
        return look_again_at

    def _pods_in(self, namespace: str) -> list[Pod]:
        return [
            pod
            for pod in self.store.all(PODS).values()
            if pod.namespace == namespace and not pod.is_terminal
        ]

    def _desired(self, budget: PodDisruptionBudget, pods: list[Pod]) -> tuple[int, int]:
        """(expected, desired): percentages are of what is expected, rounded up."""
        spec = budget.spec
        if spec.max_unavailable is not None:
            expected = self._expected(pods)
            return expected, max(expected - scaled(spec.max_unavailable, expected), 0)
        if isinstance(spec.min_available, str):
            expected = self._expected(pods)
            return expected, scaled(spec.min_available, expected)
        return len(pods), spec.min_available or 0

    def _expected(self, pods: list[Pod]) -> int:
        """What the owners of these pods want; a pod without an owner is not expected."""
        one_of_each = {c.uid: pod for pod in pods if (c := pod.metadata.controller) is not None}
        owners = [self._scaled_owner(pod) for pod in one_of_each.values()]
        wanted = {owner.uid: _size(owner) for owner in owners if owner is not None}
        return sum(wanted.values())

    def _scaled_owner(self, obj: Object) -> Object | None:
        """The owner whose size counts: the Deployment of the ReplicaSet, else the owner itself."""
        reference = obj.metadata.controller
        if reference is None or reference.kind not in {*_SCALED, JOBS.kind}:
            return None
        found: Object | None = self.store.get(KINDS[reference.kind], reference.name, obj.namespace)
        if found is None or found.uid != reference.uid:
            return None
        return self._scaled_owner(found) or found


def _admitted(
    budget: PodDisruptionBudget, pods: list[Pod], moment: Moment
) -> tuple[set[str], float | None]:
    """Pods whose eviction was admitted and is still believed in, and when the next one expires."""
    there = {pod.name: pod for pod in pods}
    admitted = set()
    expiries = []
    for name, at in budget.status.disrupted_pods.items():
        pod = there.get(name)
        expires_at = at + ADMITTED_FOR
        if pod is not None and not pod.is_deleting and expires_at > moment.wall:
            admitted.add(name)
            expiries.append(moment.at(expires_at))
    return admitted, min(expiries, default=None)


def _status(counts: tuple[int, ...], forgotten: list[str], moment: Moment) -> JSON:
    expected, healthy, desired, allowed, generation = counts
    is_enough = allowed > 0
    condition = {
        "type": "DisruptionAllowed",
        "status": "True" if is_enough else "False",
        "reason": "SufficientPods" if is_enough else "InsufficientPods",
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": rfc3339(moment.wall),
    }
    status: JSON = {
        "expectedPods": expected,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "observedGeneration": generation,
        "conditions": [condition],
    }
    if forgotten:
        status["disruptedPods"] = dict.fromkeys(forgotten)
    return {"status": status}


def _size(owner: Any) -> int:
    """How many pods an owner wants."""
    if hasattr(owner.spec, "replicas"):
        return 1 if owner.spec.replicas is None else owner.spec.replicas
    return owner.spec.parallelism or 1


def _selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return selector.matches(budget.spec.selector, pod.metadata.labels)
    except selector.SelectorError:
        return False


def _facts(pod: Pod) -> tuple[Any, ...]:
    meta = pod.metadata
    return (pod.is_ready, pod.is_deleting, pod.is_terminal, meta.labels, meta.owner_references)
