"""Have the pods that a command moved landed where they were planned?

A pod that moves is another pod afterwards, so they are compared by owner: of so many that were to
go to a node, so many new ones of that owner are there.

Must not: count a pod that was there before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from unmoor.model.disruption import Disruption
from unmoor.model.kinds import MACHINES, NODES, PODS
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View

MACHINE = f"{MACHINES.kind.lower()}/"
NODE = f"{NODES.kind.lower()}/"


class Landed(StrEnum):
    """Where a moved pod has come to run."""

    PLANNED = "planned"
    GOING_SOON = "going-soon"
    ELSEWHERE = "elsewhere"


class Expected(msgspec.Struct, frozen=True):
    """What a command was to move: by owner, how many pods to which place, and who was there."""

    command: str
    places: Mapping[str, Mapping[str, int]] = {}
    before: Mapping[str, frozenset[str]] = {}


def expected(view: View, command: Disruption) -> Expected:
    """Note what is planned, while the pods that are to move are still there."""
    places: dict[str, Counter[str]] = {}
    for place, pods in sorted(command.spec.moves.items()):
        for written in pods:
            namespace, _, name = written.partition("/")
            pod = view.get(PODS, name, namespace)
            owner = pod.metadata.controller if pod is not None else None
            if owner is not None:
                places.setdefault(owner.uid, Counter())[place] += 1
    before = {uid: frozenset(pod.uid for pod in view.pods_of(uid)) for uid in places}
    return Expected(command.name, {uid: dict(many) for uid, many in places.items()}, before)


def landed(view: View, plan: Expected) -> dict[Landed, int]:
    """Return where the moved pods are by now; those that have no node yet are left out."""
    found: Counter[Landed] = Counter()
    for uid, places in sorted(plan.places.items()):
        nodes = Counter({_node_of(view, place): many for place, many in sorted(places.items())})
        # An owner may have grown meanwhile: no more have moved than were to.
        left = sum(places.values())
        others: list[Landed] = []
        for pod in _new(view, uid, plan.before[uid]):
            if left > 0 and nodes[pod.node_name] > 0:
                nodes[pod.node_name] -= 1
                found[Landed.PLANNED] += 1
                left -= 1
                continue
            node = view.node(pod.node_name)
            is_soon = node is not None and (node.is_going_soon or bool(node.disruption))
            others.append(Landed.GOING_SOON if is_soon else Landed.ELSEWHERE)
        found.update(others[: max(left, 0)])
    return {where: found[where] for where in Landed if found[where]}


def _new(view: View, owner: str, before: frozenset[str]) -> Iterator[Pod]:
    for pod in sorted(view.pods_of(owner), key=lambda one: one.key):
        if pod.uid not in before and pod.node_name and not pod.is_deleting:
            yield pod


def _node_of(view: View, place: str) -> str:
    if place.startswith(NODE):
        return place[len(NODE) :]
    machine = view.machine(place[len(MACHINE) :]) if place.startswith(MACHINE) else None
    return machine.node_name if machine is not None else place
