"""Is there room for all that a plan promises, and do limits hold? Sums, and nothing else.

Shares nothing with the oracle but what a pod requests, so it finds mistakes of the oracle, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.requests import requests_of
from unmoor.engine.scene import Place, Scene
from unmoor.model.pod import Pod
from unmoor.model.quantity import QuantityError


def problems(scene: Scene, plan: Plan, pods: Iterable[Pod]) -> list[str]:
    """Return every sum that comes to more than there is."""
    by_key = {pod.key: pod for pod in pods}
    come: dict[str, list[Pod]] = {}
    for key, where in plan.placements.items():
        come.setdefault(where, []).append(by_key[key])
    found: list[str] = []
    for place in scene.places:
        found += _over_room(place, come.get(place.name, []))
    for machine in plan.machines:
        found += _over_types(scene, machine, come[machine.name])
    return [*found, *_over_limits(scene, plan)]


def _over_room(place: Place, come: list[Pod]) -> Iterator[str]:
    there = [dict(place.reserved), *map(_asked, (*place.pods, *come))]
    for name in sorted({name for pod in come for name in _asked(pod)}):
        asked, has = sum(one.get(name, 0) for one in there), place.allocatable.get(name, 0)
        if asked > has and any(_asked(pod).get(name, 0) for pod in come):
            yield f"{place.name} has {has} of {name}, {asked} is asked"


def _over_types(scene: Scene, machine: NewMachine, come: list[Pod]) -> Iterator[str]:
    (template,) = (one for one in scene.templates if one.provisioner == machine.provisioner)
    asked = [dict(template.daemons), *map(_asked, come)]
    for kind in template.types:
        for name in sorted({name for one in asked for name in one}):
            total, has = sum(one.get(name, 0) for one in asked), kind.allocatable.get(name, 0)
            if kind.name in machine.instance_types and total > has:
                yield f"{machine.name} as {kind.name} has {has} of {name}, {total} is asked"


def _over_limits(scene: Scene, plan: Plan) -> Iterator[str]:
    """Each machine may become the largest of its types."""
    for template in scene.templates:
        capacity = {kind.name: kind.capacity for kind in template.types}
        for name, left in template.remaining.items():
            largest = [
                max(capacity[kind].get(name, 0) for kind in machine.instance_types)
                for machine in plan.machines
                if machine.provisioner == template.provisioner
            ]
            if largest and sum(largest) > left:
                yield f"{template.provisioner} may use {left} of {name}, uses {sum(largest)}"


def _asked(pod: Pod) -> dict[str, int]:
    """A pod that nobody can read asks for nothing."""
    try:
        return dict(requests_of(pod))
    except QuantityError:
        return {}
