"""Types by price, worked out once for each shape.

Must not: make prices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unmoor.engine.bulk.shapes import Amounts, Flags, Shape, Types

Costs = npt.NDArray[np.float64]


class Prices:
    """What each type costs at least, as a machine of some shape; unknown is the dearest."""

    def __init__(self, types: Types) -> None:
        """Read the price of each offering."""
        self.types = types
        self.names = [one.name for one in types.all]
        number = {pair: at for at, pair in enumerate(types.pairs)}
        self._prices: Costs = np.full((len(types.all), len(types.pairs)), np.inf)
        for at, one in enumerate(types.all):
            for offering in one.offerings:
                if offering.price_usd_per_h is not None:
                    column = number[offering.zone, offering.capacity_type]
                    known = self._prices[at, column]
                    self._prices[at, column] = min(known, offering.price_usd_per_h)
        self._by_name = np.argsort(np.array(self.names, dtype=object), kind="stable")
        self._ranked: dict[int, tuple[npt.NDArray[np.int64], Costs]] = {}

    def of(self, shape: Shape) -> tuple[npt.NDArray[np.int64], Costs]:
        """Return the rows of all types, the cheapest first, and what each row costs."""
        found = self._ranked.get(shape.number)
        if found is None:
            cheapest = np.where(shape.sold, self._prices, np.inf).min(axis=1, initial=np.inf)
            order = self._by_name[np.argsort(cheapest[self._by_name], kind="stable")]
            found = self._ranked[shape.number] = (order, cheapest)
        return found

    def ladder(self, shape: Shape, flags: Flags) -> tuple[Amounts, Costs]:
        """Return room and price of these types, the cheapest first; those with a price only."""
        order, cheapest = self.of(shape)
        listed = order[flags[order] & (cheapest[order] < np.inf)]
        return self.types.allocatable[listed], cheapest[listed]
