"""Which heartbeat leases belong to no node any more? (spec 6.2)

The kubelet makes its Lease a property of its Node. One without an owner and without a node of its
name was left behind by a node that is gone.

Must not: look at leases outside ``kube-node-lease``.
"""

from __future__ import annotations

from typing import Any

from unmoor.lifecycle.effects import Fact, delete_as_seen
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.kinds import LEASES
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View


def advance(view: View, key: str, memory: None, moment: Moment) -> Step[Any]:
    """Delete the lease called ``key`` when it was left behind (T154-T157)."""
    del memory
    lease = view.get(LEASES, key, names.NODE_LEASES)
    if lease is None or lease.is_deleting or lease.metadata.owner_references:
        return Step()
    if view.node(lease.name) is not None:
        return Step()
    age_s = moment.since_s(lease.metadata.creation_timestamp)
    # A kubelet that is just starting makes its lease before its node.
    grace_s = view.settings.cadence.lease_gc_grace_s
    if age_s < grace_s:
        return Step(wake_at=moment.after(grace_s - age_s))
    # Whoever has renewed it since may be about to name its owner.
    facts = (Fact("nodes_leases_deleted"),)
    return Step(effects=(delete_as_seen(lease, why="its node is gone", facts=facts),))
