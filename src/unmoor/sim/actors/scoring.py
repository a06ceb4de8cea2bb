"""How good is a node for a pod that may run there? As kube-scheduler's default profile scores it.

As that of Kubernetes 1.36, which is asked, node by node, in tests/e2e/test_scores.py.

Plain arithmetic on whole numbers, one function for each of its scores, each from 0 to 100
(kubernetes.io: "Scheduler Configuration", "Resource Bin Packing", "Pod Topology Spread
Constraints", "Assigning Pods to Nodes"). Their sum by ``WEIGHTS`` decides.

Left out: ImageLocality (nobody here has images).

Must not: know the cluster; ``placing`` brings the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from unmoor.engine.requests import requests_of
from unmoor.model import resources
from unmoor.model.pod import Pod
from unmoor.model.resources import CPU, MEMORY, Resources
from unmoor.model.scheduling import Container, ResourceRequirements

Scores: TypeAlias = Sequence[int]
"""One for each node, in the order of the nodes."""
BEST = 100
COUNTED: tuple[str, ...] = (CPU, MEMORY)
UNSAID: dict[str, str] = {CPU: "100m", MEMORY: "200Mi"}
"""What a container that asks for nothing counts for, for the least allocated node only."""
HARD_AFFINITY_WEIGHT = 1
"""What a running pod's required affinity to a pod is worth to that pod."""


class Score(StrEnum):
    """By the names of kube-scheduler's plugins."""

    FIT = "NodeResourcesFit"
    BALANCED = "NodeResourcesBalancedAllocation"
    SPREAD = "PodTopologySpread"
    POD_AFFINITY = "InterPodAffinity"
    NODE_AFFINITY = "NodeAffinity"
    TAINTS = "TaintToleration"


WEIGHTS: dict[Score, int] = {
    Score.FIT: 1,
    Score.BALANCED: 1,
    Score.SPREAD: 2,
    Score.POD_AFFINITY: 2,
    Score.NODE_AFFINITY: 2,
    Score.TAINTS: 3,
}


def counted_coming(pod: Pod) -> dict[str, int]:
    """Return what a pod that comes counts for in the free share of a node. Raises QuantityError.

    What it asks for as a whole does not count, as kube-scheduler has it.
    """
    spec = msgspec.structs.replace(pod.spec, resources=None)
    return _counted(msgspec.structs.replace(pod, spec=spec), COUNTED)


def counted_there(pod: Pod) -> dict[str, int]:
    """Return what a pod that is there counts for in it. Raises QuantityError.

    Where it asks for something as a whole, silence counts only where all of it is silent.
    """
    whole = pod.spec.resources
    if whole is None or not (whole.requests or whole.limits):
        return _counted(pod, COUNTED)
    asked = requests_of(pod)
    return _counted(pod, [name for name in COUNTED if not asked.get(name)])


def _counted(pod: Pod, unsaid: Iterable[str]) -> dict[str, int]:
    spec = msgspec.structs.replace(
        pod.spec,
        containers=tuple(_said(one, unsaid) for one in pod.spec.containers),
        init_containers=tuple(_said(one, unsaid) for one in pod.spec.init_containers),
    )
    return requests_of(msgspec.structs.replace(pod, spec=spec))


def _said(container: Container, unsaid: Iterable[str]) -> Container:
    given = container.resources
    added = {
        name: UNSAID[name]
        for name in unsaid
        if name not in given.requests and name not in given.limits
    }
    if not added:
        return container
    more = ResourceRequirements(requests={**given.requests, **added}, limits=given.limits)
    return msgspec.structs.replace(container, resources=more)


def least_allocated(counted: Resources, allocatable: Resources) -> int:
    """The free share of cpu and memory, on average; ``counted``: on the node, the pod included."""
    known = [name for name in COUNTED if allocatable.get(name, 0) > 0]
    if not known:
        return 0
    shares = (
        max(allocatable[name] - counted.get(name, 0), 0) * BEST // allocatable[name]
        for name in known
    )
    return sum(shares) // len(known)


def balanced(requested: Resources, mine: Resources, allocatable: Resources) -> int:
    """The more evenly cpu and memory are used with the pod than without, the better.

    ``requested``: on the node, the pod aside; ``mine``: by the pod, which is judged only if it asks
    for either. 75 where nothing changes.
    """
    if not any(mine.get(name, 0) for name in COUNTED):
        return 0
    gain = _evenness(resources.add(requested, mine), allocatable) - _evenness(
        requested, allocatable
    )
    return BEST // 2 + (BEST // 2 + gain) // 2


def _evenness(requested: Resources, allocatable: Resources) -> int:
    """Half the difference of the used shares is their standard deviation."""
    shares = [
        min(requested.get(name, 0) / allocatable[name], 1.0)
        for name in COUNTED
        if allocatable.get(name, 0) > 0
    ]
    apart = abs(shares[0] - shares[1]) / 2 if len(shares) == len(COUNTED) else 0.0
    return int((1.0 - apart) * BEST)


def spread_weight(domains: int) -> float:
    """What one pod counts where there are so many domains: with more of them, each holds fewer."""
    return math.log(domains + 2)


def crowding(counts: Sequence[tuple[int, int, float]]) -> int:
    """How crowded a node is: of each constraint pods in the domain, maxSkew, weight of a pod."""
    return round(sum(pods * weight + (max_skew - 1) for pods, max_skew, weight in counts))


def less_is_more(crowds: Sequence[int | None]) -> list[int]:
    """Turn crowding into scores; None, for a node without the label, is worth nothing."""
    known = [one for one in crowds if one is not None]
    if not known:
        return [0] * len(crowds)
    least, most = min(known), max(known)
    if most == 0:
        return [0 if one is None else BEST for one in crowds]
    return [0 if one is None else BEST * (most + least - one) // most for one in crowds]


def between(values: Scores) -> list[int]:
    """Stretch to 0 for the least and 100 for the most; all 0 when they are equal."""
    least, most = min(values), max(values)
    if most == least:
        return [0] * len(values)
    return [int(BEST * ((one - least) / (most - least))) for one in values]


def of_the_most(values: Scores) -> list[int]:
    """As shares of the most, in percent; all 0 when that is 0."""
    most = max(values)
    return [one * BEST // most for one in values] if most else [0] * len(values)


def the_fewer_the_better(values: Scores) -> list[int]:
    """The other way round: 100 for none, 0 for the most."""
    return [BEST - one for one in of_the_most(values)]


def best_of(names: Sequence[str], scores: Mapping[Score, Scores]) -> str:
    """Return the name with the highest weighted sum; of equals, the first by name."""
    sums = [sum(WEIGHTS[what] * of[at] for what, of in scores.items()) for at in range(len(names))]
    return min(zip(sums, names, strict=True), key=lambda one: (-one[0], one[1]))[1]
