"""Types by price, worked out once for each shape.

Must not: make prices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unmoor.engine.bulk.shapes import Amounts, Costs, Flags, Shape, Types


class Prices:
    """What each type costs at least, as a machine of some shape; unknown is the dearest."""

    def __init__(self, types: Types) -> None:
        """Rank nothing yet."""
        self.types = types
        self.names = [one.name for one in types.all]
        self._ranked: dict[int, tuple[npt.NDArray[np.int64], Costs]] = {}

    def of(self, shape: Shape) -> tuple[npt.NDArray[np.int64], Costs]:
        """Return the rows of all types, the cheapest first, and what each row costs."""
        found = self._ranked.get(shape.number)
        if found is None:
            cheapest = np.where(shape.sold, self.types.prices_usd_per_h, np.inf).min(
                axis=1, initial=np.inf
            )
            by_name = self.types.by_name
            order = by_name[np.argsort(cheapest[by_name], kind="stable")]
            found = self._ranked[shape.number] = (order, cheapest)
        return found

    def ladder(self, shape: Shape, flags: Flags) -> tuple[Amounts, Costs]:
        """Return room and price of these types, the cheapest first; those with a price only."""
        order, cheapest = self.of(shape)
        listed = order[flags[order] & (cheapest[order] < np.inf)]
        return self.types.allocatable[listed], cheapest[listed]
