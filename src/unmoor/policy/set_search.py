"""Which set of nodes saves most when it goes, with one machine in its stead or none?

Room is what is scarce: a node that goes takes its free room along and asks for more. So those come
first that cost most for the room that they have, the emptier before the fuller, as many as adding
up allows. What has no place then says by how much that was too many; those that have such pods and
are worth least stay, until everybody has a place. Then what was left out is tried once more.

A machine lies in one zone, and pods that spread over zones, or have a disk in one, stay in theirs:
so with a machine it is tried zone by zone.

Must not: go on when the purse is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from unmoor.model import names
from unmoor.policy.command import NODES_MAX, Candidate
from unmoor.policy.look import Look
from unmoor.policy.removal import Removal, possible, price_of
from unmoor.policy.room import NOTHING, Room, amounts_of, fits, minus, plus
from unmoor.policy.simulation import Outcome, Simulation
from unmoor.policy.worth import removable, replaceable

FILL_WEIGHT = 0.5
"""A full node is worth so much less than an empty one: its pods have to move."""
FIRST_TRIED = 8
"""So many nodes are tried at first besides a set that may go."""
GROWING_MAX = 15_000
"""So many pods are placed for that: where hundreds of nodes go, the next command adds the rest."""
HASTE = 1.5
"""Each time that some are still too many, so many times more stay than adding up says."""


class Purse:
    """What a search may still spend: so many pods placed."""

    def __init__(self, placed: int) -> None:
        """Begin with this."""
        self.left = placed

    def spend(self, nodes: Iterable[Candidate]) -> bool:
        """Pay for one simulation; False when there is not enough left."""
        self.left -= sum(len(one.pods) for one in nodes)
        return self.left >= 0


def best_sets(
    look: Look, room: Room, candidates: Sequence[Candidate], purse: Purse
) -> Iterator[Removal]:
    """Return what it takes to do without the best sets found: without a machine, then with one."""
    simulation = look.simulation
    assert simulation is not None, "without a simulation nothing is searched"
    hopeless = simulation.hopeless([one.node.name for one in candidates])
    hopeful = [one for one in candidates if one.node.name not in hopeless]
    ordered = _ordered(simulation, room, hopeful)
    groups = [(removable(look, ordered), 0)]
    zones: dict[str, list[Candidate]] = {}
    for one in replaceable(look, ordered):
        zones.setdefault(one.node.metadata.labels.get(names.ZONE, ""), []).append(one)
    groups += [(zones[zone], 1) for zone in sorted(zones)]
    for group, machines in groups:
        removal = _Search(look, simulation, room, purse, machines).run(group)
        if removal is not None:
            yield removal


def _ordered(
    simulation: Simulation, room: Room, candidates: Iterable[Candidate]
) -> list[Candidate]:
    """Those that should go most first: what they cost for their share of all free room."""

    def worth(one: Candidate) -> float:
        given_up = zip(room.share_of(one).given_up, room.free, strict=True)
        scarce = sum(mine / whole for mine, whole in given_up if whole > 0)
        price = price_of([one], simulation) or 0.0
        return price * (1.0 - FILL_WEIGHT * simulation.fill_of(one.node.name)) / max(scarce, 1e-9)

    return sorted(candidates, key=lambda one: (-worth(one), one.node.name))


class _Search:
    """One search. ``machines``: so many may come."""

    def __init__(
        self, look: Look, simulation: Simulation, room: Room, purse: Purse, machines: int
    ) -> None:
        self._look = look
        self._simulation = simulation
        self._room = room
        self._purse = purse
        self._machines = machines

    def run(self, ordered: Sequence[Candidate]) -> Removal | None:
        """Begin with as many as may go, let some stay until all fit, add what still does."""
        found = self._shrunk(ordered)
        return found if self._machines else self._grown(found, ordered)

    def _shrunk(self, ordered: Sequence[Candidate]) -> Removal | None:
        more = self._room.largest if self._machines else NOTHING
        going = self._room.as_many(ordered, more)[:NODES_MAX]
        haste = 1.0
        while going and self._purse.spend(going):
            outcome = self._without(going)
            staying = self._too_many(outcome, going, haste)
            if not staying:
                return possible(self._look, going)
            going = _less(going, staying)
            haste *= HASTE
        return None

    def _without(self, going: Iterable[Candidate]) -> Outcome:
        return self._simulation.without([one.node.name for one in going])

    def _too_many(
        self, outcome: Outcome, going: Sequence[Candidate], haste: float
    ) -> list[Candidate]:
        """Those that had better stay, worth least first, so that others' pods have room."""
        machines = sorted(outcome.machines, key=lambda one: (-len(one.pods), one.name))
        outside = {pod for machine in machines[self._machines :] for pod in machine.pods}
        refused = set(outcome.refused)
        outside |= refused
        misfits = [
            (one, [pod for pod in self._simulation.moved_from(one.node.name) if pod.key in outside])
            for one in going
        ]
        missing = NOTHING
        for _, pods in misfits:
            for pod in pods:
                missing = plus(missing, amounts_of(self._simulation.needs_of(pod)))
        missing = tuple(int(amount * haste) for amount in missing)
        # Who has no place even on a new machine lacks more than room: half of their nodes stay.
        stuck = sum(any(pod.key in refused for pod in pods) for _, pods in misfits)
        staying: list[Candidate] = []
        for one, pods in reversed(misfits):
            is_stuck = any(pod.key in refused for pod in pods)
            if pods and (not staying or not fits(missing, NOTHING) or (is_stuck and stuck > 1)):
                staying.append(one)
                stuck -= 2 if is_stuck else 0
                missing = minus(missing, self._room.share_of(one).given_up)
        return staying

    def _grown(self, best: Removal | None, ordered: Sequence[Candidate]) -> Removal | None:
        """Add what still fits: some at a time while that works, else fewer, at last one by one."""
        going = [] if best is None else list(best.nodes)
        waiting, many = _less(ordered, going), FIRST_TRIED
        purse = Purse(min(GROWING_MAX, self._purse.left))
        while waiting and len(going) < NODES_MAX:
            room = NODES_MAX - len(going)
            tried = self._room.as_many(waiting, besides=going)[: min(many, room)]
            if not tried or not purse.spend([*going, *tried]):
                break
            found = possible(self._look, [*going, *tried])
            if found is not None and not found.is_replacement:
                best, going = found, list(found.nodes)
                waiting, many = _less(waiting, tried), many * 2
            elif len(tried) > 1:
                many = len(tried) // 2
            else:
                waiting = _less(waiting, tried)
        return best


def _less(ordered: Iterable[Candidate], some: Iterable[Candidate]) -> list[Candidate]:
    names_of = {one.node.name for one in some}
    return [one for one in ordered if one.node.name not in names_of]
