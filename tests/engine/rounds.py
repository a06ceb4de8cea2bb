"""Several rounds of planning: what was planned is bound, new machines become nodes, and on it goes.

A machine becomes the cheapest of its types in the cheapest place where that is sold; a label that
may still have several values gets the first of them. It is not initialised yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tests.engine.scenes import WEB, scene, solve, some
from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.pricing import cheapest_first
from unmoor.engine.scene import Place, Scene, Template
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.pod import Pod


class Rounds:
    """A scene that changes as its plans are carried out."""

    def __init__(self, *parts: Place | Template, objects: Iterable[Object] = ()) -> None:
        """Start with places and templates; ``objects`` are namespaces and storage."""
        self.scene = scene(*parts, objects=objects)
        self.number = 0

    def play(self, *pods: Pod) -> Plan:
        """Plan these pods and bind those that have a place."""
        plan = solve(self.scene, pods)
        self.scene = _carried_out(self.scene, plan, pods, f"round-{self.number}")
        self.number += 1
        return plan

    def add(self, count: int, **about: Any) -> Plan:
        """Plan ``count`` equal pods, called by this round."""
        return self.play(*some(count, f"pod-{self.number}", **about))

    def offer(self, *templates: Template) -> None:
        """Have these templates from now on."""
        ordered = tuple(sorted(templates, key=lambda one: one.order))
        self.scene = msgspec.structs.replace(self.scene, templates=ordered)

    def change(self, **fields: Any) -> None:
        """Change every place alike."""
        changed = tuple(msgspec.structs.replace(one, **fields) for one in self.scene.places)
        self.scene = msgspec.structs.replace(self.scene, places=changed)

    def by_domain(self, key: str = names.ZONE, labels: Mapping[str, str] = WEB) -> dict[str, int]:
        """How many pods with these labels each domain has; domains without any are left out."""
        found: Counter[str] = Counter()
        for place in self.scene.places:
            if key in place.labels:
                found[place.labels[key]] += sum(
                    labels.items() <= pod.metadata.labels.items() for pod in place.pods
                )
        return {domain: count for domain, count in found.items() if count}

    def counts(self, key: str = names.ZONE, labels: Mapping[str, str] = WEB) -> list[int]:
        """The same without the domains' names, sorted."""
        return sorted(self.by_domain(key, labels).values())

    @property
    def nodes(self) -> list[str]:
        """The type of each node that came of a plan."""
        types = (place.labels.get(names.INSTANCE_TYPE) for place in self.scene.places)
        return sorted(one for one in types if one is not None)


def _carried_out(on: Scene, plan: Plan, pods: Iterable[Pod], prefix: str) -> Scene:
    bound: dict[str, list[Pod]] = {}
    for pod in pods:
        where = plan.placements.get(pod.key)
        if where is not None:
            bound.setdefault(where, []).append(pod)
    standing = [
        msgspec.structs.replace(
            place, pods=(*place.pods, *_running(bound.get(place.name, ()), place.name))
        )
        for place in on.places
    ]
    joined = [
        _joined(on, one, f"{prefix}-{one.name}", bound.get(one.name, ())) for one in plan.machines
    ]
    places = tuple(sorted((*standing, *joined), key=lambda one: one.order))
    return msgspec.structs.replace(on, places=places)


def _joined(on: Scene, machine: NewMachine, name: str, pods: Iterable[Pod]) -> Place:
    template = next(one for one in on.templates if one.provisioner == machine.provisioner)
    cheapest = cheapest_first(template.types, machine.requirements, machine.requests)[0]
    first = {
        one.key: min(one.values)
        for one in machine.requirements
        if one.values and not one.is_complement
    }
    labels = {
        **first,
        **cheapest.type.labels,
        names.ARCH: cheapest.type.arch,
        names.INSTANCE_TYPE: cheapest.type.name,
        names.ZONE: cheapest.offering.zone,
        names.CAPACITY_TYPE: cheapest.offering.capacity_type,
        names.HOSTNAME: name,
    }
    return Place(
        name=name,
        labels=labels,
        taints=template.taints,
        allocatable=cheapest.type.allocatable,
        reserved=template.daemons,
        pods=_running(pods, name),
        is_initialized=False,
        provisioner=template.provisioner,
    )


def _running(pods: Iterable[Pod], where: str) -> tuple[Pod, ...]:
    return tuple(
        msgspec.structs.replace(
            pod,
            spec=msgspec.structs.replace(pod.spec, node_name=where),
            status=msgspec.structs.replace(pod.status, phase="Running"),
        )
        for pod in pods
    )
