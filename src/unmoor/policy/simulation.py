"""Would their pods fit elsewhere, and what would it cost? What methods ask the engine. (spec 9.1)

Pods that wait for a node, and those of nodes that go already, come first: the room that they find
is not there for anybody else. Nobody is moved onto a node that is not up, not ready or cordoned,
nor onto a machine that is still to become one.

Must not: decide who goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.refusal import Refusal
from unmoor.engine.scene import Doubts, Place, Scene, is_same
from unmoor.engine.scenery import Scenery
from unmoor.engine.sites import Tenants
from unmoor.engine.solving import Solver
from unmoor.model import names, resources
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType
from unmoor.model.moment import Moment
from unmoor.model.pod import Pod
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View
from unmoor.model.wording import counted
from unmoor.policy import nomination
from unmoor.policy.provisionable import Wanting

if TYPE_CHECKING:
    from unmoor.engine.bulk.whatif import WhatIf

REFUSALS_SAID_MAX = 5
"""So many pods that find no place are named (spec 3.4)."""


class Outcome(msgspec.Struct, frozen=True):
    """What would become of the pods of some nodes."""

    plan: Plan

    @property
    def is_possible(self) -> bool:
        """True when each of them has a place."""
        return not self.plan.refused

    @property
    def refused(self) -> tuple[Key, ...]:
        """The pods that would have none."""
        return tuple(self.plan.refused)

    @property
    def why_not(self) -> str:
        """Say why they cannot all have a place, "" when they can; costly, for people alone."""
        return _why_not(self.plan)

    @property
    def machines(self) -> tuple[NewMachine, ...]:
        """The machines that it takes."""
        return self.plan.machines


class Load(NamedTuple):
    """What would move from a node, and what it has free besides; cpu in milli-cores.

    ``is_open``: pods may be moved to it.
    """

    used: Resources
    free: Resources
    is_open: bool = True


class _Loaded(NamedTuple):
    """The load of a place as it was: it holds as long as the place is the very same."""

    place: Place
    load: Load


class Simulation:
    """One view, asked again and again. Not to be shared between threads."""

    def __init__(
        self,
        what_if: WhatIf,
        types: Mapping[str, InstanceType],
        gone: Collection[str] = (),
        known: Mapping[str, _Loaded] = MappingProxyType({}),
    ) -> None:
        """Ask ``what_if``. ``types``: by name, those on sale and those sold out.

        ``gone``: nodes that are gone in every answer. ``known``: loads that were found before.
        """
        self.types = types
        self._gone = frozenset(gone)
        self._what_if = what_if
        self._tenants = Tenants()
        self._known = known
        self._loads: dict[str, Load] = {}

    def beside(self, gone: Collection[str]) -> Simulation:
        """Return the same, as if these nodes were gone already, and their pods elsewhere."""
        return Simulation(self._what_if, self.types, gone)

    def without(self, nodes: Collection[str]) -> Outcome:
        """Return what would become of the pods of these nodes if they were gone."""
        if not self._gone:
            return Outcome(self._what_if.without(nodes))
        plan = self._what_if.without([*nodes, *sorted(self._gone.difference(nodes))])
        known = {one.name: one for one in self._what_if.scene.places}
        elsewhere = {pod.key for name in self._gone if name in known for pod in known[name].pods}
        placements = {pod: at for pod, at in plan.placements.items() if pod not in elsewhere}
        # What those alone would need is not bought for these.
        machines = (
            () if _is_no_more(plan, self._what_if.without(sorted(self._gone))) else plan.machines
        )
        return Outcome(msgspec.structs.replace(plan, placements=placements, machines=machines))

    def price_at(self, labels: Mapping[str, str]) -> float | None:
        """Return what the offering costs that these labels name, to be had or not."""
        sold = self.types.get(labels.get(names.INSTANCE_TYPE, ""))
        where = (labels.get(names.ZONE), labels.get(names.CAPACITY_TYPE))
        offerings = sold.offerings if sold is not None else ()
        found = ((one.zone, one.capacity_type, one.price_usd_per_h) for one in offerings)
        return next((price for *place, price in found if tuple(place) == where), None)

    def moved_from(self, node: str) -> list[Pod]:
        """Return who looks for another place when a node goes: guests that will come to it, too."""
        return self._what_if.moved((node,))

    def load_of(self, node: str) -> Load:
        """Return what the pods of a node that would move use, and what it has free besides."""
        return self._all_loads[node] if node in self._all_loads else Load({}, {})

    def fill_of(self, node: str) -> float:
        """Return the share of its cpu or memory, whichever is more, that would move."""
        load = self.load_of(node)
        shares = [
            load.used.get(name, 0) / most
            for name in (resources.CPU, resources.MEMORY)
            if (most := load.used.get(name, 0) + load.free.get(name, 0)) > 0
        ]
        return max(shares, default=0.0)

    def needs_of(self, pod: Pod) -> Resources:
        """Return what a pod uses on its node; cpu in milli-cores."""
        return self._tenants.of(pod)[1]

    def free(
        self, resource_names: Iterable[str] = (resources.CPU, resources.MEMORY)
    ) -> dict[str, int]:
        """Return what all nodes that take pods have free together of each of these."""
        total = dict.fromkeys(resource_names, 0)
        for place in self._what_if.scene.places:
            if not place.is_cordoned and place.name not in self._gone:
                for name in total:
                    total[name] += max(self._all_loads[place.name].free.get(name, 0), 0)
        return total

    @property
    def _all_loads(self) -> dict[str, Load]:
        if not self._loads:
            self._loads = {one.name: self._load(one) for one in self._what_if.scene.places}
            self._known = {}
        return self._loads

    def loaded(self) -> dict[str, _Loaded]:
        """Return the loads that were found, with what each is of; nothing if nobody asked."""
        places = self._what_if.scene.places if self._loads else ()
        return {one.name: _Loaded(one, self._loads[one.name]) for one in places}

    def _load(self, place: Place) -> Load:
        known = self._known.get(place.name)
        if known is not None and known.place is place:
            return known.load
        used = resources.total(self._tenants.of(pod)[1] for pod in place.pods if _is_moved(pod))
        there = resources.total(self._tenants.of(pod)[1] for pod in place.pods)
        taken = resources.add(place.reserved, there)
        free = resources.subtract(place.allocatable, taken)
        return Load(used, free, is_open=not place.is_cordoned)

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
        self._last: _Last | None = None
        self._since: float | None = None

    def looking_since(self, moment: Moment) -> float:
        """Return when it was first asked this, on the monotonic clock."""
        if self._since is None:
            self._since = moment.mono
        return self._since

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
        last, self._last = self._last, None  # What is left half done is not used again.
        if last is None or not last.is_of(scene, wanting.pods):
            known = {} if last is None else last.answering.loaded()
            what_if = self._followed(scene, wanting, None if last is None else last.what_if)
            answering = Simulation(what_if, {one.name: one for one in sold}, known=known)
        else:
            what_if, answering = last.what_if, last.answering
        self._last = _Last(scene, wanting.pods, what_if, answering)
        return answering

    def _followed(self, scene: Scene, wanting: Wanting, before: WhatIf | None) -> WhatIf:
        """What answers for this scene, when those who wait have a place."""
        from unmoor.engine.bulk.whatif import WhatIf  # noqa: PLC0415 - numpy takes a tenth of a second

        if wanting.pods:
            first = self._solver.solve(scene, wanting.pods)
            scene = _with_guests(scene, wanting.pods, first.placements)
        scene = _only_what_is_up(scene)
        if before is None:
            return WhatIf(scene, _is_moved)
        before.follow(scene)
        return before


class _Last(NamedTuple):
    """What was asked last, and what answers it."""

    scene: Scene
    pods: tuple[Pod, ...]
    what_if: WhatIf
    answering: Simulation

    def is_of(self, scene: Scene, pods: tuple[Pod, ...]) -> bool:
        """True when the same is asked again."""
        is_alike = len(self.pods) == len(pods) and all(map(is_, self.pods, pods))
        return is_alike and is_same(scene, self.scene)


def _is_moved(pod: Pod) -> bool:
    """Another pod will look for a place in its stead (R7: nobody makes one for a naked pod)."""
    return not (pod.is_of_its_node or pod.is_terminal or pod.is_deleting or pod.is_naked)


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


def _is_no_more(plan: Plan, other: Plan) -> bool:
    """It takes no more machines than the other, and no dearer ones."""
    prices = (plan.price_usd_per_h, other.price_usd_per_h)
    if None in prices or len(plan.machines) > len(other.machines):
        return False
    return prices[0] == prices[1]


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
