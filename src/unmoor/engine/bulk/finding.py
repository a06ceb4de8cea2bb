"""The first standing node that takes a class: a few likely ones are looked at first, then all.

Which nodes have room for a class before anybody is placed is worked out once, for the first few.
While pods are placed room only goes, so nobody else can come to stand before them.

Must not: choose between nodes other than by their order.
"""

from __future__ import annotations

import numpy as np

from unmoor.engine.bulk.counting import Counting
from unmoor.engine.bulk.crowd import Ask
from unmoor.engine.bulk.ground import Ground
from unmoor.engine.bulk.layout import Layout
from unmoor.engine.bulk.tallies import Counts

HEAD = 96
"""So many rows of each class are remembered."""
NONE = -1


class Finder:
    """Looks for rows of one ground."""

    def __init__(self, ground: Ground, counting: Counting) -> None:
        """Remember nothing yet."""
        self._ground = ground
        self._counting = counting
        self._heads: dict[int, tuple[Counts, bool]] = {}

    def forget(self) -> None:
        """Remember nothing: nodes have other pods than before."""
        self._heads.clear()

    def first(self, ask: Ask, layout: Layout) -> int:
        """Return the first row that takes the pod, NONE where no row does."""
        rows, are_all = self.head(ask)
        found = self._among(rows, ask, layout)
        if found == NONE and not are_all:
            found = self._among(np.flatnonzero(self._ground.candidates(ask)), ask, layout)
        return found

    def head(self, ask: Ask) -> tuple[Counts, bool]:
        """Return the first rows with room before anybody is placed, and whether these are all."""
        found = self._heads.get(ask.number)
        if found is None:
            rows = np.flatnonzero(self._ground.had_room(ask))
            found = self._heads[ask.number] = (rows[:HEAD].copy(), len(rows) <= HEAD)
        return found

    def _among(self, rows: Counts, ask: Ask, layout: Layout) -> int:
        ground = self._ground
        rows = rows[ground.has_room(rows, ask)]
        for domains in layout.domains if len(rows) else ():
            rows = rows[layout.lets(domains, ground.codes(domains)[rows])]
        for at in rows.tolist():
            if ground.is_free(at, ask) and ground.has_volume_room(at, ask):
                return int(at)
        return NONE
