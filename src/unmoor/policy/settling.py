"""Are the pods that a command moved ready again? (R3)

Before a command, the owners of the pods that it will evict are noted with their ready pods. After
it, the next command waits until each owner has as many again. Pods that were not ready before,
naked pods and finished Jobs do not count; an owner that was scaled down meanwhile needs only what
it wants.

Must not: wait; how long is ``lifecycle.command``'s question.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from unmoor.model.base import condition_of
from unmoor.model.disruption import DisruptedNode, Disruption, DisruptionPhase, MovedOwner
from unmoor.model.kinds import KINDS
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.model.workload import Job
from unmoor.policy import pods


class Unsettled(msgspec.Struct, frozen=True):
    """An owner that has fewer ready pods than before. ``unplaceable``: a pod of it fits nowhere."""

    owner: MovedOwner
    ready: int
    wanted: int
    unplaceable: str = ""

    def __str__(self) -> str:
        """``ReplicaSet shop/web has 1 of 2 pods ready``."""
        name = f"{self.owner.kind} {self.owner.namespace}/{self.owner.name}"
        why = f"; pod {self.unplaceable} fits nowhere" if self.unplaceable else ""
        return f"{name} has {self.ready} of {self.wanted} pods ready{why}"


def baseline(view: View, nodes: Iterable[DisruptedNode], moment: Moment) -> tuple[MovedOwner, ...]:
    """Note the owners of the pods that will be evicted with these nodes, and their ready pods."""
    patience = pods.Patience(view.settings.cadence.stuck_terminating_s)
    on_them = [pod for node in nodes for pod in view.pods_on(node.name)]
    owners: dict[str, MovedOwner] = {}
    for pod in pods.evicted(on_them, moment, patience):
        owner = pod.metadata.controller
        if owner is None or owner.uid in owners:
            continue
        moved = MovedOwner(
            kind=owner.kind,
            namespace=pod.namespace,
            name=owner.name,
            uid=owner.uid,
            ready=_ready(view, owner.uid),
        )
        if moved.ready and not _is_finished(view, moved):
            owners[owner.uid] = moved
    return tuple(sorted(owners.values(), key=lambda one: (one.namespace, one.kind, one.name)))


def has_moved(view: View, command: Disruption) -> bool:
    """True unless it was called off before any of its nodes went: then it has moved nobody."""
    if command.phase is not DisruptionPhase.CANCELLED:
        return True
    there = ((view.node(one.name), one.uid) for one in command.nodes)
    return any(node is None or node.uid != uid or node.is_deleting for node, uid in there)


def unsettled(view: View, moved: Iterable[MovedOwner]) -> tuple[Unsettled, ...]:
    """Return the owners that have fewer ready pods than before the command."""
    left = []
    for owner in moved:
        ready, wanted = _ready(view, owner.uid), _wanted(view, owner)
        if ready < wanted:
            left.append(Unsettled(owner, ready, wanted, _unplaceable(view, owner)))
    return tuple(left)


def _ready(view: View, uid: str) -> int:
    return sum(pod.is_ready and not pod.is_deleting for pod in view.pods_of(uid))


def _wanted(view: View, owner: MovedOwner) -> int:
    """As many as before, but not more than the owner wants by now; gone owners want none."""
    if owner.kind not in KINDS:
        return min(owner.ready, len(view.pods_of(owner.uid)))
    found = view.get(KINDS[owner.kind], owner.name, owner.namespace)
    if found is None or found.uid != owner.uid or _is_finished(view, owner):
        return 0
    replicas = getattr(found.spec, "replicas", None)
    return owner.ready if replicas is None else min(owner.ready, replicas)


def _is_finished(view: View, owner: MovedOwner) -> bool:
    if owner.kind != "Job":
        return False
    job = view.get(KINDS["Job"], owner.name, owner.namespace)
    return isinstance(job, Job) and job.is_finished


def _unplaceable(view: View, owner: MovedOwner) -> str:
    for pod in view.pods_of(owner.uid):
        scheduled = condition_of(pod.status.conditions, "PodScheduled")
        if pod.node_name or scheduled is None or pod.is_deleting:
            continue
        if scheduled.status == "False" and scheduled.reason == "Unschedulable":
            return f"{pod.namespace}/{pod.name}"
    return ""
