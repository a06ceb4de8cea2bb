"""Of what is each place made, and which places may be others since the last look?

A place is a node, or a launched machine whose node has not joined. A ``Roll`` knows of what each is
made (``places.Sources``). From one view of a store to a later one it goes by the keys that have
changed, and looks only at what those have to do with: that costs as much as what has changed.

Must not: make places, or judge what they are worth.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias, TypeVar

import msgspec

from unmoor.engine.places import Sources
from unmoor.model import names, taint
from unmoor.model.base import Key, Object
from unmoor.model.kinds import CSI_NODES, MACHINES, NODES, PODS, Resource
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint

T = TypeVar("T", bound=Object)
PlaceKey: TypeAlias = tuple[bool, str]
"""Whether it is a node, and the name of the node or of the machine."""

_KEY: Callable[[Pod], Key] = attrgetter("key")
_UNCLAIMED = Taint(key=names.UNINITIALIZED, effect=taint.NO_SCHEDULE)


class News(msgspec.Struct, frozen=True):
    """What is not as it was, as far as anybody knows: places, and pods as they were and are."""

    places: Sequence[PlaceKey]
    left: Sequence[Pod]
    come: Sequence[Pod]


class Roll:
    """What is known of one view. Dropping it costs time only.

    An exception leaves it half done: it is not to be used again.
    """

    def __init__(self) -> None:
        """Start knowing nothing."""
        self.sources: dict[PlaceKey, Sources] = {}
        self.begun: dict[Key, Machine] = {}
        """Machines that are not launched yet."""
        self.lost: dict[Key, Machine] = {}
        """Machines that have lost their node, whose instance may still be there."""
        self._pods: dict[str, tuple[Pod, ...]] = {}
        self._marked: frozenset[str] = frozenset()

    @classmethod
    def of(cls, view: View, placing: Collection[Key], late: frozenset[str]) -> Roll:
        """Look at everything.

        ``placing``: keys of pods that are to count nowhere. ``late``: names of nodes whose taints
        that go by themselves should be gone by now.
        """
        roll = cls()
        roll._pods = view.pods_by_node()
        look = _Look(view, roll._pods, placing, late)
        roll._look_at(look, view.all(NODES), view.all(MACHINES))
        roll._marked = look.marked
        return roll

    def follow(
        self, last: View, view: View, placing: Collection[Key], late: frozenset[str]
    ) -> News | None:
        """Go by ``view`` from now on, having gone by ``last``; return what may have changed.

        None, and nothing has happened, when nobody can tell.
        """
        pods, nodes = _changed(last, view, PODS), _changed(last, view, NODES)
        machines, volumes = _changed(last, view, MACHINES), view.changed_since(last, CSI_NODES)
        if pods is None or nodes is None or machines is None or volumes is None:
            return None
        with_others = self._move(*pods)
        look = _Look(view, self._pods, placing, late)
        nodes_at: dict[Key, None] = dict.fromkeys(volumes)
        machines_at: dict[Key, None] = {}
        for node in (one for state in nodes for one in state):
            nodes_at[node.key] = None
        for machine in (one for state in machines for one in state):
            machines_at[machine.key] = None
        for one in dict.fromkeys(one.provider_id for state in (*nodes, *machines) for one in state):
            nodes_at |= dict.fromkeys(node.key for node in view.nodes_of(one))
            machines_at |= dict.fromkeys(machine.key for machine in view.machines_of(one))
        nodes_at |= {("", name): None for name in sorted(look.marked | self._marked)}
        machines_at |= {key: None for key in nodes_at if key in look.machines}
        places = self._look_at(look, nodes_at, machines_at)
        places += self._fill(name for name in with_others if ("", name) not in nodes_at)
        self._marked = look.marked
        return News(places, *pods)

    def _move(self, left: Sequence[Pod], come: Sequence[Pod]) -> list[str]:
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
        return list(touched)

    def _look_at(
        self, look: _Look, nodes: Iterable[Key], machines: Iterable[Key]
    ) -> list[PlaceKey]:
        found: list[PlaceKey] = []
        for key in nodes:
            place = (True, key[1])
            _have(self.sources, place, look.at_node(key))
            found.append(place)
        for key in machines:
            machine = look.machine(key)
            place = (False, key[1])
            _have(self.sources, place, look.at_machine(machine))
            _have(self.begun, key, machine if look.is_begun(machine) else None)
            _have(self.lost, key, machine if look.is_lost(machine) else None)
            found.append(place)
        return found

    def _fill(self, names: Iterable[str]) -> list[PlaceKey]:
        """Have these nodes have the pods that are there now, all else being as it was."""
        found: list[PlaceKey] = []
        for name in names:
            place = (True, name)
            was = self.sources.get(place)
            if was is not None:
                there = self._pods.get(name, ())
                self.sources[place] = Sources(was.node, was.machine, there, was.volumes)
                found.append(place)
        return found


class _Look:
    """One look at some nodes and machines of a view.

    ``marked``: names of nodes about which there is something to say that they do not say.
    """

    def __init__(
        self,
        view: View,
        pods_by_node: Mapping[str, tuple[Pod, ...]],
        placing: Collection[Key],
        late: frozenset[str],
    ) -> None:
        self._view = view
        self._nodes, self.machines = view.all(NODES), view.all(MACHINES)
        self._volumes = view.all(CSI_NODES)
        self._pods_by_node = pods_by_node
        self._placing, self._late = frozenset(placing), late
        pods = view.all(PODS)
        self._moved = {pod.node_name for key in placing if (pod := pods.get(key)) is not None}
        self._unreadable = view.nodes_with_unreadable_pods()
        self.marked = frozenset((*self._moved, *self._unreadable, *late))

    def machine(self, key: Key) -> Machine | None:
        """A machine that is not going."""
        found = self.machines.get(key)
        return None if found is None or found.is_deleting else found

    def at_node(self, key: Key) -> Sources | None:
        """Of what a node is made as a place; None when it is none."""
        node = self._nodes.get(key)
        if node is None or node.is_deleting or _is_unclaimed(node):
            return None
        machines = self._view.machines_of(node.provider_id)
        if any(one.is_deleting for one in machines):
            return None
        name = node.name
        there = self._pods_by_node.get(name, ())
        if name in self._moved:
            there = tuple(pod for pod in there if pod.key not in self._placing)
        return Sources(
            node=node,
            machine=machines[0] if len(machines) == 1 else None,
            pods=there,
            volumes=self._volumes.get(("", name)),
            has_unreadable_pods=name in self._unreadable,
            is_late=name in self._late,
        )

    def at_machine(self, machine: Machine | None) -> Sources | None:
        """The same of a machine: launched, its node has not joined; the first of an instance."""
        if machine is None or not machine.provider_id or machine.node_name:
            return None
        if self._has_joined(machine):
            return None
        if self._view.machines_of(machine.provider_id)[0] is not machine:
            return None
        is_namesake = machine.key in self._nodes
        return Sources(node=None, machine=machine, pods=(), is_namesake=is_namesake)

    def is_begun(self, machine: Machine | None) -> bool:
        """True when it is not launched yet."""
        return machine is not None and not machine.provider_id

    def is_lost(self, machine: Machine | None) -> bool:
        """True when its node was there and is no more."""
        if machine is None or not machine.provider_id or not machine.node_name:
            return False
        return not self._has_joined(machine)

    def _has_joined(self, machine: Machine) -> bool:
        return bool(self._view.nodes_of(machine.provider_id))


def _is_unclaimed(node: Node) -> bool:
    """Nobody knows yet which machine it is: its machine is looked at in its place (spec 2.1)."""
    if node.provider_id:
        return False
    return bool(node.provisioner_name) or taint.has(node.spec.taints, _UNCLAIMED)


def _changed(last: View, view: View, kind: Resource[T]) -> tuple[list[T], list[T]] | None:
    """What may have changed, as it was and as it is."""
    keys = view.changed_since(last, kind)
    if keys is None:
        return None
    then, now = last.all(kind), view.all(kind)
    left = [one for key in keys if (one := then.get(key)) is not None]
    return left, [one for key in keys if (one := now.get(key)) is not None]


K = TypeVar("K")
V = TypeVar("V")


def _have(table: dict[K, V], key: K, value: V | None) -> None:
    """Have the value there, or nothing."""
    if value is not None:
        table[key] = value
    else:
        table.pop(key, None)
