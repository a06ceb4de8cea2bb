"""The first standing node that takes a class: a few likely ones are looked at first, then all.

Which nodes have room for a class before anybody is placed is worked out once, for the first few.
While pods are placed room only goes, so nobody else can come to stand before them.

Must not: choose between nodes other than by their order.
"""

from __future__ import annotations

import msgspec
import numpy as np

from unmoor.engine.bulk.counting import Counting
from unmoor.engine.bulk.crowd import Ask
from unmoor.engine.bulk.ground import Ground
from unmoor.engine.bulk.layout import Layout
from unmoor.engine.bulk.tallies import Counts

HEAD = 96
"""So many rows of each class are remembered."""
LIKELY = 3
"""So many of them are looked at one by one, which is cheaper where the pod is taken at once."""
NONE = -1


class Head(msgspec.Struct, frozen=True, gc=False):
    """The first rows of a class, whether these are all, and the first of them once more."""

    rows: Counts
    are_all: bool
    likely: tuple[int, ...]


class Finder:
    """Looks for rows of one ground."""

    def __init__(self, ground: Ground, counting: Counting) -> None:
        """Remember nothing yet."""
        self._ground = ground
        self._counting = counting
        self._heads: dict[int, Head] = {}

    def forget(self) -> None:
        """Remember nothing: nodes have other pods than before."""
        self._heads.clear()

    def first(self, ask: Ask, layout: Layout) -> int:
        """Return the first row that takes the pod, NONE where no row does."""
        head = self.head(ask)
        for at in head.likely:
            if self._lets(at, ask, layout):
                return at
        found = self._among(head.rows[LIKELY:], ask, layout)
        if found == NONE and not head.are_all:
            found = self._among(np.flatnonzero(self._ground.candidates(ask)), ask, layout)
        return found

    def head(self, ask: Ask) -> Head:
        """Return the first rows with room before anybody is placed."""
        found = self._heads.get(ask.number)
        if found is None:
            rows = np.flatnonzero(self._ground.had_room(ask))
            likely = tuple(rows[:LIKELY].tolist())
            found = self._heads[ask.number] = Head(rows[:HEAD].copy(), len(rows) <= HEAD, likely)
        return found

    def takes(self, at: int, ask: Ask, layout: Layout) -> bool:
        """Return whether this row takes the pod."""
        return bool(self._ground.may_use(ask)[at]) and self._lets(at, ask, layout)

    def _lets(self, at: int, ask: Ask, layout: Layout) -> bool:
        ground = self._ground
        return (
            ground.takes(at, ask)
            and all(
                layout.lets_into(domains, int(ground.codes(domains)[at]))
                for domains in layout.domains
            )
            and ground.is_free(at, ask)
            and ground.has_volume_room(at, ask)
        )

    def _among(self, rows: Counts, ask: Ask, layout: Layout) -> int:
        ground = self._ground
        rows = rows[ground.has_room(rows, ask)]
        for domains in layout.domains if len(rows) else ():
            rows = rows[layout.lets(domains, ground.codes(domains)[rows])]
        for at in rows.tolist():
            if ground.is_free(at, ask) and ground.has_volume_room(at, ask):
                return int(at)
        return NONE
