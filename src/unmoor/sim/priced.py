"""Does no bill rise by consolidation?

When a command is past its last look, what has come in place of its nodes is there: it costs less
than they do, by the prices of the offerings that they really are.

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


class Priced:
    """What each node of a command costs, also when it is gone since."""

    name = "no-bill-rises"

    def __init__(self, known: Past) -> None:
        """Begin with nothing."""
        self._truth = known.truth
        self._prices = {
            (one.name, offering.zone, offering.capacity_type): offering.price_usd_per_h
            for one in self._truth.types
            for offering in one.offerings
        }
        self._of_node: dict[str, float] = {}

    def broken(self, entry: Entry, who: str) -> Iterator[str]:
        """Say when a command goes on although what it makes costs more than it saves."""
        del who
        command, old = entry.obj, entry.old
        if command.get("kind") != "Disruption" or not is_for_the_bill(command):
            return
        is_decided = past.phase_of(command) == "Deleting" != past.phase_of(old or {})
        launched = (command.get("status") or {}).get("launched") or {}
        if not is_decided or not launched:
            return
        left_out = (command.get("status") or {}).get("leftOut") or {}
        going = [n for n in command["spec"].get("nodes") or () if n["name"] not in left_out]
        known = [self._of_node.get(one["uid"]) for one in going]
        come = [one for one in self._truth.all("Machine") if true.uid(one) in launched.values()]
        coming = [self._price(one) for one in come]
        before, after = sum(one or 0.0 for one in known), sum(one or 0.0 for one in coming)
        if None in known or None in coming:
            yield "nobody knows what it costs"
        elif after >= before:
            yield f"what goes costs {before:g} USD/h, and what comes {after:g}"

    def note(self, entry: Entry, who: str) -> None:
        """Remember what a node costs."""
        del who
        if entry.obj.get("kind") == "Node" and entry.type != "DELETED":
            price = self._price(entry.obj)
            if price is not None:
                self._of_node[true.uid(entry.obj)] = price

    def _price(self, obj: JSON) -> float | None:
        """What the instance of a Node or Machine costs."""
        holder = obj["spec"] if obj["kind"] == "Node" else obj.get("status") or {}
        instance = self._truth.instance_of(holder.get("providerID", ""))
        spec = instance["spec"] if instance is not None else {}
        where = ("instanceType", "zone", "capacityType")
        kind, zone, capacity_type = (spec.get(key, "") for key in where)
        return self._prices.get((kind, zone, capacity_type))
