"""Cheaper machines for the same plan: pods that differ in size only change places.

Two pods that are equal in everything but what they request are in nobody's way more in the other's
place than in their own: whoever counts one counts the other. So the greedy plan stays feasible
whichever of them is where, as long as there is room, and the machines may be chosen for it. For
each kind of pod and each pair of sizes, those that gain most by changing are exchanged, as long as
the two machines together become cheaper. A plan is never dearer afterwards.

Must not: change who is where in any way that others could notice; change a started machine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from unmoor.engine.bulk.crowd import Ask
from unmoor.engine.bulk.fleet import Fleet, Machine
from unmoor.engine.bulk.prices import Prices
from unmoor.engine.bulk.shapes import Amounts, Costs, Flags
from unmoor.engine.selection import content_of
from unmoor.model.base import Key

ROUNDS = 3
"""So many times over all kinds of pods at most; a round without a gain is the last."""
PAIRS_LEAST, PAIRS_MOST, PODS_PER_PAIR = 100, 2_500, 4
"""So many pairs of sizes are looked at in all, more for more pods: looking takes as long as a share
of the planning itself. The kinds with the most pods come first."""
GAIN_LEAST_USD_PER_H = 1e-9
"""Less than this is a matter of rounding."""
_FINITE = np.finfo(np.float64).max


class Slot:
    """Where a pod of some kind is."""

    def __init__(self, machine: int, number: int) -> None:
        """The ``number``-th pod of a machine."""
        self.machine = machine
        self.number = number


class Improving:
    """The machines of a plan, while pods change places."""

    def __init__(self, fleet: Fleet, prices: Prices) -> None:
        """Look at those that do not exist yet."""
        machines = self.machines = [one for one in fleet.all if not one.is_started]
        self._fleet = fleet
        self._prices = prices
        self.rows: Amounts = np.array([one.row for one in machines], dtype=np.int64)
        self.allowed = [self._may_be(one) for one in machines]
        self._groups: npt.NDArray[np.int64]
        self._tables: list[tuple[Amounts, Costs]] = []
        self._group()
        self._costs = self.cost(np.arange(len(machines)), self.rows)

    def _may_be(self, machine: Machine) -> Flags:
        """The types that it may become without being anywhere where it could not be before."""
        flags: Flags = machine.may_be & machine.shape.types
        for key, where in machine.where.items():
            flags &= machine.shape.only_in(self._fleet.domains(key), where)
        return flags

    def _group(self) -> None:
        """Machines of equal choice share a price list."""
        numbers: dict[tuple[int, bytes], int] = {}
        listed = []
        for machine, flags in zip(self.machines, self.allowed, strict=True):
            key = (machine.shape.number, flags.tobytes())
            if key not in numbers:
                numbers[key] = len(numbers)
                self._tables.append(self._prices.ladder(machine.shape, flags))
            listed.append(numbers[key])
        self._groups = np.array(listed, dtype=np.int64)

    def cost(self, machines: npt.NDArray[np.int64], rows: Amounts) -> Costs:
        """Return what machines with these requests would cost; infinite where no type has room."""
        found = np.full(len(machines), np.inf)
        groups = self._groups[machines]
        for group in sorted(set(groups.tolist())):
            here = np.flatnonzero(groups == group)
            rooms, costs = self._tables[group]
            if len(costs):
                found[here] = _first_with_room(rooms, costs, rows[here])
        return found

    def run(self) -> bool:
        """Exchange pods until nothing is gained; return whether anything was."""
        roles = sorted(_roles(self.machines), key=len, reverse=True)
        pods = sum(map(len, roles))
        left, is_better = min(PAIRS_LEAST + pods // PODS_PER_PAIR, PAIRS_MOST), False
        for _ in range(ROUNDS):
            has_gained = False
            for slots in roles:
                pairs, has_helped = self._improve(slots, left)
                left -= pairs
                has_gained |= has_helped
            is_better |= has_gained
            if not has_gained:
                break
        return is_better

    def _improve(self, slots: list[Slot], left: int) -> tuple[int, bool]:
        """Exchange pods of one role; return how many pairs were looked at, and if it helped."""
        sizes: dict[bytes, Amounts] = {}
        of_slot = []
        for slot in slots:
            row = self.machines[slot.machine].asks[slot.number].row
            sizes.setdefault(row.tobytes(), row)
            of_slot.append(row.tobytes())
        if len(sizes) < 2 or left <= 0:  # noqa: PLR2004 - nothing to exchange
            return 0, False
        names = sorted(sizes)
        current = np.array([names.index(one) for one in of_slot])
        machines = np.array([slot.machine for slot in slots])
        rows = np.array([sizes[name] for name in names])
        pairs, is_better = 0, False
        for one, other in combinations(range(len(names)), 2):
            pairs += 1
            if pairs > left:
                break
            change = rows[other] - rows[one]
            is_better |= self._exchange(slots, machines, current, (one, other), change)
        return pairs, is_better

    def _exchange(
        self,
        slots: list[Slot],
        machines: npt.NDArray[np.int64],
        current: npt.NDArray[np.int64],
        pair: tuple[int, int],
        change: Amounts,
    ) -> bool:
        """Exchange pods of two sizes where both machines together become cheaper."""
        ones, others = (np.flatnonzero(current == size) for size in pair)
        if not len(ones) or not len(others):
            return False
        gains = self._gains(machines[ones], change), self._gains(machines[others], -change)
        order = [np.argsort(gain, kind="stable") for gain in gains]
        touched: set[int] = set()
        is_better = False
        for at, to in zip(order[0].tolist(), order[1].tolist(), strict=False):
            if gains[0][at] + gains[1][to] > -GAIN_LEAST_USD_PER_H:
                break
            here, there = int(ones[at]), int(others[to])
            pairing = {int(machines[here]), int(machines[there])}
            if touched & pairing or len(pairing) == 1:
                continue
            touched |= pairing
            self._swap(slots[here], slots[there], change)
            current[here], current[there] = pair[1], pair[0]
            is_better = True
        return is_better

    def _gains(self, machines: npt.NDArray[np.int64], change: Amounts) -> Costs:
        """What each would cost more; infinite where that is not known, before or afterwards."""
        before, after = self._costs[machines], self.cost(machines, self.rows[machines] + change)
        return np.where(before < np.inf, after - np.minimum(before, _FINITE), np.inf)

    def _swap(self, here: Slot, there: Slot, change: Amounts) -> None:
        one, other = self.machines[here.machine], self.machines[there.machine]
        one.asks[here.number], other.asks[there.number] = (
            other.asks[there.number],
            one.asks[here.number],
        )
        one.pods[here.number], other.pods[there.number] = (
            other.pods[there.number],
            one.pods[here.number],
        )
        self.rows[here.machine] += change
        self.rows[there.machine] -= change
        both = np.array([here.machine, there.machine])
        self._costs[both] = self.cost(both, self.rows[both])

    def settle(self) -> None:
        """Tell the machines what they ask now, and what they may be."""
        for machine, row, flags in zip(self.machines, self.rows, self.allowed, strict=True):
            machine.row = row
            machine.flags = flags & self._prices.types.have_room(row)


def _roles(machines: list[Machine]) -> Iterator[list[Slot]]:
    """Slots whose pods differ in size only; pods that hold something, or have volumes, stay."""
    found: dict[Hashable, list[Slot]] = {}
    contents: dict[int, Hashable] = {}
    for at, machine in enumerate(machines):
        for number, ask in enumerate(machine.asks):
            if ask.wish.held or ask.wish.needs:
                continue
            if ask.number not in contents:
                contents[ask.number] = _role(ask)
            found.setdefault(contents[ask.number], []).append(Slot(at, number))
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


def _first_with_room(rooms: Amounts, costs: Costs, rows: Amounts) -> Costs:
    """The price of the first type on the ladder that has room, infinite where none has.

    Below the first type that has room for the least of everything, nobody finds any; from the first
    that has room for the most on, everybody does.
    """
    fits_least = np.all(rooms >= rows.min(axis=0), axis=1)
    fits_most = np.all(rooms >= rows.max(axis=0), axis=1)
    low = int(fits_least.argmax())
    high = int(fits_most.argmax()) if fits_most.any() else len(costs) - 1
    part = rooms[low : high + 1]
    fits = np.all(part[None, :, :] >= rows[:, None, :], axis=2)
    first = fits.argmax(axis=1)
    has = fits[np.arange(len(rows)), first]
    return np.where(has, costs[low + first], np.inf)


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
