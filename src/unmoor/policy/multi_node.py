"""Which two or more nodes can go together? (001:85, spec 3.8)

Two searches, and the one that saves more wins. One bisects the candidates in the order of the page,
as Karpenter does: it finds a long beginning of that order that can go, or be replaced by one
cheaper machine. The other looks for a set: it begins with the emptiest nodes, as many as what the
others have free may hold, and lets those stay whose pods find no place, until all do; then it tries
to add what was left out. So the first never wins by much, and what it cannot see, the second does.

Both stop after so many pods placed, not after a time: the same view gets the same answer.

Must not: look at single nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unmoor.policy.command import NODES_MAX, Candidate
from unmoor.policy.look import Look
from unmoor.policy.removal import Removal, removal_of
from unmoor.policy.simulation import Outcome, Simulation

NODES_LEAST = 2
PLACED_MAX = 100_000
"""So many pods are placed in one search, about 100 us each."""
ROUNDS_MAX = 40
"""So many sets are tried."""


def find(look: Look, candidates: Sequence[Candidate]) -> Removal | None:
    """Return the best removal of several nodes that was found. ``candidates`` in their order."""
    if len(candidates) < NODES_LEAST:
        return None
    simulation = look.simulation
    if simulation is None:
        return None
    found = [
        one
        for one in (_bisected(look, candidates), _set_of(look, simulation, candidates))
        if one is not None and len(one.nodes) >= NODES_LEAST
    ]
    return max(found, key=_worth, default=None)


def _worth(removal: Removal) -> tuple[float, int, int]:
    """What it saves, without a price the nodes; then the fewer pods moved the better."""
    return (
        removal.saving_usd_per_h or 0.0,
        len(removal.nodes) - len(removal.plan.machines),
        -len(removal.plan.placements),
    )


class _Purse:
    """What a search may still spend."""

    def __init__(self) -> None:
        self.left = PLACED_MAX
        self.rounds = ROUNDS_MAX

    def spend(self, nodes: Iterable[Candidate]) -> bool:
        """Pay for one simulation; False when there is nothing left."""
        self.left -= sum(len(one.pods) for one in nodes)
        self.rounds -= 1
        return self.left >= 0 and self.rounds >= 0


def _bisected(look: Look, candidates: Sequence[Candidate]) -> Removal | None:
    """The longest beginning of the order that is found by bisection (spec 3.8)."""
    purse, best = _Purse(), None
    low, high = 1, min(len(candidates), NODES_MAX) - 1
    while low <= high:
        middle = (low + high) // 2
        tried = candidates[: middle + 1]
        removal = removal_of(look, tried) if purse.spend(tried) else None
        if isinstance(removal, Removal):
            best, low = removal, middle + 1
        else:
            high = middle - 1
    return best


def _set_of(look: Look, simulation: Simulation, candidates: Sequence[Candidate]) -> Removal | None:
    """A set of nodes whose pods all fit onto those that stay."""
    purse = _Purse()
    emptiest = sorted(candidates, key=lambda one: _fill(simulation, one))
    going = _as_many_as_may_fit(simulation, emptiest)[:NODES_MAX]
    while going:
        if not purse.spend(going):
            return None
        outcome = simulation.without([one.node.name for one in going])
        staying = _misfits(outcome, going)
        if not staying:
            break
        # Room that stays may be enough for the others: the fuller half of them stays first.
        dropped = {one.node.name for one in staying[len(staying) // 2 :]}
        going = [one for one in going if one.node.name not in dropped]
    names = {one.node.name for one in going}
    left_out = [one for one in reversed(emptiest) if one.node.name not in names]
    going = _with_more(simulation, purse, going, left_out)
    removal = removal_of(look, going) if going else None
    return removal if isinstance(removal, Removal) else None


def _fill(simulation: Simulation, candidate: Candidate) -> tuple[float, str]:
    return (simulation.fill_of(candidate.node.name), candidate.node.name)


def _as_many_as_may_fit(simulation: Simulation, emptiest: Sequence[Candidate]) -> list[Candidate]:
    """The longest beginning whose pods, all added up, are no more than what the rest has free."""
    free = dict(simulation.free())
    wanted = dict.fromkeys(free, 0)
    going: list[Candidate] = []
    for one in emptiest:
        used, room = simulation.load_of(one.node.name)
        for name in free:
            free[name] -= room.get(name, 0)
            wanted[name] += used.get(name, 0)
        if any(wanted[name] > free[name] for name in free):
            break
        going.append(one)
    return going


def _misfits(outcome: Outcome, going: Sequence[Candidate]) -> list[Candidate]:
    """Those with pods that would have no place, or only on a new machine."""
    bought = {pod for machine in outcome.machines for pod in machine.pods}
    outside = bought.union(outcome.refused)
    return [one for one in going if any(pod.key in outside for pod in one.pods)]


def _with_more(
    simulation: Simulation,
    purse: _Purse,
    going: list[Candidate],
    waiting: list[Candidate],
) -> list[Candidate]:
    """Add what still fits, the last first, in bites that halve when they do not."""
    bite = max(len(waiting) // 2, 1)
    while waiting and len(going) < NODES_MAX:
        more = waiting[-bite:]
        if not purse.spend([*going, *more]):
            break
        outcome = simulation.without([one.node.name for one in (*going, *more)])
        if outcome.is_possible and not outcome.machines:
            going = [*going, *more]
            del waiting[-bite:]
        elif bite > 1:
            bite //= 2
        else:
            waiting.pop()
    return going
