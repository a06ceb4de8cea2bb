"""Is no workload moved twice by replacements within the time that people have set?

Who was moved is what the server has seen: a pod whose eviction was admitted from a node of a
command. Whom a command has moved, no replacement moves again so soon (unmoor.movedWorkloadRespect).

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model.base import JSON
from unmoor.sim import past
from unmoor.sim import truth as true
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.methods import is_for_the_bill
from unmoor.sim.past import Past


class Respected:
    """Which workload was moved last by which command, and when."""

    name = "a-workload-is-moved-once"

    def __init__(self, known: Past) -> None:
        """Begin with nothing."""
        self._past = known
        self._truth = known.truth
        self._moved: dict[str, dict[str, float]] = {}
        """By the uid of an owner: by the uid of a command, when it has moved a pod last."""

    def broken(self, entry: Entry, who: str) -> Iterator[str]:
        """Say who would be moved again."""
        del who
        allowances = self._past.allowances
        for node, command in self._past.deleting_for(entry):
            if not command["spec"].get("replacements") or not is_for_the_bill(command):
                continue
            decided_s = self._past.known_s(command) + allowances.blind_s
            after_s = decided_s - max(allowances.respect_s - allowances.skew_s, 0.0)
            for pod in self._past.known_pods(node, command):
                yield from self._again(pod, command, after_s)

    def _again(self, pod: JSON, command: JSON, after_s: float) -> Iterator[str]:
        for by, at_s in self._moved.get(true.owner_of(pod), {}).items():
            if by != true.uid(command) and at_s > after_s:
                yield f"pod {true.name(pod)} is of a workload that was moved at t={at_s:.0f}s"

    def note(self, entry: Entry, who: str) -> None:
        """Remember a pod's leaving."""
        old, new = entry.old, entry.obj
        if new.get("kind") == "Disruption":
            if entry.type == "DELETED" and not who:
                self._forget(true.uid(new))
            return
        if new.get("kind") != "Pod" or not who or old is None or true.is_deleting(old):
            return
        command = past.mover_of(self._truth, old)
        # Who has come since tolerates the cordon, and nobody can have written down that it moves.
        if command is None or true.created_at(old) > true.created_at(command):
            return
        # Before its last look a command deletes nothing: a person has, and the node is drained.
        if true.uid(command) not in self._past.decided_at:
            return
        if true.owner_of(old):
            of_owner = self._moved.setdefault(true.owner_of(old), {})
            of_owner[true.uid(command)] = self._truth.time_s()

    def _forget(self, command: str) -> None:
        """A person has taken the record away; nobody can know any more."""
        for moved in self._moved.values():
            moved.pop(command, None)
