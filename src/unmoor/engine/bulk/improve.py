"""Cheaper machines for the same plan: pods that differ in size only change places.

Two pods that are equal in everything but what they request are in nobody's way more in the other's
place than in their own: whoever counts one counts the other. So the greedy plan stays feasible
whichever of them is where, as long as there is room, and the machines may be chosen for it. For
each kind of pod and each pair of sizes, those that gain most by changing are exchanged, as long as
the two machines together become cheaper. A plan is never dearer afterwards.

Must not: change who is where in any way that others could notice; change a started machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import NamedTuple

import numpy as np

from unmoor.engine.bulk.crowd import Ask
from unmoor.engine.bulk.fleet import Fleet, Machine
from unmoor.engine.bulk.prices import Ladder, Numbers, Prices
from unmoor.engine.bulk.shapes import Amounts, Costs, Flags
from unmoor.engine.selection import content_of
from unmoor.model.base import Key

ROUNDS = 3
"""So many times over all kinds of pods at most; a round without a gain is the last."""
PAIRS_LEAST, PAIRS_MOST, PODS_PER_PAIR = 100, 2_500, 4
"""So many pairs of sizes are looked at in all, more for more pods: looking takes as long as a share
of the planning itself. The kinds with the most pods come first."""
ENTRIES_MOST = 1_000_000
"""So many prices are held at once: of each pod of a kind, in each of their sizes."""
GAIN_LEAST_USD_PER_H = 1e-9
"""Less than this is a matter of rounding."""
_FINITE = np.finfo(np.float64).max


class Slot(NamedTuple):
    """Where a pod of some kind is: it is the ``number``-th pod of a machine."""

    machine: int
    number: int


class Improving:
    """The machines of a plan, while pods change places."""

    def __init__(self, fleet: Fleet, prices: Prices) -> None:
        """Look at those that do not exist yet."""
        machines = self.machines = [one for one in fleet.all if not one.is_started]
        self._fleet = fleet
        self._prices = prices
        self.rows: Amounts = np.array([one.row for one in machines], dtype=np.int64)
        self._choices: dict[Hashable, Flags] = {}
        self._allowed = [self._may_be(one) for one in machines]
        self._ladders: list[Ladder] = []
        self._groups = self._grouped()
        self.costs = self.cost(np.arange(len(machines)), self.rows)

    def _may_be(self, machine: Machine) -> Flags:
        """The types that it may become without being anywhere where it could not be before."""
        asked = (machine.shape.number, machine.may_be.tobytes(), *machine.where.items())
        found = self._choices.get(asked)
        if found is None:
            found = machine.may_be & machine.shape.types
            for key, where in machine.where.items():
                found &= machine.shape.only_in(self._fleet.domains(key), where)
            self._choices[asked] = found
        return found

    def _grouped(self) -> Numbers:
        """Machines of equal choice share a price list."""
        numbers: dict[tuple[int, bytes], int] = {}
        listed = []
        for machine, flags in zip(self.machines, self._allowed, strict=True):
            key = (machine.shape.number, flags.tobytes())
            if key not in numbers:
                numbers[key] = len(numbers)
                self._ladders.append(self._prices.ladder(machine.shape, flags))
            listed.append(numbers[key])
        return np.array(listed, dtype=np.int64)

    def cost(self, machines: Numbers, rows: Amounts) -> Costs:
        """Return what machines with these requests would cost; infinite where no type has room."""
        found = np.full(len(machines), np.inf)
        groups = self._groups[machines]
        for group in sorted(set(groups.tolist())):
            here = np.flatnonzero(groups == group)
            found[here] = self._ladders[group].costs_of(rows[here])
        return found

    def run(self) -> bool:
        """Exchange pods until nothing is gained; return whether anything was."""
        roles = sorted(_roles(self.machines), key=len, reverse=True)
        pods = sum(map(len, roles))
        left, is_better = min(PAIRS_LEAST + pods // PODS_PER_PAIR, PAIRS_MOST), False
        for _ in range(ROUNDS):
            has_gained = False
            for slots in roles:
                if left <= 0:
                    break
                role = Peers(self, slots)
                has_gained |= role.improve(left)
                left -= role.pairs
            is_better |= has_gained
            if not has_gained:
                break
        return is_better

    def swap(self, swaps: list[tuple[Slot, Slot]], change: Amounts) -> Numbers:
        """Let pods of different machines change places; return the machines, none of them twice.

        ``change``: what the first machine of each swap is asked more than before.
        """
        for here, there in swaps:
            one, other = self.machines[here.machine], self.machines[there.machine]
            ask, pod = one.asks[here.number], one.pods[here.number]
            one.asks[here.number] = other.asks[there.number]
            one.pods[here.number] = other.pods[there.number]
            other.asks[there.number], other.pods[there.number] = ask, pod
        firsts = [here.machine for here, _ in swaps]
        seconds = [there.machine for _, there in swaps]
        self.rows[firsts] += change
        self.rows[seconds] -= change
        both = np.array(firsts + seconds)
        self.costs[both] = self.cost(both, self.rows[both])
        return both

    def settle(self) -> None:
        """Tell the machines what they ask now, and what they may be."""
        for machine, row, flags in zip(self.machines, self.rows, self._allowed, strict=True):
            machine.row = row
            machine.flags = flags & self._prices.types.have_room(row)


class Peers:
    """Pods that differ in size only, and what each of their machines would cost with another size.

    ``pairs``: so many pairs of sizes were looked at.
    """

    def __init__(self, improving: Improving, slots: list[Slot]) -> None:
        """Find the sizes; where there are too many for a table, those with the most pods."""
        self._all = improving
        rows = [improving.machines[slot.machine].asks[slot.number].row for slot in slots]
        names = [row.tobytes() for row in rows]
        known = dict(zip(names, rows, strict=True))
        most = max(ENTRIES_MOST // len(slots), 2)
        kept = [name for name, _ in Counter(names).most_common(most)]
        numbers = {name: at for at, name in enumerate(sorted(kept))}
        self._sizes: Amounts = np.array([known[name] for name in numbers])
        self._slots = [slot for slot, name in zip(slots, names, strict=True) if name in numbers]
        self._machines: Numbers = np.array([slot.machine for slot in self._slots])
        self._current: Numbers = np.array([numbers[one] for one in names if one in numbers])
        self._more: Costs = np.empty((len(self._slots), len(numbers)))
        self.pairs = 0

    def improve(self, pairs: int) -> bool:
        """Exchange pods of two sizes, for so many pairs of sizes at most; return if it helped."""
        ones, others = np.triu_indices(len(self._sizes), 1)
        self.pairs = min(pairs, len(ones))
        if not self.pairs:
            return False
        self._look_at(np.arange(len(self._slots)))
        at, is_better = 0, False
        while True:
            least = self._least()
            gains = (least + least.T)[ones[at : self.pairs], others[at : self.pairs]]
            promising = np.flatnonzero(gains <= -GAIN_LEAST_USD_PER_H)
            if not len(promising):
                return is_better
            at += int(promising[0])
            is_better |= self._exchange(int(ones[at]), int(others[at]))
            at += 1

    def _look_at(self, slots: Numbers) -> None:
        """Work out what their machines would cost more; infinite where that is not known."""
        machines, count = self._machines[slots], len(self._sizes)
        bare = self._all.rows[machines] - self._sizes[self._current[slots]]
        rows = (bare[:, None, :] + self._sizes).reshape(len(slots) * count, -1)
        after = self._all.cost(np.repeat(machines, count), rows).reshape(-1, count)
        before = self._all.costs[machines][:, None]
        self._more[slots] = np.where(before < np.inf, after - np.minimum(before, _FINITE), np.inf)

    def _least(self) -> Costs:
        """By size now and size instead: what it costs more where it costs the least."""
        order = np.argsort(self._current, kind="stable")
        sizes, starts = np.unique(self._current[order], return_index=True)
        found = np.full((len(self._sizes), len(self._sizes)), np.inf)
        found[sizes] = np.minimum.reduceat(self._more[order], starts, axis=0)
        return found

    def _exchange(self, one: int, other: int) -> bool:
        """Exchange pods of two sizes where both machines together become cheaper."""
        ones, others = (np.flatnonzero(self._current == size) for size in (one, other))
        more = self._more[ones, other], self._more[others, one]
        order = [np.argsort(costs, kind="stable").tolist() for costs in more]
        touched: set[int] = set()
        pairs: list[tuple[int, int]] = []
        for at, to in zip(*order, strict=False):
            if more[0][at] + more[1][to] > -GAIN_LEAST_USD_PER_H:
                break
            here, there = int(ones[at]), int(others[to])
            pairing = {self._slots[here].machine, self._slots[there].machine}
            if touched & pairing or len(pairing) == 1:
                continue
            touched |= pairing
            pairs.append((here, there))
        if not pairs:
            return False
        swaps = [(self._slots[here], self._slots[there]) for here, there in pairs]
        machines = self._all.swap(swaps, self._sizes[other] - self._sizes[one])
        self._current[[here for here, _ in pairs]] = other
        self._current[[there for _, there in pairs]] = one
        self._look_at(np.flatnonzero(np.isin(self._machines, machines)))
        return True


def _roles(machines: list[Machine]) -> Iterator[list[Slot]]:
    """Slots whose pods differ in size only; pods that hold something, or have volumes, stay."""
    found: dict[Hashable, list[Slot]] = {}
    contents: dict[int, Hashable] = {}
    for at, machine in enumerate(machines):
        for number, ask in enumerate(machine.asks):
            if ask.wish.held or ask.wish.needs:
                continue
            if ask.role not in contents:
                contents[ask.role] = _role(ask)
            found.setdefault(contents[ask.role], []).append(Slot(at, number))
    yield from (slots for slots in found.values() if len(slots) > 1)


def _role(ask: Ask) -> Hashable:
    wish = ask.wish
    spreads = tuple(
        (
            one.key,
            one.selection.content,
            one.max_skew,
            one.min_domains,
            one.is_hard,
            one.honors_affinity,
            one.honors_taints,
        )
        for one in wish.spreads
    )
    near = tuple(tuple(term.content for term in group) for group in wish.near)
    apart = tuple(term.content for term in wish.apart)
    given_up = content_of(wish.given_up)
    return (ask.person.number, ask.kind, spreads, near, apart, wish.level, given_up)


def improved(fleet: Fleet, prices: Prices, placements: dict[Key, str]) -> dict[Key, str]:
    """Let the machines of a plan become cheaper; return who is where then, in the order to create.

    A pod that has changed its place is created when the other would have been.
    """
    improving = Improving(fleet, prices)
    slots = [
        (pod.key, machine, number)
        for machine in improving.machines
        for number, pod in enumerate(machine.pods)
    ]
    if not improving.run():
        return placements
    improving.settle()
    instead = {key: machine.pods[number].key for key, machine, number in slots}
    return {instead.get(key, key): where for key, where in placements.items()}
