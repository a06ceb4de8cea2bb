"""What can be said of nodes going together before anything is simulated, by adding up alone.

What their pods use must be no more than what the others have free, and one machine besides where
one may come. That is necessary, never enough: so what it rules out need not be tried, and a search
can begin near to what is possible.

Must not: choose nodes, or place pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from unmoor.model import resources
from unmoor.model.instance import InstanceType
from unmoor.policy.command import Candidate
from unmoor.policy.simulation import Simulation

Amounts: TypeAlias = tuple[int, ...]
"""Of each resource in ``WEIGHED``."""
WEIGHED = (resources.CPU, resources.MEMORY, resources.PODS)
NOTHING: Amounts = (0,) * len(WEIGHED)


class Share(NamedTuple):
    """One node: what would move, and what it has free besides."""

    used: Amounts
    free: Amounts

    @property
    def given_up(self) -> Amounts:
        """What the others have less when it goes: its pods come, its free room is gone."""
        return plus(self.used, self.free)


class Machine(NamedTuple):
    """A type that may come: its room, and the least that it may cost."""

    room: Amounts
    price: float


class Room:
    """What nodes have and use, added up once for a search."""

    def __init__(self, simulation: Simulation, candidates: Iterable[Candidate]) -> None:
        """Of these nodes and of all others together."""
        free = simulation.free(WEIGHED)
        self.free: Amounts = tuple(free[name] for name in WEIGHED)
        self._shares = {one.node.name: _share(simulation, one.node.name) for one in candidates}
        machines = (_machine(one) for one in simulation.types.values())
        self.machines = _best(one for one in machines if one is not None)

    @property
    def largest(self) -> Amounts:
        """Return the room of the largest machine: of the most cores, of these the most memory."""
        return max((one.room for one in self.machines), default=NOTHING)

    def share_of(self, candidate: Candidate) -> Share:
        """Return what a node uses and has free."""
        return self._shares[candidate.node.name]

    def overflow(self, going: Iterable[Candidate]) -> Amounts:
        """Return what certainly finds no room on the nodes that stay; nothing where all might."""
        return tuple(max(-one, 0) for one in self._left(going))

    def _left(self, going: Iterable[Candidate]) -> Amounts:
        left = self.free
        for one in going:
            left = minus(left, self.share_of(one).given_up)
        return left

    def may_go(self, going: Sequence[Candidate], price: float | None) -> bool:
        """False when these certainly cannot go.

        ``price``: a machine may come that costs less than this, none for None.
        """
        over = self.overflow(going)
        if not any(over):
            return True
        return price is not None and any(
            one.price < price and fits(over, one.room) for one in self.machines
        )

    def as_many(
        self,
        ordered: Iterable[Candidate],
        more: Amounts = NOTHING,
        besides: Iterable[Candidate] = (),
    ) -> list[Candidate]:
        """Return those that may go together; who is too much is left out.

        ``more``: the room of a machine that comes. ``besides``: who goes already.
        """
        left = plus(self._left(besides), more)
        going = []
        for one in ordered:
            given_up = self.share_of(one).given_up
            if fits(given_up, left):
                left = minus(left, given_up)
                going.append(one)
        return going


def plus(one: Amounts, other: Amounts) -> Amounts:
    """Both together."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def minus(one: Amounts, other: Amounts) -> Amounts:
    """What is left."""
    return tuple(a - b for a, b in zip(one, other, strict=True))


def fits(wanted: Amounts, room: Amounts) -> bool:
    """True when there is room for it."""
    return all(a <= b for a, b in zip(wanted, room, strict=True))


def amounts_of(given: resources.Resources) -> Amounts:
    """Those that are weighed."""
    return tuple(given.get(name, 0) for name in WEIGHED)


def _share(simulation: Simulation, name: str) -> Share:
    load = simulation.load_of(name)
    used = amounts_of(load.used)
    # Where nobody is taken, no room is given up.
    free = amounts_of(load.free) if load.is_open else NOTHING
    return Share(used, tuple(max(one, 0) for one in free))


def _machine(one: InstanceType) -> Machine | None:
    prices = [each.price_usd_per_h for each in one.offerings if each.is_available]
    known = [price for price in prices if price]
    if not known:
        return None
    # How many pods it takes, and what it keeps for itself, depends on who launches it.
    room = {**one.capacity, resources.PODS: resources.AMOUNT_LIMIT}
    return Machine(amounts_of(room), min(known))


def _best(machines: Iterable[Machine]) -> tuple[Machine, ...]:
    """Those that are the largest at their price, or the cheapest of their size."""
    kept: list[Machine] = []
    for one in sorted(machines, key=lambda each: (each.price, each.room)):
        if not any(fits(one.room, other.room) for other in kept):
            kept.append(one)
    return tuple(kept)
