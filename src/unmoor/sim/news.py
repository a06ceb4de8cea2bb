"""When did anything change that decides who may be where, and for whom does that matter?

What a process plans is held against it only where it can have known: of the place in question, and,
for a pod that looks at others, of those whom it looks at and of the nodes that they are on. All
else may change as often as it likes.

Must not: judge whether a pod fits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import inf
from typing import Any

import msgspec

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.wish import Wish, required_apart
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.sim import truth as true
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.truth import Truth

OF_THE_PLACE = frozenset(
    (
        Constraint.UNSCHEDULABLE,
        Constraint.TAINT,
        Constraint.NODE_SELECTOR,
        Constraint.NODE_AFFINITY,
        Constraint.RESOURCES,
        Constraint.HOST_PORT,
        Constraint.DISK,
        Constraint.REQUIREMENTS,
        Constraint.INSTANCE_TYPE,
    )
)
"""For these a place refuses by what it is, and by who is on it: nothing elsewhere matters."""
OF_COMPANY = frozenset((Constraint.SPREAD, Constraint.POD_AFFINITY, Constraint.POD_ANTI_AFFINITY))
"""For these it refuses by where other pods are, too."""


class News:
    """The times of the last changes, in seconds of the world."""

    def __init__(self, truth: Truth) -> None:
        """Nothing has changed yet."""
        self._truth = truth
        self._last = -inf
        self._at: dict[str, float] = {}
        """Of a node, or a machine, or who is there; by name."""
        self._daemons = -inf
        self._sites = -inf
        """Of any node, machine or Provisioner: where pods are counted, and may yet be."""
        self._people: dict[Hashable, tuple[Pod, float]] = {}
        """Of where pods are that look the same to others: one of them, and when."""

    def observe(self, entry: Entry) -> None:
        """Take a write; a machine that unmoor makes is its own doing."""
        old = None if entry.old is None else _decisive(entry.old)
        new = None if entry.type == "DELETED" else _decisive(entry.obj)
        is_unheard = old == new and not _is_waiting_pod_gone(entry)
        if is_unheard or self._is_made_by_unmoor(entry):
            return
        now = self._last = self._truth.time_s()
        match entry.obj["kind"]:
            case "Pod":
                if node := entry.obj["spec"].get("nodeName"):
                    self._at[node] = now
                self._note_people(entry, now)
            case "DaemonSet":
                self._daemons = now
            case _:
                self._at[true.name(entry.obj)] = self._sites = now

    def _note_people(self, entry: Entry, now: float) -> None:
        """Pods like this one, and like it was, are not all where they were."""
        pods = [entry.obj]
        if entry.old is not None and _looks_of(entry.old) != _looks_of(entry.obj):
            pods.append(entry.old)
        for pod in pods:
            looks = _looks_of(pod)
            known = self._people.get(looks)
            self._people[looks] = (true.typed(pod) if known is None else known[0], now)

    def _is_made_by_unmoor(self, entry: Entry) -> bool:
        is_new = entry.obj.get("kind") == "Machine" and entry.type == "ADDED"
        return is_new and true.uid(entry.obj) in self._truth.made

    @property
    def of_daemons(self) -> float:
        """When a DaemonSet last came, changed or went."""
        return self._daemons

    def of_place(self, place: str) -> float:
        """When a node or machine last changed, or who is there, or what DaemonSets ask there.

        ``place``: ``node/NAME`` or ``machine/NAME``.
        """
        here = (self._at.get(name, -inf) for name in self._names_of(place))
        return max(self._daemons, *here)

    def _names_of(self, place: str) -> Iterable[str]:
        """Its own, and that of the node that a machine has become, or of a node's machine."""
        kind, _, name = place.partition("/")
        if kind == "machine":
            machine = self._truth.get("Machine", name) or {}
            provider_id = (machine.get("status") or {}).get("providerID", "")
            nodes = self._truth.all("Node") if provider_id else ()
            others = [one for one in nodes if one["spec"].get("providerID") == provider_id]
        else:
            node = self._truth.get("Node", name) or {"spec": {}}
            others = self._truth.machines_of(node["spec"].get("providerID", ""))
        return [name, *map(true.name, others)]

    def of_company(self, wish: Wish) -> float:
        """When anything last changed about where those are whom the pod looks at, or who look at
        it; and about which nodes there are.
        """
        meant = [one.selection for one in wish.spreads]
        meant += [term.selection for group in (*wish.near, wish.apart) for term in group]
        found = self._sites
        for person, at in self._people.values():
            shunned = required_apart(person, View.of())
            if any(one.has(person) for one in meant) or any(
                term.selection.has(wish.pod) for term in shunned
            ):
                found = max(found, at)
        return found

    def of_refusal(self, one: Refusal, place: str, wish: Wish) -> float:
        """When anything last changed for which the place might refuse the pod for this reason."""
        is_apart = one.constraint is Constraint.POD_ANTI_AFFINITY
        if one.constraint in OF_THE_PLACE or (is_apart and one.subject == names.HOSTNAME):
            return self.of_place(place)
        if one.constraint in OF_COMPANY:
            return max(self.of_place(place), self.of_company(wish))
        return self._last


def _is_waiting_pod_gone(entry: Entry) -> bool:
    """Others may have been promised their places for its sake."""
    obj = entry.obj
    is_waiting = obj.get("kind") == "Pod" and not obj["spec"].get("nodeName")
    return is_waiting and (entry.type == "DELETED" or true.is_deleting(obj))


def _looks_of(pod: JSON) -> Hashable:
    """What others see of it."""
    meta = pod["metadata"]
    anti = (pod["spec"].get("affinity") or {}).get("podAntiAffinity")
    seen = (meta.get("namespace", ""), meta.get("labels"), anti)
    return msgspec.json.encode(seen, order="sorted")


def _decisive(obj: JSON) -> Any:
    """All of an object that decides who may be where; None when it does not."""
    meta, status = obj["metadata"], obj.get("status") or {}
    match obj.get("kind"):
        case "Pod" if obj["spec"].get("nodeName"):
            is_over = status.get("phase") in true.TERMINAL
            return [obj["spec"], meta.get("labels"), true.is_deleting(obj), is_over]
        case "Node":
            return true.room_of(obj)
        case "Machine":
            said = {key: value for key, value in status.items() if key != "conditions"}
            return [said, true.is_deleting(obj)]
        case "Provisioner" | "DaemonSet":
            return [obj.get("spec"), true.is_deleting(obj)]
        case _:
            return None
