"""Since when is a machine there? From the older of the two, Machine and Node (spec 7.1).

Must not: decide what follows.
"""

from __future__ import annotations

from datetime import datetime

from unmoor.model.machine import Machine
from unmoor.model.snapshot import View


def born_at(view: View, machine: Machine) -> datetime | None:
    """Return the earlier of both creations; several nodes, or none, say nothing."""
    nodes = view.nodes_of(machine.provider_id)
    both = (machine, *nodes) if len(nodes) == 1 else (machine,)
    times = [one.metadata.creation_timestamp for one in both]
    return min((one for one in times if one is not None), default=None)
