"""Which two or more nodes can go together? (001:85, spec 3.8)

The one that saves most of what three searches find. The first bisects the candidates in the order
of the page, as Karpenter does: it finds a long beginning of that order that can go, or be replaced
by one cheaper machine. The others look for a set, with one machine in its stead or none
(``set_search``). So the first never wins by much, and what it cannot see, the others do.

All stop after so many pods placed, not after a time: the same view gets the same answer.

Must not: look at single nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unmoor.policy.command import NODES_MAX, Candidate
from unmoor.policy.look import Look
from unmoor.policy.removal import Removal, possible, price_of
from unmoor.policy.room import Room
from unmoor.policy.set_search import Purse, best_sets
from unmoor.policy.simulation import Simulation
from unmoor.policy.worth import is_spot

NODES_LEAST = 2
PRICE_DIGITS = 6
"""Less of a USD than these say is a matter of rounding."""
PLACED_MAX = 60_000
"""So many pods are placed in one look by the searches for sets, and as many by the bisection."""


def _always(_: Removal) -> bool:
    return True


def find(
    look: Look, candidates: Sequence[Candidate], may_go: Callable[[Removal], bool] = _always
) -> Removal | None:
    """Return the best removal of several nodes that was found. ``candidates`` in their order.

    ``may_go``: whether what was found may be done now.
    """
    if len(candidates) < NODES_LEAST:
        return None
    simulation = look.simulation
    if simulation is None:
        return None
    room = Room(simulation, candidates)
    purse = Purse(PLACED_MAX)
    found = [one for one in best_sets(look, room, candidates, purse) if may_go(one)]
    known = max((one.saving_usd_per_h or 0.0 for one in found), default=0.0)
    bisection = bisected(look, candidates, room, Purse(PLACED_MAX), known)
    if bisection is not None and may_go(bisection):
        found.append(bisection)
    best = max(found, key=_worth, default=None)
    # What one node alone saves as well, several need not be moved for.
    return best if best is not None and len(best.nodes) >= NODES_LEAST else None


def _worth(removal: Removal) -> tuple[float, int, int]:
    """What it saves, without a price the nodes; then the fewer pods moved the better."""
    saving = removal.saving_usd_per_h
    fewer = len(removal.nodes) - len(removal.plan.machines) if saving is None else 0
    return (round(saving or 0.0, PRICE_DIGITS), fewer, -len(removal.plan.placements))


def bisected(
    look: Look,
    candidates: Sequence[Candidate],
    room: Room,
    purse: Purse,
    known_usd_per_h: float = 0.0,
) -> Removal | None:
    """Return the longest beginning of the order that is found by bisection (spec 3.8).

    What adding up rules out is not simulated: the answer would be no. Nor is a beginning that costs
    no more than what is saved otherwise (``known_usd_per_h``): whether it can go or not, only a
    longer one could save more.
    """
    simulation = look.simulation
    assert simulation is not None
    best = None
    low, high = 1, min(len(candidates), NODES_MAX) - 1
    while low <= high:
        middle = (low + high) // 2
        tried = candidates[: middle + 1]
        price = price_of(tried, simulation)
        if price is not None and price <= known_usd_per_h:
            low = middle + 1
            continue
        may_go = room.may_go(tried, _most_usd_per_h(look, simulation, tried))
        removal = possible(look, tried) if may_go and purse.spend(tried) else None
        if removal is not None:
            best, low = removal, middle + 1
        else:
            high = middle - 1
    return best


def _most_usd_per_h(look: Look, simulation: Simulation, tried: Sequence[Candidate]) -> float | None:
    """Less than this a machine must cost that replaces them; None where none may."""
    if not look.view.settings.spot_to_spot and any(map(is_spot, tried)):
        return None
    return price_of(tried, simulation)
