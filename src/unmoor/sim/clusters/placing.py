"""Where do pods run? A plain scheduler: the least used of a few nodes that take the pod.

Zones are taken in turns. A node takes a pod when taints, selectors, resources, host ports, volumes
and the required rules about other pods allow it; requests are counted generously, so that a pod
that fits here fits however one reads it. Who finds no place waits.

Must not: know preferences, or move a pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import TypeAlias

import msgspec

from unmoor.model import resources
from unmoor.model.base import JSON
from unmoor.model.pod import Pod
from unmoor.model.resources import CPU, MEMORY
from unmoor.sim.clusters import bodies, of_itself, volumes
from unmoor.sim.clusters.apps import App
from unmoor.sim.clusters.neighbours import Neighbours, puts_up_with, wants, wishes_of
from unmoor.sim.clusters.nodes import Site

TRIES = 4
"""So many nodes are looked at before all are."""
ANY_ADDRESS = ("", "0.0.0.0")  # noqa: S104 - compared with, not listened on

Port: TypeAlias = tuple[str, str, int]
"""(address, protocol, number)."""


class Room(msgspec.Struct):
    """What is left on a node."""

    site: Site
    free: dict[str, int]
    volumes: int
    ports: list[Port] = []

    def takes(self, asked: dict[str, int], ports: Sequence[Port], count: int) -> bool:
        """True when all of it fits beside what is there."""
        return (
            count <= self.volumes
            and resources.fits(asked, self.free)
            and not any(_collide(one, other) for one in ports for other in self.ports)
        )

    def use(self, asked: dict[str, int], ports: Sequence[Port], count: int) -> None:
        """A pod comes."""
        self.free = resources.subtract(self.free, asked)
        self.ports = [*self.ports, *ports]
        self.volumes -= count

    def give_back(self, asked: dict[str, int], ports: Sequence[Port], count: int) -> None:
        """A pod goes."""
        self.free = resources.add(self.free, asked)
        for port in ports:
            self.ports.remove(port)
        self.volumes += count

    @property
    def used(self) -> float:
        """The share that is used of cpu or memory, whichever is more."""
        whole = self.site.allocatable
        return max(1 - self.free[name] / whole[name] for name in (CPU, MEMORY))


def _collide(one: Port, other: Port) -> bool:
    if one[1:] != other[1:]:
        return False
    return one[0] == other[0] or one[0] in ANY_ADDRESS or other[0] in ANY_ADDRESS


def ports_of(spec: JSON) -> list[Port]:
    """The host ports of a pod."""
    return [
        (port.get("hostIP", ""), port.get("protocol", "TCP"), port["hostPort"])
        for one in spec["containers"]
        for port in one.get("ports", ())
        if port.get("hostPort")
    ]


class Asking(msgspec.Struct, frozen=True):
    """What every pod of an app needs, and which nodes could take one at all, by zone."""

    resources: dict[str, int]
    ports: list[Port]
    volumes: int
    rooms: dict[str, list[Room]]


class Placer:
    """Places the pods of a cluster."""

    def __init__(
        self, apps: Sequence[App], sites: Sequence[Site], zones: tuple[str, ...], dice: Random
    ) -> None:
        """All nodes are empty."""
        self.apps, self._zones, self._dice = apps, zones, dice
        self.rooms = [Room(site, dict(site.allocatable), site.volumes) for site in sites]
        self._by_name = {room.site.name: room for room in self.rooms}
        self._pods = [_example(app) for app in apps]
        self._neighbours = Neighbours(apps, self._pods, sites)
        self._asking: dict[int, Asking] = {}
        self._suitable: dict[bytes, dict[str, list[Room]]] = {}

    def take(self, room: Room, spec: JSON) -> bool:
        """Put a pod of a DaemonSet on a node, if it fits there."""
        asked = {**of_itself.most_asked(spec), resources.PODS: 1}
        pod = msgspec.convert({"spec": spec}, Pod)
        if not (wants(pod, room.site) and puts_up_with(pod, room.site)):
            return False
        if not room.takes(asked, ports := ports_of(spec), 0):
            return False
        room.use(asked, ports, 0)
        return True

    def place(self, number: int, ordinal: int) -> str:
        """The node of the next pod of an app, "" when there is none."""
        asking = self._asking_of(number)
        allowed = volumes.zones_for(self.apps[number], ordinal, self._zones)
        turned = [
            zone
            for turn in range(len(self._zones))
            if (zone := self._zones[(number + ordinal + turn) % len(self._zones)]) in allowed
        ]
        for zone in turned:
            room = self._best(number, asking, asking.rooms.get(zone, []))
            if room is not None:
                room.use(asking.resources, asking.ports, asking.volumes)
                self._neighbours.note(number, room.site)
                return room.site.name
        return ""

    def remove(self, number: int, node: str) -> None:
        """A pod of an app has gone from its node."""
        asking, room = self._asking_of(number), self._by_name[node]
        room.give_back(asking.resources, asking.ports, asking.volumes)
        self._neighbours.note(number, room.site, -1)

    def _best(self, number: int, asking: Asking, rooms: list[Room]) -> Room | None:
        """The least used of a few in a zone that take it; only if none does, all are asked."""
        if not rooms or self._neighbours.closes_zone(number, rooms[0].site):
            return None
        tried = self._dice.choices(rooms, k=TRIES) if len(rooms) > TRIES else rooms
        for some in (tried, rooms) if tried is not rooms else (rooms,):
            taking = self._taking(number, asking, some)
            best = min(taking, key=lambda room: (room.used, room.site.name), default=None)
            if best is not None:
                return best
        return None

    def _taking(self, number: int, asking: Asking, rooms: Iterable[Room]) -> Iterator[Room]:
        for room in rooms:
            fits = room.takes(asking.resources, asking.ports, asking.volumes)
            if fits and self._neighbours.admits(number, room.site):
                yield room

    def _asking_of(self, number: int) -> Asking:
        found = self._asking.get(number)
        if found is None:
            app, pod = self.apps[number], self._pods[number]
            asked = {**of_itself.most_asked(app.spec), resources.PODS: 1}
            rooms = self._rooms_for(pod)
            found = Asking(asked, ports_of(app.spec), len(app.volumes), rooms)
            self._asking[number] = found
        return found

    def _rooms_for(self, pod: Pod) -> dict[str, list[Room]]:
        """The nodes that could take a pod if they were empty."""
        wishes = wishes_of(pod)
        rooms = self._suitable.get(wishes)
        if rooms is None:
            rooms = self._suitable[wishes] = {}
            for room in self.rooms:
                site = room.site
                if site.takes_pods and wants(pod, site) and puts_up_with(pod, site):
                    rooms.setdefault(site.zone, []).append(room)
        return rooms


def _example(app: App) -> Pod:
    """A pod of the app as the scheduler sees it."""
    tolerations = [*app.spec.get("tolerations", ()), *bodies.USUAL_TOLERATIONS]
    meta = {"name": app.name, "namespace": app.namespace, "labels": app.labels}
    return msgspec.convert(
        {"metadata": meta, "spec": {**app.spec, "tolerations": tolerations}}, Pod
    )
