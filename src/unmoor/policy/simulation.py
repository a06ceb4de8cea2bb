"""Would their pods fit elsewhere, and what would it cost? What methods ask the engine. (spec 9.1)

Pods that wait for a node, and those of nodes that go already, come first: the room that they find
is not there for anybody else. Nobody is moved onto a node that is not up, not ready or cordoned,
nor onto a machine that is still to become one.

Must not: decide who goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.refusal import Refusal
from unmoor.engine.scene import Doubts, Place, Scene
from unmoor.engine.scenery import Scenery
from unmoor.engine.solving import Solver
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.model.wording import counted
from unmoor.policy import nomination
from unmoor.policy.provisionable import Wanting

if TYPE_CHECKING:
    from unmoor.engine.bulk.whatif import WhatIf

REFUSALS_SAID_MAX = 5
"""So many pods that find no place are named (spec 3.4)."""


class Outcome(msgspec.Struct, frozen=True):
    """What would become of the pods of some nodes.

    ``pods``: so many need a place. ``why_not``: why they cannot all have one, "" when they can.
    """

    plan: Plan
    pods: int = 0
    why_not: str = ""

    @property
    def machines(self) -> tuple[NewMachine, ...]:
        """The machines that it takes."""
        return self.plan.machines


class Simulation:
    """One view, asked again and again. Not to be shared between threads."""

    def __init__(self, what_if: WhatIf, types: Mapping[str, InstanceType]) -> None:
        """Ask ``what_if``. ``types``: by name, those on sale and those sold out."""
        self.types = types
        self._what_if = what_if

    def without(self, nodes: Collection[str]) -> Outcome:
        """Return what would become of the pods of these nodes if they were gone."""
        plan = self._what_if.without(nodes)
        count = len(plan.placements) + len(plan.refused)
        return Outcome(plan, count, _why_not(plan))

    def hopeless(self, nodes: Iterable[str]) -> dict[str, str]:
        """Return which of these nodes certainly cannot go by themselves, and why; not all such."""
        found = self._what_if.hopeless(nodes)
        return {name: _about(one.pod, one.refusal) for name, one in found.items()}


class Simulator:
    """Keeps what was found out for the last view. Dropping it costs time only."""

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._scenery = Scenery()
        self._solver = Solver()
        self._what_if: WhatIf | None = None

    def simulation(
        self,
        view: View,
        sold: tuple[InstanceType, ...],
        wanting: Wanting = Wanting(),
        doubts: Doubts = Doubts(),
    ) -> Simulation:
        """Return what answers for this view. ``sold``: the types, those sold out marked so.

        ``wanting``: who needs a place already, and comes first.
        """
        leaving = [pod.key for pod in wanting.leaving]
        scene = self._scenery.scene_of(view, sold, placing=leaving, doubts=doubts)
        if wanting.pods:
            promised = nomination.promised(view, scene, wanting.pods)
            scene = msgspec.structs.replace(scene, promised=promised)
            first = self._solver.solve(scene, wanting.pods)
            scene = _with_guests(scene, wanting.pods, first.placements)
        scene = _only_what_is_up(scene)
        from unmoor.engine.bulk.whatif import WhatIf  # noqa: PLC0415 - numpy takes a tenth of a second

        what_if, self._what_if = self._what_if, None  # What is left half done is not used again.
        if what_if is None:
            what_if = WhatIf(scene)
        else:
            what_if.follow(scene)
        self._what_if = what_if
        return Simulation(what_if, {one.name: one for one in sold})


def _with_guests(scene: Scene, pods: Iterable[Pod], where: Mapping[Key, str]) -> Scene:
    """Return the scene with these pods where they are planned to go; new machines aside."""
    guests: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.key in where:
            guests.setdefault(where[pod.key], []).append(pod)
    places = tuple(
        msgspec.structs.replace(one, pods=(*one.pods, *guests[one.name]))
        if one.name in guests
        else one
        for one in scene.places
    )
    return msgspec.structs.replace(scene, places=places)


def _only_what_is_up(scene: Scene) -> Scene:
    """Spec 9.1: nobody is moved to where it could not run at once."""
    places = tuple(
        one if _is_up(one) else msgspec.structs.replace(one, is_cordoned=True)
        for one in scene.places
    )
    return msgspec.structs.replace(scene, places=places, started=(), promised={})


def _is_up(place: Place) -> bool:
    return place.is_cordoned or (place.is_node and place.is_initialized and place.is_ready)


def _why_not(plan: Plan) -> str:
    refused = list(plan.refused)
    if not refused:
        return ""
    said = [_about(pod, *plan.refused[pod][:1]) for pod in refused[:REFUSALS_SAID_MAX]]
    more = len(refused) - len(said)
    rest = f" and {counted(more, 'other')}" if more else ""
    return f"{'; '.join(said)}{rest}"


def _about(pod: Key, *refusals: Refusal) -> str:
    return ": ".join([f"pod {'/'.join(pod)}", *map(str, refusals)])
