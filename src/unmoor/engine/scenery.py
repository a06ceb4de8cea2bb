"""A view as the engine looks at it: places, started machines and templates.

Bad input makes nothing else bad: a place whose quantities cannot be read offers nothing; a machine
whose requirements mean nothing is left out; a provisioner that cannot be used says why in
``Template.problem``. Nothing here raises for what an API object holds.

Must not: place anything, or decide what is to go; whoever asks says so in ``without``.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

import msgspec

from unmoor.engine.ahead import Ahead
from unmoor.engine.daemons import Daemon, daemons_of
from unmoor.engine.places import Made, Sources, capacity_of, made_of
from unmoor.engine.scene import Doubts, Place, Scene
from unmoor.model import names, resources, taint
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import (
    CSI_NODES,
    DAEMON_SETS,
    MACHINES,
    NODES,
    PODS,
    PROVISIONERS,
)
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint

MADE_OF = (
    NODES.kind,
    PODS.kind,
    MACHINES.kind,
    CSI_NODES.kind,
    DAEMON_SETS.kind,
    PROVISIONERS.kind,
)
"""The kinds that a scene is made of."""

_KEY: Callable[[Pod], Key] = attrgetter("key")
_UNCLAIMED = Taint(key=names.UNINITIALIZED, effect=taint.NO_SCHEDULE)


def scene_of(
    view: View,
    types: Sequence[InstanceType],
    *,
    without: Collection[str] = (),
    placing: Collection[Key] = (),
    doubts: Doubts = Doubts(),
) -> Scene:
    """Return what a simulation looks at.

    ``types``: what the cloud offers, as it is now. ``without``: names of nodes and machines that
    are to go; their pods are nowhere. ``placing``: keys of pods that are to be placed anew, so that
    they count nowhere. ``doubts``: what is not counted on.
    """
    return Scenery().scene_of(view, types, without=without, placing=placing, doubts=doubts)


class Scenery:
    """Keeps what was found out for the last scene, as far as nothing has changed since.

    Dropping it costs time only. It keeps the last view, too, from which a later one of the same
    store tells what has changed. Not to be used by two threads at a time.
    """

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._last: View | None = None
        self._pods: dict[str, tuple[Pod, ...]] = {}
        self._daemons: tuple[Daemon, ...] = ()
        self._known: dict[tuple[bool, str], Made] = {}
        self._ahead = Ahead()

    @property
    def kept(self) -> int:
        """How many places are kept."""
        return len(self._known)

    def rest(self) -> None:
        """Let the last view go, as nobody will ask for a while: an old view grows with time."""
        self._last = None
        self._pods = {}

    def scene_of(
        self,
        view: View,
        types: Sequence[InstanceType],
        *,
        without: Collection[str] = (),
        placing: Collection[Key] = (),
        doubts: Doubts = Doubts(),
    ) -> Scene:
        """Return what a simulation looks at (see :func:`scene_of`)."""
        last, self._last = self._last, None  # What is left half done is not used again.
        known, self._known = self._known, {}
        ahead, self._ahead = self._ahead, Ahead()
        daemons = self._follow(view, last)
        if daemons != self._daemons:
            known, self._daemons = {}, daemons
        gone = frozenset(without)
        kept: dict[tuple[bool, str], Made] = {}
        found: list[Place] = []
        roll = _Roll.of(view)
        for key, sources in _sources(roll, self._pods, frozenset(placing), doubts.late):
            before = known.get(key)
            if gone and sources.is_called(gone):
                kept |= {key: before} if before is not None else {}
                continue
            if before is None or before.sources != sources:
                before = made_of(sources, daemons, before)
            kept[key] = before
            found.append(before.place)
        begun = [one for one in roll.machines if not one.provider_id and one.name not in gone]
        ahead.look(types, daemons)
        started = ahead.started_of(begun)
        lost = (one for one in roll.lost if one.name not in gone)
        provisioners = [one for one in view.sorted(PROVISIONERS) if not one.is_deleting]
        used = _used(
            frozenset(one.name for one in provisioners if one.limits),
            [(one.provisioner, one.capacity) for one in found]
            + [(one.provisioner, one.capacity) for one in started]
            + [(one.provisioner_name, capacity_of(None, one)) for one in lost],
        )
        templates = ahead.templates_of(provisioners, used, doubts)
        self._last, self._known, self._ahead = view, kept, ahead
        return Scene(
            view=view,
            places=tuple(sorted(found, key=lambda place: place.order)),
            started=tuple(started),
            templates=tuple(sorted(templates, key=lambda template: template.order)),
        )

    def _follow(self, view: View, last: View | None) -> tuple[Daemon, ...]:
        """Know which pods are on which node, and what DaemonSets ask of nodes."""
        changed = view.changed_since(last, PODS) if last is not None else None
        if last is None or changed is None:
            self._pods = view.pods_by_node()
            return daemons_of(view)
        then, now = last.all(PODS), view.all(PODS)
        left = [pod for key in changed if (pod := then.get(key)) is not None]
        come = [pod for key in changed if (pod := now.get(key)) is not None]
        self._move(left, come)
        owners = view.changed_since(last, DAEMON_SETS)
        if owners is None or owners or any(pod.is_daemon for pod in (*left, *come)):
            return daemons_of(view)
        return self._daemons

    def _move(self, left: list[Pod], come: list[Pod]) -> None:
        """Have these pods no more on their nodes, and those from now on; by key, as a view has."""
        gone = {id(pod) for pod in left}
        names_of = dict.fromkeys(pod.node_name for pod in (*left, *come) if pod.node_name)
        touched = {
            name: [pod for pod in self._pods.get(name, ()) if id(pod) not in gone]
            for name in names_of
        }
        for pod in come:
            if pod.node_name:
                insort(touched[pod.node_name], pod, key=_KEY)
        for name, there in touched.items():
            if there:
                self._pods[name] = tuple(there)
            else:
                self._pods.pop(name, None)


def _used(limited: frozenset[str], parts: Iterable[tuple[str, Resources]]) -> dict[str, Resources]:
    """Capacity by provisioner, of those that have limits."""
    by_provisioner: dict[str, list[Resources]] = {name: [] for name in sorted(limited)}
    for provisioner, capacity in parts:
        if provisioner in by_provisioner:
            by_provisioner[provisioner].append(capacity)
    return {name: resources.total(parts) for name, parts in by_provisioner.items()}


class _Roll(msgspec.Struct, frozen=True):
    """Nodes, and machines that are not going, and which belong together.

    ``joined``: the instances whose nodes are there. ``lost``: machines that have lost their node,
    whose instance may still be there.
    """

    view: View
    nodes: list[Node]
    machines: list[Machine]
    joined: frozenset[str]
    by_instance: dict[str, list[Machine]]
    """Those that are going, too."""

    @classmethod
    def of(cls, view: View) -> _Roll:
        nodes, machines = list(view.all(NODES).values()), view.sorted(MACHINES)
        by_instance: dict[str, list[Machine]] = {}
        for one in machines:
            if one.provider_id:
                by_instance.setdefault(one.provider_id, []).append(one)
        joined = frozenset(node.provider_id for node in nodes)
        return cls(
            view, nodes, [one for one in machines if not one.is_deleting], joined, by_instance
        )

    @property
    def lost(self) -> Iterator[Machine]:
        for one in self.machines:
            if one.provider_id and one.node_name and one.provider_id not in self.joined:
                yield one

    @property
    def in_flight(self) -> Iterator[Machine]:
        """Launched, and the node has not joined yet; of several of one instance, the first."""
        for one in self.machines:
            if not one.provider_id or one.node_name or one.provider_id in self.joined:
                continue
            if self.by_instance[one.provider_id][0] is one:
                yield one


# ------------------------------------------------------------------------------------------ places


def _sources(
    roll: _Roll,
    pods_by_node: Mapping[str, tuple[Pod, ...]],
    placing: frozenset[Key],
    late: frozenset[str],
) -> Iterator[tuple[tuple[bool, str], Sources]]:
    """Each node and each launched machine without one, unless it is being deleted."""
    pods, volumes = roll.view.all(PODS), roll.view.all(CSI_NODES)
    moved = {pod.node_name for key in placing if (pod := pods.get(key)) is not None}
    unreadable = roll.view.nodes_with_unreadable_pods()
    for node in roll.nodes:
        machines = roll.by_instance.get(node.provider_id, ())
        if node.is_deleting or _is_unclaimed(node) or any(one.is_deleting for one in machines):
            continue
        name = node.name
        there = pods_by_node.get(name, ())
        if name in moved:
            there = tuple(pod for pod in there if pod.key not in placing)
        yield (
            (True, name),
            Sources(
                node=node,
                machine=machines[0] if len(machines) == 1 else None,
                pods=there,
                volumes=volumes.get(("", name)),
                has_unreadable_pods=name in unreadable,
                is_late=name in late,
            ),
        )
    for machine in roll.in_flight:
        yield (False, machine.name), Sources(node=None, machine=machine, pods=())


def _is_unclaimed(node: Node) -> bool:
    """Nobody knows yet which machine it is: its machine is looked at in its place (spec 2.1)."""
    if node.provider_id:
        return False
    return bool(node.provisioner_name) or taint.has(node.spec.taints, _UNCLAIMED)
