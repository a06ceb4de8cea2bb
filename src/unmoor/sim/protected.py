"""Does a command leave alone what somebody protects?

A pod is protected by the annotation ``karpenter.sh/do-not-evict``, by a disruption budget that
allows nothing while it is ready, and by two budgets at once; a node by ``do-not-disrupt``. What was
protected before a command's last look, and still is when the node goes, keeps the node.

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.sim import truth as true
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.past import Past


class Protected:
    """Since when each pod and node is protected, and how."""

    name = "what-is-protected-stays"

    def __init__(self, past: Past) -> None:
        """Begin with nothing."""
        self._past = past
        self._truth = past.truth
        self._ready_at: dict[str, float] = {}
        """Since when a pod, by uid, is ready without a break."""
        self._marked_at: dict[str, float] = {}
        """Since when a pod or node, by uid, says that it is to be left alone."""
        self._made_at: dict[str, float] = {}
        """Since when a budget, by uid, is as it is."""
        self._shut_at: dict[str, float] = {}
        """Since when a budget, by uid, allows nothing without a break."""

    def broken(self, entry: Entry, who: str) -> Iterator[str]:
        """Say whom the node's deletion moves that must stay."""
        del who
        for node, command in self._past.deleting_for(entry):
            known_s = self._past.known_s(command)
            if self._marked_at.get(true.uid(node), known_s) < known_s:
                yield f'it carries the annotation "{names.DO_NOT_DISRUPT}"'
            for pod in self._past.known_pods(node, command):
                yield from self._why(pod, known_s)

    def _why(self, pod: JSON, known_s: float) -> Iterator[str]:
        name = f"{pod['metadata']['namespace']}/{true.name(pod)}"
        if self._marked_at.get(true.uid(pod), known_s) < known_s:
            yield f'pod {name} carries the annotation "{names.DO_NOT_EVICT}"'
        budgets = [
            one
            for one in self._truth.all("PodDisruptionBudget")
            if _selects(one, pod) and self._made_at.get(true.uid(one), known_s) < known_s
        ]
        if len(budgets) > 1:
            yield f"pod {name} is under {len(budgets)} disruption budgets"
        is_ready = self._ready_at.get(true.uid(pod), known_s) < known_s
        for budget in budgets if is_ready else ():
            if self._shut_at.get(true.uid(budget), known_s) < known_s:
                yield f"disruption budget {true.name(budget)} over pod {name} allows nothing"

    def note(self, entry: Entry, who: str) -> None:
        """Remember since when."""
        del who
        obj, is_there = entry.obj, entry.type != "DELETED"
        match obj.get("kind"):
            case "Pod":
                is_marked = true.marks_of(obj).get(names.DO_NOT_EVICT) == names.TRUE
                self._keep(self._marked_at, obj, is_so=is_there and is_marked)
                self._keep(self._ready_at, obj, is_so=is_there and _is_ready(obj))
            case "Node":
                is_marked = names.DO_NOT_DISRUPT in true.marks_of(obj)
                self._keep(self._marked_at, obj, is_so=is_there and is_marked)
            case "PodDisruptionBudget":
                is_same = entry.old is not None and entry.old["spec"] == obj["spec"]
                self._keep(self._made_at, obj, is_so=is_there and is_same)
                self._keep(self._made_at, obj, is_so=is_there)
                status = obj.get("status") or {}
                is_shut = status.get("disruptionsAllowed", 0) <= 0
                self._keep(self._shut_at, obj, is_so=is_there and is_shut)
            case _:
                pass

    def _keep(self, since: dict[str, float], obj: JSON, *, is_so: bool) -> None:
        if is_so:
            since.setdefault(true.uid(obj), self._truth.time_s())
        else:
            since.pop(true.uid(obj), None)


def _is_ready(pod: JSON) -> bool:
    said = (pod.get("status") or {}).get("conditions") or ()
    return any((one["type"], one["status"]) == ("Ready", "True") for one in said)


def _selects(budget: JSON, pod: JSON) -> bool:
    """Budgets of simulated people select by equal labels alone."""
    wanted = (budget["spec"].get("selector") or {}).get("matchLabels") or {}
    labels = pod["metadata"].get("labels") or {}
    is_near = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return is_near and bool(wanted) and wanted.items() <= labels.items()
