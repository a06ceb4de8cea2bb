"""Is the machine behind a node alive, by the node's own word?

A cloud that knows no such machine may have been asked in the wrong account or region. A kubelet
that renews its lease, on a node that the control plane holds for Ready, is better evidence: the
machine runs. What nobody renews proves nothing.

Must not: conclude from silence that a machine is gone.
"""

from __future__ import annotations

from unmoor.model import names
from unmoor.model.kinds import LEASES
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.snapshot import View


def is_alive(view: View, node: Node, moment: Moment) -> bool:
    """True when the node is Ready and its kubelet has renewed its lease lately.

    The control plane says within a minute that a node is not Ready any more, by its own clock. The
    lease is written by the node's clock, so "lately" is generous (``cadence.heartbeat``): it counts
    where nobody keeps the condition up.
    """
    lease = view.get(LEASES, node.name, names.NODE_LEASES)
    renewed_at = None if lease is None else lease.spec.renew_time
    if renewed_at is None or not node.is_ready:
        return False
    return moment.since_s(renewed_at) < view.settings.cadence.heartbeat_s


def alive_on(view: View, provider_id: str, moment: Moment) -> Node | None:
    """Return a node of this machine that shows that it runs, None when none does."""
    nodes = view.nodes_of(provider_id)
    return next((node for node in nodes if is_alive(view, node, moment)), None)
