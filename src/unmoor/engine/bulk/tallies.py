"""Pods by domain, kept up to date: the counts of ``company``, one tally for each question asked.

A tally counts certain and possible pods in each domain of a label, and how many nodes lie there.
A machine's share is remembered, so that it can be taken back when the machine is narrowed down.

Must not: decide anything from a count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np
import numpy.typing as npt

from unmoor.engine.bulk.crowd import Person
from unmoor.engine.bulk.numbering import Domains, longer
from unmoor.engine.bulk.presence import Presence
from unmoor.engine.bulk.shapes import Flags

Counts = npt.NDArray[np.int64]
Weight = Callable[[Person], int]
"""How often a person counts: 0 or 1, more where it holds the same term several times."""
Share = tuple[tuple[int, ...], int]
"""Of one machine: the domains that it may lie in (none: it does not count), and its pods."""
NOTHING: Share = ((), 0)


class Tally:
    """One question. ``version`` changes whenever an answer may have."""

    def __init__(
        self, number: int, domains: Domains, weight: Weight, presence: Presence | None
    ) -> None:
        """``presence``: which machines to come count; None: all do, and only for their pods."""
        self.number = number
        self.domains = domains
        self.presence = presence
        self.weigh = weight
        self.people: dict[int, tuple[Person, int]] = {}
        """Whoever of those met so far is counted, by number, and how often."""
        self.certain: Counts = np.zeros(domains.room, dtype=np.int64)
        self.possible: Counts = _nothing(domains.room)
        """It takes no memory while there is nobody who may be in one of several domains."""
        self.sites: Counts = _nothing(domains.room)
        """Only for whoever asks where anything lies at all, as ``presence`` shows."""
        if presence is not None:
            self.sites = np.zeros(domains.room, dtype=np.int64)
        self.total = 0
        self.version = 0
        self.keys: frozenset[str] = frozenset((domains.key,))
        """Labels of a machine that decide whether and where it counts."""
        self.hint: Hashable = None
        """A mark that everybody whom it counts has."""
        self.is_live = False
        """It is kept up to date in the simulation that runs."""

    @property
    def is_choosy(self) -> bool:
        """True when what else a machine may become decides, too, whether it counts."""
        return self.presence is not None and self.presence.is_choosy

    def weight(self, person: Person) -> int:
        """How often a person who has been met counts here."""
        found = self.people.get(person.number)
        return 0 if found is None else found[1]

    def grow(self) -> None:
        """Make room for domains that have come since."""
        room = self.domains.room
        if room > len(self.certain):
            self.certain = longer(self.certain, room)
            self.possible = _longer(self.possible, room)
            self.sites = _longer(self.sites, room)

    def present(self) -> Flags:
        """Return the domains in which something lies that counts, with pods or without."""
        found: Flags = self.sites > 0
        return found if self.presence is None else found | self.presence.lying()

    def most(self, where: Counts | slice[None, None, None]) -> Counts:
        """So many there may be in each of these domains."""
        found: Counts = self.certain[where]
        return found + self.possible[where] if self.possible.flags.writeable else found

    def most_in(self, domain: int) -> int:
        """So many there may be in one of them."""
        return int(self.certain[domain] + self.possible[domain])

    def count_standing(
        self, codes: Counts, counts: Flags, people: Iterable[tuple[Person, Counts, Counts]]
    ) -> None:
        """Begin with the standing nodes.

        ``codes``: each node's domain, -1 without one. ``counts``: which nodes count. ``people``:
        each person with the nodes where it is and how often.
        """
        self.grow()
        listed = counts & (codes >= 0)
        if self.presence is not None:
            np.add.at(self.sites, codes[listed], 1)
        for person, nodes, times in people:
            weight = self.weight(person)
            if weight:
                here = listed[nodes]
                np.add.at(self.certain, codes[nodes[here]], times[here] * weight)
        self.total = int(self.certain.sum())
        self.version += 1

    def add(self, domain: int, pods: int) -> None:
        """Count pods in one known domain."""
        if domain >= len(self.certain):
            self.grow()
        self.certain[domain] += pods
        self.total += pods
        self.version += 1

    def add_sites(self, where: Counts, sign: int) -> None:
        """Count one site more in each of these domains, or one less."""
        self.grow()
        np.add.at(self.sites, where, sign)
        self.version += 1

    def replace(self, before: Share, after: Share) -> None:
        """Count a machine's pods as they lie now instead of as they did."""
        self._share(before, -1)
        self._share(after, 1)
        self.version += 1

    def _share(self, share: Share, sign: int) -> None:
        domains, pods = share
        if domains and domains[-1] >= len(self.certain):
            self.grow()
        if len(domains) > 1 and not self.possible.flags.writeable:
            self.possible = np.zeros(len(self.certain), dtype=np.int64)
        counted = self.certain if len(domains) == 1 else self.possible
        for one in domains:
            counted[one] += sign * pods
        self.total += sign * pods * len(domains)


def _nothing(room: int) -> Counts:
    """Zeros that cannot be changed: one for all domains, however many there are."""
    return np.broadcast_to(np.int64(0), (room,))


def _longer(counts: Counts, room: int) -> Counts:
    return longer(counts, room) if counts.flags.writeable else _nothing(room)


class Book:
    """Every tally of one simulation, by content."""

    def __init__(self) -> None:
        """Nobody has asked anything."""
        self.all: list[Tally] = []
        self._known: dict[Hashable, Tally] = {}

    def of(self, content: Hashable, make: Callable[[int], Tally]) -> tuple[Tally, bool]:
        """Return the tally of this content, and whether it is new and has to be filled."""
        found = self._known.get(content)
        if found is not None:
            return found, False
        found = make(len(self.all))
        self._known[content] = found
        self.all.append(found)
        return found, True
