"""What does a look of all methods cost in a big cluster? (a process of its own)

python -m tests.bench.looking --nodes 5000 --pods 100000

The search for several nodes first, as it is. Then whole looks of which nothing comes: every
question is answered for real, but each answer is taken for a no, so that all nodes are looked at.

Must not: count how long it takes to make the cluster up, or to change it.
"""

from __future__ import annotations

import gc
from collections.abc import Collection
from typing import Any

from tests.bench.changed import change
from tests.bench.gauges import Stopwatch, memory_mb, print_measured
from tests.bench.planned import Played
from unmoor.engine.plan import Plan
from unmoor.model import kinds
from unmoor.policy import candidates, consolidation, disruption_cost, methods, multi_node
from unmoor.policy.look import Look
from unmoor.policy.simulation import Outcome, Simulation
from unmoor.policy.verdict import Method, Reason
from unmoor.sim.clusters.mix import Mix

NO: Plan = Plan(refused={("", "nobody"): ()})


class Reluctant(Simulation):
    """A simulation of which every answer is no, once it has been found."""

    def __init__(self, of: Simulation) -> None:
        """Ask ``of``."""
        self.__dict__ = of.__dict__
        self.asked: list[frozenset[str]] = []

    def without(self, nodes: Collection[str]) -> Outcome:
        """Find the answer, and say no."""
        self.asked.append(frozenset(nodes))
        super().without(nodes)
        return Outcome(NO)


def measured(nodes: int, pods: int) -> dict[str, Any]:
    """Seconds of processor time."""
    played = Played(Mix(seed=1, nodes=nodes, pods=pods))
    gc.collect()
    gc.freeze()
    found = {"nodes": nodes, "pods": pods} | _searched(played.look())
    played.forget_what_was_found()
    found |= {f"cold_{what}": one for what, one in _looked(played).items()}
    found |= {f"same_{what}": one for what, one in _looked(played).items()}
    names = [node.name for node in played.store.sorted(kinds.NODES)]
    found["changed_pods"] = change(played.store, names, 0)
    found |= {f"changed_{what}": one for what, one in _looked(played).items()}
    return found | {"peak_mb": memory_mb()}


def _searched(look: Look) -> dict[str, Any]:
    """The search for several nodes."""
    found = candidates.find(look.view, Method.CONSOLIDATION, consolidation.wants, look.moment)
    order = look.view.settings.consolidation_order
    ordered = disruption_cost.ordered(found.candidates, order, look.moment)
    assert look.simulation is not None
    look.simulation.without(())  # rows are made
    watch = Stopwatch()
    removal = multi_node.find(look, [one for one in ordered if one.pods])
    return {
        "search_s": watch.cpu_s,
        "search_gone": len(removal.nodes) if removal is not None else 0,
        "search_moved": len(removal.plan.placements) if removal is not None else 0,
        "search_usd_per_h": (removal.saving_usd_per_h or 0.0) if removal is not None else 0.0,
    }


def _looked(played: Played) -> dict[str, Any]:
    """A look of which nothing comes: what it cost, and of how many nodes it says why they stay."""
    eligible = _eligible(played.look())
    watch = Stopwatch()
    look = played.look()
    assert look.simulation is not None
    simulation = Reluctant(look.simulation)
    look.__dict__["simulation"] = simulation
    proposal = methods.propose(look)
    cpu_s = watch.cpu_s
    assert proposal.command is None, proposal.command
    said = {
        one.subject.name
        for one in proposal.verdicts
        if one.method is Method.CONSOLIDATION and one.reason is Reason.NO_PLACE
    }
    return {
        "s": cpu_s,
        "eligible": len(eligible),
        "coverage": len(said & eligible) / max(len(eligible), 1),
        "asked": len(simulation.asked),
    }


def _eligible(look: Look) -> set[str]:
    """Which nodes nothing keeps but that it may not pay."""
    found = candidates.find(look.view, Method.CONSOLIDATION, consolidation.wants, look.moment)
    return {one.node.name for one in found.candidates}


def main() -> None:
    """Print the figures as JSON."""
    print_measured(measured)


if __name__ == "__main__":
    main()
