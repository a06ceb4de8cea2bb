"""What the rules about commands must know of the past, and of whom a node's deletion is.

A command is past its last look when its phase becomes ``Deleting``: what was so for long enough by
then, it must have known.

Must not: judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.sim import truth as true
from unmoor.sim.allowances import Allowances
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.truth import Truth


class Past:
    """``decided_at``: when each command, by uid, was past its last look. ``deleted_for``: the uid
    of the command that each node, by uid, was deleted for.
    """

    def __init__(self, truth: Truth, allowances: Allowances) -> None:
        """Begin with nothing."""
        self.truth = truth
        self.allowances = allowances
        self.decided_at: dict[str, float] = {}
        self.deleted_for: dict[str, str] = {}
        self._gone: dict[str, tuple[JSON, float]] = {}
        self.reached: Counter[str] = Counter()
        """How many commands came how far, as ``METHOD/delete PHASE``."""

    def deleting_for(self, entry: Entry) -> Iterator[tuple[JSON, JSON]]:
        """Return node and command when a write of unmoor deletes a node for a command.

        A node that goes with its machine, or whose machine is gone, has no choice.
        """
        node, truth = entry.old, self.truth
        if node is None or node.get("kind") != "Node" or true.is_deleting(node):
            return
        if entry.type != "DELETED" and not true.is_deleting(entry.obj):
            return
        provider_id = node["spec"].get("providerID", "")
        machines = truth.machines_of(provider_id)
        instance = truth.instance_of(provider_id)
        is_free = machines and not any(true.is_deleting(one) for one in machines)
        if is_free and instance is not None and not true.is_going(instance):
            asking = self.asking(node)
            active = [one for one in asking if true.is_active(one)]
            yield from ((node, command) for command in active or asking)

    def asking(self, node: JSON) -> list[JSON]:
        """Return the commands that want a node gone; also those that a person took away lately."""
        commands = self.truth.commands_since(self.allowances.blind_s)
        return [one for one in commands if true.uid(node) in uids_of(one)]

    def node(self, name: str) -> JSON | None:
        """Return a node, also one that is gone so lately that a process may not know it."""
        gone, at_s = self._gone.get(name, (None, 0.0))
        is_news = self.truth.time_s() - at_s < self.allowances.unseen_s
        return self.truth.get("Node", name) or (gone if is_news else None)

    def known_s(self, command: JSON) -> float:
        """Return the time from which on it cannot have known of what has changed."""
        at_s = self.decided_at.get(true.uid(command), self.truth.time_s())
        return at_s - self.allowances.blind_s

    def known_pods(self, node: JSON, command: JSON) -> list[JSON]:
        """Return the workload pods on a node that a command must have known of, and that stay."""
        known_s = self.known_s(command)
        return [
            pod
            for pod in self.truth.pods_on(true.name(node))
            if true.is_workload(pod)
            and not true.is_deleting(pod)
            and self.truth.bound_at.get(true.uid(pod), known_s) < known_s
        ]

    def note(self, entry: Entry, who: str) -> None:
        """Remember a write. ``who``: "" for everybody but unmoor."""
        obj = entry.obj
        if obj.get("kind") == "Disruption" and entry.type != "DELETED":
            self._note_phase(entry.old, obj)
        if obj.get("kind") == "Node" and entry.type == "DELETED":
            self._gone[true.name(obj)] = (obj, self.truth.time_s())
        for node, command in self.deleting_for(entry) if who else ():
            self.deleted_for[true.uid(node)] = true.uid(command)

    def _note_phase(self, old: JSON | None, new: JSON) -> None:
        phase = phase_of(new)
        if phase == "Deleting":
            self.decided_at.setdefault(true.uid(new), self.truth.time_s())
        if old is None or phase != phase_of(old):
            action = "replace" if new["spec"].get("replacements") else "delete"
            self.reached[f"{new['spec'].get('method', '')}/{action} {phase}"] += 1


def uids_of(command: JSON) -> list[str]:
    """Return the nodes of a command, by uid."""
    return [str(node["uid"]) for node in command["spec"].get("nodes") or ()]


def phase_of(command: JSON) -> str:
    """Return how far it has come."""
    return str((command.get("status") or {}).get("phase", "Pending"))


def mover_of(truth: Truth, pod: JSON) -> JSON | None:
    """Return the command that moves a pod: the one that its node bears the name of."""
    node = truth.get("Node", pod["spec"].get("nodeName", ""))
    name = true.marks_of(node).get(names.DISRUPTION, "") if node is not None else ""
    command = truth.get("Disruption", name) if name else None
    is_its = node is not None and command is not None and true.uid(node) in uids_of(command)
    return command if is_its else None
