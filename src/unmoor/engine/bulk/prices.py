"""Types by price, worked out once for each shape.

Must not: make prices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unmoor.engine.bulk.shapes import Amounts, Costs, Flags, Shape, Types
from unmoor.engine.pricing import TYPES_PER_MACHINE_MAX

_BITE = 2**20
"""So many amounts are compared at a time."""
Numbers = npt.NDArray[np.int64]


class Ladder:
    """Types that a machine may be, in some order, and the price of the first that has room."""

    def __init__(self, rooms: Amounts, costs: Costs) -> None:
        """``rooms`` and ``costs``: of each type."""
        self._rooms = rooms
        self._costs = np.append(costs, np.inf)
        self._tops: Amounts = np.maximum.accumulate(rooms, axis=0)

    def costs_of(self, rows: Amounts) -> Costs:
        """Return for each row of requests what it takes; infinite where no type has room.

        No type before the one up to which each resource, for itself, has been seen to be enough can
        have room for all. Where dearer types are larger, that one has; else the rest is tried.
        """
        at: Numbers = np.zeros(len(rows), dtype=np.int64)
        for column in range(rows.shape[1]):
            enough = self._tops[:, column].searchsorted(rows[:, column])
            np.maximum(at, enough, out=at)
        left = np.flatnonzero(at < len(self._rooms))
        left = left[np.any(self._rooms[at[left]] < rows[left], axis=1)]
        if len(left):
            at[left] = self._search(rows[left], int(at[left].min()))
        return self._costs[at]

    def _search(self, rows: Amounts, start: int) -> Numbers:
        """The first type from ``start`` on with room for each, in bites that fit into memory."""
        found: Numbers = np.empty(len(rows), dtype=np.int64)
        bite = max(_BITE // max(self._rooms[start:].size, 1), 1)
        for begin in range(0, len(rows), bite):
            part = rows[begin : begin + bite]
            fits = np.all(self._rooms[None, start:] >= part[:, None], axis=2)
            first = start + fits.argmax(axis=1)
            found[begin : begin + bite] = np.where(fits.any(axis=1), first, len(self._rooms))
        return found


class Prices:
    """What each type costs at least, as a machine of some shape; unknown is the dearest."""

    def __init__(self, types: Types) -> None:
        """Rank nothing yet."""
        self.types = types
        self.names = [one.name for one in types.all]
        self._ranked: dict[int, tuple[Numbers, Costs]] = {}

    def of(self, shape: Shape) -> tuple[Numbers, Costs]:
        """Return the rows of all types, the cheapest first, and what each row costs.

        Special ones come after all others: they are for when nothing else would do. Where nobody
        knows what it costs, the smallest comes first.
        """
        found = self._ranked.get(shape.number)
        if found is None:
            cheapest = np.where(shape.sold, self.types.prices_usd_per_h, np.inf).min(
                axis=1, initial=np.inf
            )
            ties = np.where(
                np.isinf(cheapest), self.types.places_by_size, self.types.places_by_name
            )
            order = np.lexsort((ties, cheapest, self.types.are_special))
            found = self._ranked[shape.number] = (order, cheapest)
        return found

    def asked_for(self, shape: Shape, flags: Flags) -> Numbers:
        """Return the rows of those among these that a cloud is asked for, the cheapest first.

        As ``pricing.cheapest_first`` has it, for machines whose types all have room.
        """
        order, _ = self.of(shape)
        ordinary = flags & ~self.types.are_special
        flags = ordinary if ordinary.any() else flags
        return order[flags[order]][:TYPES_PER_MACHINE_MAX]

    def ladder(self, shape: Shape, flags: Flags) -> Ladder:
        """Return these types, in the order in which they are asked for; those with a price only."""
        order, cheapest = self.of(shape)
        listed = order[flags[order] & (cheapest[order] < np.inf)]
        return Ladder(self.types.allocatable[listed], cheapest[listed])
