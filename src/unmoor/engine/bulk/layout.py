"""What others have to say to one class, as tallies: where they let it go, domain by domain.

The counterpart of ``company``, which counts anew for each pod; here the counts are kept, and what
follows from them is kept as long as they stand.

Must not: put anybody anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from unmoor.engine.bulk.numbering import Domains
from unmoor.engine.bulk.shapes import Flags
from unmoor.engine.bulk.tallies import Counts, Tally
from unmoor.engine.wish import Spread


class SpreadTally(msgspec.Struct, frozen=True):
    """One constraint and its tally. ``potential``: domains where a machine may yet be opened."""

    spread: Spread
    tally: Tally
    is_counted: bool
    """The pod itself is one of those that are counted."""
    potential: tuple[int, ...]

    @property
    def version(self) -> int:
        """It changes whenever it may have changed who is where, or where anybody may be."""
        presence = self.tally.presence
        return self.tally.version + (0 if presence is None else presence.version)


class NearTally(msgspec.Struct, frozen=True):
    """One group of affinity terms; ``is_own``: the pod is one of those whom it looks for."""

    tallies: tuple[Tally, ...]
    is_own: bool

    @property
    def may_begin(self) -> bool:
        """Nobody is there whom the pod could join, and it is itself one whom it looks for."""
        return self.is_own and not any(tally.total for tally in self.tallies)


class Layout:
    """Everything that others have to say to one class, or to several of one role."""

    def __init__(
        self,
        spreads: Iterable[SpreadTally],
        near: Iterable[NearTally],
        apart: Iterable[Tally],
        watched: Iterable[Tally] = (),
    ) -> None:
        """``apart``: whom the class keeps away from, and those who keep it away.

        ``watched``: those among whom others are spread, and of whom the class is one.
        """
        self.watched = tuple(watched)
        self.spreads = tuple(spreads)
        self.near = tuple(near)
        self.apart = tuple(apart)
        self.tallies = (
            *(one.tally for one in self.spreads),
            *(tally for group in self.near for tally in group.tallies),
            *self.apart,
        )
        presences = (one.tally.presence for one in self.spreads)
        self._presences = [one for one in presences if one is not None]
        by_key = {one.domains.key: one.domains for one in (*self.tallies, *self.watched)}
        self.domains = tuple(by_key[key] for key in sorted(by_key))
        self._needed = {one.tally.domains.key for one in self.spreads}
        self._needed |= {tally.domains.key for group in self.near for tally in group.tallies}
        self._pinned = {one.tally.domains.key for one in self.spreads}
        self._pinned |= {tally.domains.key for tally in self.watched}
        self._kept: dict[str, tuple[int, Flags]] = {}
        self._least: dict[int, tuple[int, int]] = {}

    def with_watched(self, watched: Iterable[Tally]) -> Layout:
        """Return the same for machines to come: on standing nodes it does not matter."""
        return Layout(self.spreads, self.near, self.apart, watched)

    @property
    def version(self) -> int:
        """It changes whenever an answer may have."""
        found = 0
        for tally in self.tallies:
            found += tally.version
        for presence in self._presences:
            found += presence.version
        return found

    def needs_domain(self, key: str) -> bool:
        """True when a node without the label will not do."""
        return key in self._needed

    def pins(self, key: str) -> bool:
        """True when a machine that takes the pod must lie in one known domain."""
        if key in self._pinned:
            return True
        return any(
            group.may_begin and any(tally.domains.key == key for tally in group.tallies)
            for group in self.near
        )

    def rank(self, key: str, domain: int, name: str) -> tuple[int, str]:
        """The domain with the fewest pods first, as the first spread constraint counts them."""
        for tally in (*(one.tally for one in self.spreads), *self.watched):
            if tally.domains.key == key:
                tally.grow()
                return (tally.most_in(domain), name)
        return (0, name)

    def allowed(self, domains: Domains) -> Flags:
        """Return in which domains nobody minds the pod."""
        version = self.version + domains.room
        found = self._kept.get(domains.key)
        if found is None or found[0] != version:
            self._grow(domains)
            flags = self._let(domains, slice(None), np.ones(domains.room, dtype=bool))
            found = self._kept[domains.key] = (version, flags)
        return found[1]

    def lets(self, domains: Domains, where: Counts) -> Flags:
        """Return for each of these domains whether nobody minds the pod there.

        -1 stands for a node without the label.
        """
        self._grow(domains)
        found = self._let(domains, where, np.ones(len(where), dtype=bool))
        found[where < 0] = not self.needs_domain(domains.key)
        return found

    def lets_into(self, domains: Domains, domain: int) -> bool:
        """Return the same for a single domain."""
        if domain < 0:
            return not self.needs_domain(domains.key)
        self._grow(domains)
        for at, one in enumerate(self.spreads):
            tally = one.tally
            is_here = tally.domains is domains
            if is_here and tally.most_in(domain) > self._most(at):
                return False
        for group in self.near:
            for tally in () if group.may_begin else group.tallies:
                if tally.domains is domains and not tally.certain[domain] > 0:
                    return False
        return not any(tally.most_in(domain) for tally in self.apart if tally.domains is domains)

    def _grow(self, domains: Domains) -> None:
        for tally in self.tallies:
            if tally.domains is domains:
                tally.grow()

    def _let(
        self, domains: Domains, where: Counts | slice[None, None, None], found: Flags
    ) -> Flags:
        for at, one in enumerate(self.spreads):
            if one.tally.domains is domains:
                found &= one.tally.most(where) <= self._most(at)
        for group in self.near:
            for tally in () if group.may_begin else group.tallies:
                if tally.domains is domains:
                    found &= tally.certain[where] > 0
        for tally in self.apart:
            if tally.domains is domains:
                found &= tally.most(where) == 0
        return found

    def _most(self, at: int) -> int:
        """So many there may be where the pod goes, as a spread constraint has it."""
        one = self.spreads[at]
        return one.spread.max_skew + self._emptiest(at) - int(one.is_counted)

    def _emptiest(self, at: int) -> int:
        """How many pods the emptiest domain of a spread constraint has."""
        one = self.spreads[at]
        found = self._least.get(at)
        if found is None or found[0] != one.version:
            found = self._least[at] = (one.version, _least(one))
        return found[1]


def _least(one: SpreadTally) -> int:
    certain, potential = one.tally.certain, list(one.potential)
    if potential and not certain[potential].all():
        return 0  # Nothing is emptier.
    present = one.tally.present()
    present[potential] = True
    counts = certain[present]
    return int(counts.min()) if len(counts) >= max(one.spread.min_domains, 1) else 0
