"""Which node may go first? The one whose going disrupts the workloads least (001:90-94, spec 3.6).

The page's own order is the default (R8): nodes with fewer pods, then those that expire soon, then
those with pods of lower priority. One formula of all three, as Karpenter has it, is an option.

Must not: know what a node costs, or where its pods would go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from types import MappingProxyType
from typing import TypeAlias

from unmoor.model import names
from unmoor.model.moment import Moment
from unmoor.model.pod import Pod
from unmoor.model.settings import FEWEST_PODS, LEAST_COST
from unmoor.policy.command import Candidate

Key: TypeAlias = tuple[float, float, float]

DELETION_COST_UNIT = 2.0**27
PRIORITY_UNIT = 2.0**25
EVICTION_COST_MOST = 10.0
"""One pod counts at most so much, and at least as much below zero."""


def eviction_cost(pod: Pod) -> float:
    """Return what the eviction of one pod counts: 1 for an ordinary one (spec 3.6)."""
    cost = 1.0 + _deletion_cost(pod) / DELETION_COST_UNIT + (pod.spec.priority or 0) / PRIORITY_UNIT
    return min(max(cost, -EVICTION_COST_MOST), EVICTION_COST_MOST)


def lifetime_left(candidate: Candidate, moment: Moment) -> float:
    """Return the share of its lifetime that a node has before it; 1 when it does not expire."""
    ttl_s = candidate.provisioner.spec.ttl_seconds_until_expired
    if ttl_s is None:
        return 1.0
    if ttl_s <= 0:
        return 0.0
    age_s = moment.since_s(candidate.node.metadata.creation_timestamp)
    return min(max((ttl_s - age_s) / ttl_s, 0.0), 1.0)


def cost(candidate: Candidate, moment: Moment) -> float:
    """Return the disruption cost of a node (spec 3.6); an empty one has none."""
    pods = sum(eviction_cost(pod) for pod in candidate.pods)
    return pods * lifetime_left(candidate, moment)


def ordered(candidates: Iterable[Candidate], order: str, moment: Moment) -> list[Candidate]:
    """Return them, the least disruptive first, ties by name. ``order``: a value of the setting."""
    key = ORDERS[order]
    return sorted(candidates, key=lambda one: (key(one, moment), one.node.name))


def _by_pods(candidate: Candidate, moment: Moment) -> Key:
    priority = max((pod.spec.priority or 0 for pod in candidate.pods), default=0)
    return (len(candidate.pods), lifetime_left(candidate, moment), priority)


def _by_cost(candidate: Candidate, moment: Moment) -> Key:
    return (cost(candidate, moment), 0.0, 0.0)


ORDERS: Mapping[str, Callable[[Candidate, Moment], Key]] = MappingProxyType(
    {FEWEST_PODS: _by_pods, LEAST_COST: _by_cost}
)
"""By the value of ``unmoor.consolidationOrder``."""


def _deletion_cost(pod: Pod) -> float:
    """What means no number counts as nothing."""
    try:
        cost = float(pod.metadata.annotations.get(names.POD_DELETION_COST, "0"))
    except ValueError:
        return 0.0
    return cost if isfinite(cost) else 0.0
