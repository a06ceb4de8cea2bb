"""Which kinds of constraints has a random scene, and which of them refused somebody?

So that a generator that loses a kind is noticed: an agreement about what never occurs is worth
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec

from tests.engine import of_facts
from unmoor.engine.plan import Plan
from unmoor.engine.refusal import Constraint
from unmoor.engine.scene import Scene
from unmoor.model.pod import Pod

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
STRENGTHS = ("required", "preferred")
_NARROWED = ("namespaces", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys")
_POLICIES = ("nodeAffinityPolicy", "nodeTaintsPolicy")
ASKED = frozenset(
    (
        *of_facts.FIELDS,
        "nodeSelector",
        "tolerations",
        "resources.requests",
        "containers.resources.requests",
        "containers.resources.limits",
        "initContainers.resources.requests",
        "initContainers.restartPolicy=Always",
        "initContainers.ports.hostPort",
        "initContainers.ports.hostIP",
        "volumes.persistentVolumeClaim",
        "volumes.ephemeral",
        "volumes.awsElasticBlockStore",
        "volumes.gcePersistentDisk",
        "volumes.rbd",
        "topologySpreadConstraints.maxSkew",
        "topologySpreadConstraints.minDomains",
        "topologySpreadConstraints.matchLabelKeys",
        "topologySpreadConstraints.whenUnsatisfiable=ScheduleAnyway",
        *(
            f"topologySpreadConstraints.{policy}={value}"
            for policy, value in product(_POLICIES, ("Honor", "Ignore"))
        ),
        *(
            f"affinity.nodeAffinity.{how}.operator={operator}"
            for how, operator in product(STRENGTHS, OPERATORS)
        ),
        *(
            f"affinity.{kind}.{how}.{field}"
            for kind, how, field in product(
                ("podAffinity", "podAntiAffinity"), STRENGTHS, _NARROWED
            )
        ),
    )
)
"""What pods ask for: fields of their spec, here and there with a value. What facts tell is in it
by itself."""
SHOWN = frozenset(
    (
        *("taints", "cordoned", "not initialized", "reserved", "volume room", "pods there"),
        *("started", "promised", "limits", "weight", "daemons", "problem", "hold"),
    )
)
"""What a scene has besides."""
KINDS = frozenset((*ASKED, *SHOWN, *Constraint))
WRAPPINGS = ("nodeSelectorTerms", "preference", "podAffinityTerm", "matchExpressions")
"""Words of the API that differ between what is required and what is preferred."""


def kinds_in(on: Scene, pods: Sequence[Pod], plan: Plan) -> set[str]:
    """All that occurs in a scene, and what refused anybody in its plan."""
    asked = {word for pod in pods for word in _words(msgspec.to_builtins(pod.spec), ())}
    refused = {one.constraint.value for found in plan.refused.values() for one in found}
    return (asked & ASKED) | set(_shown(on)) | refused


def rare(met: Mapping[str, int], least: int) -> dict[str, int]:
    """The kinds that occur less than so many times."""
    return {kind: met.get(kind, 0) for kind in sorted(KINDS) if met.get(kind, 0) < least}


def _words(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Each field that says something, with all that it lies in."""
    yield ".".join(path)
    if isinstance(value, dict):
        for word, inner in value.items():
            if inner:
                yield from _words(inner, path if word in WRAPPINGS else (*path, _short(word)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _words(inner, path)
    else:
        yield f"{'.'.join(path)}={value}"


def _short(word: str) -> str:
    return word.removesuffix("DuringSchedulingIgnoredDuringExecution")


def _shown(on: Scene) -> Iterator[str]:
    has = Counter[str]()
    for place in on.places:
        has["taints"] += len(place.taints)
        has["cordoned"] += place.is_cordoned
        has["not initialized"] += not place.is_initialized
        has["reserved"] += len(place.reserved)
        has["volume room"] += len(place.volume_room)
        has["pods there"] += len(place.pods)
    for one in on.templates:
        has["limits"] += len(one.remaining)
        has["weight"] += one.weight
        has["daemons"] += len(one.daemons)
        has["problem"] += bool(one.problem)
        has["hold"] += one.hold is not None
    has["started"] += len(on.started)
    has["promised"] += len(on.promised)
    yield from (kind for kind, times in has.items() if times)
