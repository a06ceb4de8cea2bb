"""Is no command half done, once all is calm?

Of one that succeeded every node is gone, but those that it left out; of one that was cancelled
before its last look none is, by its doing. Neither has anything on its way.

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model.base import JSON
from unmoor.sim import past
from unmoor.sim import truth as true
from unmoor.sim.past import Past
from unmoor.sim.truth import Truth


def half_done(known: Past) -> Iterator[tuple[str, JSON]]:
    """Say which commands are, in words, with each command."""
    truth = known.truth
    nodes = {true.uid(one): one for one in truth.all("Node")}
    for command in truth.all("Disruption"):
        phase = past.phase_of(command)
        status = command.get("status") or {}
        left_out = status.get("leftOut") or {}
        named = [one for one in command["spec"].get("nodes") or () if one["name"] not in left_out]
        for one in named if phase == "Succeeded" else ():
            node = nodes.get(one["uid"])
            if node is not None and not true.is_deleting(node):
                yield f"it has succeeded, and node {one['name']} is there", command
        was_decided = true.uid(command) in known.decided_at
        for one in () if was_decided else command["spec"].get("nodes") or ():
            if known.deleted_for.get(one["uid"]) == true.uid(command):
                yield f"it was never past its last look, and has deleted {one['name']}", command
        if phase == "Cancelled" and not was_decided:
            for replacement in _on_their_way(truth, command):
                yield f"it was cancelled, and {replacement} still comes", command


def _on_their_way(truth: Truth, command: JSON) -> Iterator[str]:
    """Machines that were made for it and that nobody has use for yet."""
    made = {one["name"] for one in command["spec"].get("replacements") or ()}
    for machine in truth.all("Machine"):
        is_its = true.name(machine) in made and true.uid(machine) in truth.made
        if is_its and true.uid(machine) not in truth.risen:
            yield true.name(machine)
