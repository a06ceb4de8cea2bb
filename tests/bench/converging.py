"""Where does consolidation end, by which commands, with how many pods moved? (a process of its own)

python -m tests.bench.converging --nodes 1000 --pods 0

Twice from the same cluster: our way, and the page's plain way: the bisection and single nodes,
whatever a command saves. What is planned is what happens, and no time passes.

Must not: count how long it takes to make the cluster up.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.bench.bound import bounds_of
from tests.bench.gauges import Stopwatch, print_measured
from tests.bench.planned import Played
from unmoor.model import kinds
from unmoor.model.settings import Settings
from unmoor.policy import candidates, consolidation, disruption_cost, multi_node
from unmoor.policy.command import Candidate, Command, proposal
from unmoor.policy.look import Look
from unmoor.policy.removal import Removal, removal_of
from unmoor.policy.room import Room
from unmoor.policy.set_search import Purse
from unmoor.policy.verdict import Method
from unmoor.sim.clusters.mix import REALISTIC, Kind, Mix

Decides: TypeAlias = Callable[[Look], Command | None]

UTILISATION = 0.6
NOT_FREE = frozenset(
    (
        Kind.BUDGET,
        Kind.DO_NOT_EVICT,
        Kind.NAKED,
        Kind.TAINT,
        Kind.TOLERATION,
        Kind.STARTUP_TAINT,
        Kind.EPHEMERAL_TAINT,
        Kind.CORDON,
        Kind.NOT_OURS,
        Kind.NO_MACHINE,
        Kind.IN_FLIGHT,
    )
)
"""What keeps nodes from being consolidated at all says nothing about the search."""
COMMANDS_MAX = 60
ANYTHING_PAYS = Settings(least_saving=0.0, moved_workload_respect_s=0.0)


def mix_of(nodes: int, pods: int) -> Mix:
    """Pods have constraints, every node may go. ``pods`` 0: as many as it takes."""
    shares = {kind: share for kind, share in REALISTIC.items() if kind not in NOT_FREE}
    return Mix(seed=1, nodes=nodes, pods=pods, shares=shares, utilisation=UTILISATION)


def ours(look: Look) -> Command | None:
    """What we would do next."""
    return consolidation.propose(look).command


def plain(look: Look) -> Command | None:
    """What the page says: the empty ones, else a beginning of the order, else a single one."""
    found = candidates.find(look.view, Method.CONSOLIDATION, consolidation.wants, look.moment)
    order = look.view.settings.consolidation_order
    ordered = disruption_cost.ordered(found.candidates, order, look.moment)
    empty = [one for one in ordered if not one.pods]
    removal = removal_of(look, empty) if empty else _bisected(look, ordered)
    if not isinstance(removal, Removal):
        each = (removal_of(look, [one]) for one in ordered)
        removal = next((one for one in each if isinstance(one, Removal)), None)
    if removal is None:
        return None
    made = proposal(found, removal.nodes, "", removal.plan, removal.saving_usd_per_h)
    return made.command


def _bisected(look: Look, ordered: list[Candidate]) -> Removal | None:
    simulation = look.simulation
    assert simulation is not None
    room = Room(simulation, ordered)
    return multi_node.bisected(look, ordered, room, Purse(multi_node.PLACED_MAX))


def converged(mix: Mix, settings: Settings, decides: Decides) -> dict[str, Any]:
    """Carry out commands until there are none, or enough."""
    played = Played(mix, settings)
    gc.collect()
    gc.freeze()
    bounds = bounds_of(played.store, played.price_of)
    took: list[float] = []
    steps: list[dict[str, Any]] = []
    found: dict[str, Any] = {
        "nodes": len(played.store.all(kinds.NODES)),
        "first_usd_per_h": played.price_usd_per_h(),
        "bound_kept_usd_per_h": bounds.kept,
        "bound_usd_per_h": bounds.bought,
    }
    while len(steps) < COMMANDS_MAX:
        watch = Stopwatch()
        command = decides(played.look())
        took.append(watch.cpu_s)
        if command is None:
            break
        moved = played.carry_out(command)
        steps.append(
            {
                "gone": len(command.nodes),
                "come": len(command.replacements),
                "moved": moved,
                "usd_per_h": played.price_usd_per_h(),
                "cpu_s": took[-1],
            }
        )
    return found | {
        "commands": len(steps),
        "bought": sum(one["come"] for one in steps),
        "third_usd_per_h": steps[min(len(steps), 3) - 1]["usd_per_h"]
        if steps
        else found["first_usd_per_h"],
        "last_usd_per_h": played.price_usd_per_h(),
        "moves": sum(played.moves.values()),
        "moved_pods": len(played.moves),
        "worst_s": max(took),
        "total_s": sum(took),
        "steps": steps,
    }


def measured(nodes: int, pods: int) -> dict[str, Any]:
    """Both ways."""
    mix = mix_of(nodes, pods)
    return {
        "ours": converged(mix, Settings(), ours),
        "plain": converged(mix, ANYTHING_PAYS, plain),
    }


def main() -> None:
    """Print the figures as JSON."""
    print_measured(measured)


if __name__ == "__main__":
    main()
