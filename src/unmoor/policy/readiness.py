"""Which nodes are not waited for any longer? Those that should be ready and have not been for long.

A node on its way up, or one that has fallen silent a moment ago, is a place for pods all the same:
the taints that say so go by themselves (T313). kube-scheduler, though, puts nobody there while they
last. So their time is limited; afterwards pods that wait get another place.

Must not: conclude that a machine is gone.
"""

from __future__ import annotations

from unmoor.model import names
from unmoor.model.base import condition_of
from unmoor.model.kinds import NODES
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.snapshot import View


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


def _unsettled_s(node: Node, moment: Moment) -> float:
    ready = condition_of(node.status.conditions, "Ready")
    changed_at = ready.last_transition_time if ready is not None else None
    known = [at for at in (node.metadata.creation_timestamp, changed_at) if at is not None]
    return moment.since_s(max(known, default=None))


def _limit_s(view: View, node: Node) -> float:
    cadence = view.settings.cadence
    was_up = node.is_initialized or not node.provisioner_name
    return cadence.unready_node_limit_s if was_up else cadence.registration_limit_s
