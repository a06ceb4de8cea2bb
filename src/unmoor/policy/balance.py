"""Does what is saved outweigh what is disturbed? (R9, spec 3.11: Balanced; off by default)

A command takes a share of what a provisioner's nodes cost, and disturbs a share of what runs on
them, each pod counted as in the order of disruption. Where the first is less than so much of the
second, nothing of it goes: with ``unmoor.balanced: "2"``, half as much. Nodes without such pods
disturb nobody.

Must not: find out what is saved (``removal``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from unmoor.model.kinds import NODES
from unmoor.model.pod import Pod
from unmoor.policy import disruption_cost, ownership, pods
from unmoor.policy.command import Candidate
from unmoor.policy.look import Look
from unmoor.policy.simulation import Simulation

ROUNDING = 1e-9


class Weight(msgspec.Struct):
    """What nodes cost in an hour, and what it would count to disturb all that runs on them."""

    price: float = 0.0
    disruption: float = 0.0


def why_not(look: Look, nodes: Sequence[Candidate], saving: float | None) -> str:
    """Say why so little is not worth so much, "" when it is, or nobody asks."""
    factor, simulation = look.view.settings.balanced_factor, look.simulation
    if factor is None or simulation is None:
        return ""
    going = _weights(nodes, simulation)
    whole = sum(one.price for one in going.values())
    totals = _totals(look, simulation) if any(one.disruption for one in going.values()) else {}
    for name in sorted(going):
        mine, all_of_it = going[name], totals.get(name, Weight())
        if not mine.disruption:
            continue
        part = (saving or 0.0) * mine.price / whole if whole else 0.0
        reached = score(part, mine.disruption, all_of_it)
        if reached * factor < 1 - ROUNDING:
            return (
                f"it would save {part / (all_of_it.price or 1):.1%} of what provisioner {name} "
                f"costs and disturb {mine.disruption / (all_of_it.disruption or 1):.1%} of it: "
                f"less than unmoor.balanced ({factor:g}) asks for"
            )
    return ""


def score(saving: float, disruption: float, total: Weight) -> float:
    """Return the share that is saved, in shares that are disturbed; 0 where nothing is saved."""
    if saving <= 0 or total.price <= 0 or total.disruption <= 0:
        return 0.0
    return (saving / total.price) / (disruption / total.disruption)


def _weights(nodes: Sequence[Candidate], simulation: Simulation) -> Mapping[str, Weight]:
    found: dict[str, Weight] = {}
    for one in nodes:
        weight = found.setdefault(one.provisioner.name, Weight())
        weight.price += simulation.price_at(one.node.metadata.labels) or 0.0
        weight.disruption += _disruption(one.pods)
    return found


def _totals(look: Look, simulation: Simulation) -> Mapping[str, Weight]:
    """Of all nodes of ours, whether they may go or not."""
    if look.totals is None:
        view, found = look.view, dict[str, Weight]()
        patience = pods.Patience(view.settings.cadence.stuck_terminating_s)
        for node in view.sorted(NODES):
            if node.is_initialized and ownership.is_ours(view, node):
                weight = found.setdefault(node.provisioner_name, Weight())
                weight.price += simulation.price_at(node.metadata.labels) or 0.0
                there = pods.counted(view.pods_on(node.name), look.moment, patience)
                weight.disruption += _disruption(there)
        look.totals = {name: (one.price, one.disruption) for name, one in found.items()}
    return {name: Weight(*both) for name, both in look.totals.items()}


def _disruption(there: Sequence[Pod]) -> float:
    return sum(max(disruption_cost.eviction_cost(pod), 0.0) for pod in there)
