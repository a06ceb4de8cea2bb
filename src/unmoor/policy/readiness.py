"""Which nodes are not waited for any longer? Those that should be ready and have not been for long.

A node on its way up, or one that has fallen silent a moment ago, is a place for pods all the same:
the taints that say so go by themselves (T313). kube-scheduler, though, puts nobody there while they
last. So their time is limited; afterwards pods that wait get another place.

Nodes of ours that never were up hint at what makes them: their provisioner makes fewer.

Must not: conclude that a machine is gone.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from unmoor.model import names
from unmoor.model.base import condition_of
from unmoor.model.kinds import NODES
from unmoor.model.moment import Moment, doubled_s
from unmoor.model.node import Node
from unmoor.model.snapshot import View
from unmoor.policy.ownership import is_ours

SHOWN_MAX = 3
"""So many nodes are named."""


def late_nodes(view: View, moment: Moment) -> frozenset[str]:
    """Return the names of nodes whose taints of this kind have had their time.

    It counts from when the node was made, or last became ready, unready or unknown. A node that was
    up has as long as Kubernetes leaves pods on it, by default (``cadence.unreadyNodeLimit``); one
    of ours that never was, as long as a machine may take to get a node at all.
    """
    return frozenset(
        node.name
        for node in view.all(NODES).values()
        if any(one.identity in names.EPHEMERAL_TAINTS for one in node.spec.taints)
        and _unsettled_s(node, moment) >= _limit_s(view, node)
    )


class Pause(msgspec.Struct, frozen=True):
    """A provisioner makes no machine for another ``for_s``: these nodes of it were never ready."""

    nodes: tuple[str, ...]
    for_s: float

    def __str__(self) -> str:
        """As people are told."""
        shown = ", ".join(self.nodes[:SHOWN_MAX])
        more = len(self.nodes) - SHOWN_MAX
        return (
            f"its last {len(self.nodes)} nodes have not become ready ({shown}"
            f"{f' and {more} more' if more > 0 else ''}): look at their kubelets, or delete them"
        )


def pauses(view: View, late: frozenset[str], moment: Moment) -> dict[str, Pause]:
    """Return by provisioner why it makes no machine for now. ``late``: of :func:`late_nodes`.

    Nodes of ours that never became ready stay, and cost (spec 6.1 knows no limit). One may be bad
    luck. After two the next is waited for as long as a machine may take to get a node, twice as
    long after each further one; until a younger one is ready, or they are gone.
    """
    if not late:
        return {}  # As nearly always: nobody has to be looked at.
    failed: dict[str, list[tuple[datetime, str]]] = {}
    newest_up: dict[str, datetime] = {}
    for node in view.all(NODES).values():
        owner, made_at = node.provisioner_name, node.metadata.creation_timestamp
        if not owner or node.is_deleting or made_at is None or not is_ours(view, node):
            continue
        if node.is_initialized:
            newest_up[owner] = max(newest_up.get(owner, made_at), made_at)
        elif node.name in late:
            failed.setdefault(owner, []).append((made_at, node.name))
    found = {}
    for owner, nodes in sorted(failed.items()):
        up_at = newest_up.get(owner)
        row = sorted(one for one in nodes if up_at is None or one[0] > up_at)
        left_s = _pause_s(view, len(row)) - moment.since_s(row[-1][0]) if len(row) > 1 else 0.0
        if left_s > 0:
            found[owner] = Pause(tuple(name for _, name in row), left_s)
    return found


def _pause_s(view: View, count: int) -> float:
    """From when the last one was made: 30 min after two by default, doubling to four hours."""
    cadence = view.settings.cadence
    return doubled_s(cadence.registration_limit_s, count - 1, cadence.no_show_memory_most_s)


def _unsettled_s(node: Node, moment: Moment) -> float:
    ready = condition_of(node.status.conditions, "Ready")
    changed_at = ready.last_transition_time if ready is not None else None
    known = [at for at in (node.metadata.creation_timestamp, changed_at) if at is not None]
    return moment.since_s(max(known, default=None))


def _limit_s(view: View, node: Node) -> float:
    cadence = view.settings.cadence
    was_up = node.is_initialized or not node.provisioner_name
    return cadence.unready_node_limit_s if was_up else cadence.registration_limit_s
