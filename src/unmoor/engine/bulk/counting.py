"""Who is counted where: makes the tallies that a class asks for, and keeps them up to date.

Must not: decide where a pod goes.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np

from unmoor.engine.bulk.crowd import Ask, Person
from unmoor.engine.bulk.fleet import Fleet, Machine
from unmoor.engine.bulk.ground import Ground, taints_tolerated
from unmoor.engine.bulk.layout import Layout, NearTally, SpreadTally
from unmoor.engine.bulk.numbering import Domains
from unmoor.engine.bulk.shapes import Flags, Shapes
from unmoor.engine.bulk.tallies import NOTHING, Book, Share, Tally, Weight
from unmoor.engine.selection import Term, content_of
from unmoor.engine.wish import Spread, Wish
from unmoor.model import names, taint


class Counting:
    """The tallies of one simulation."""

    def __init__(
        self, ground: Ground, fleet: Fleet, shapes: Shapes, watched: Sequence[Term]
    ) -> None:
        """Know who keeps others away from the standing nodes.

        ``watched``: whom the pods to be placed are spread among (``company.watched_by``).
        """
        self._watched = tuple(watched)
        self._ground = ground
        self._fleet = fleet
        self._shapes = shapes
        self._book = Book()
        self._domains: dict[str, Domains] = {}
        self._everywhere: Flags = np.ones(ground.count, dtype=bool)
        self._standing: dict[int, Flags] = {}
        self._holders: dict[Hashable, tuple[Term, Tally]] = {}
        self._held: set[int] = set()
        self._put: dict[int, tuple[Person, dict[int, int]]] = {}
        self._counted: dict[int, tuple[int, list[Tally]]] = {}
        for person, _, _ in ground.people:
            self.meet(person)

    def domains(self, key: str) -> Domains:
        """Return the domains of a label."""
        return self._domains.setdefault(key, Domains(key))

    def meet(self, person: Person) -> None:
        """Whoever keeps others away is counted from now on."""
        if person.number in self._held:
            return
        self._held.add(person.number)
        for term in person.holds:
            content = term.content
            if content not in self._holders:
                tally = self._tally(("holds", content), term.key, _holds(content))
                self._holders[content] = (term, tally)

    @property
    def holders(self) -> int:
        """How many different terms keep others away."""
        return len(self._holders)

    def layout(self, ask: Ask, potential: dict[str, tuple[int, ...]]) -> Layout:
        """Return what others have to say to a class."""
        wish = ask.wish
        spreads = [
            SpreadTally(
                one,
                self._spread(wish, one),
                one.selection.has(wish.pod),
                potential.get(one.key, ()),
            )
            for one in wish.spreads
        ]
        near = [
            NearTally(
                tuple(self._near(group, term) for term in group),
                all(term.selection.has(wish.pod) for term in group),
            )
            for group in wish.near
        ]
        apart = [self._apart(term) for term in wish.apart]
        apart += [tally for term, tally in self._holders.values() if term.selection.has(wish.pod)]
        watched = [self._apart(term) for term in self._watched if term.selection.has(wish.pod)]
        return Layout(ask, spreads, near, apart, watched)

    def _spread(self, wish: Wish, spread: Spread) -> Tally:
        keys = tuple(sorted({spread.key, *(one.key for one in wish.spreads if one.is_hard)}))
        spec = wish.pod.spec
        asked = content_of((spec.node_selector, wish.terms))
        content = (
            "spread",
            spread.key,
            spread.selection.content,
            keys,
            asked if spread.honors_affinity else b"",
            content_of(wish.tolerations) if spread.honors_taints else b"",
        )
        ground = self._ground
        counts = self._everywhere.copy()
        for key in keys:
            counts &= ground.codes(self.domains(key)) >= 0
        if spread.honors_affinity:
            counts &= ground.is_wanted(wish, asked)
        if spread.honors_taints:
            counts &= taints_tolerated(ground, wish)
        ways = [(self._shapes.way(way), way) for way in wish.asked]

        def may_count(machine: object) -> bool:
            assert isinstance(machine, Machine)
            if spread.honors_taints and not taint.tolerates_all(
                wish.tolerations, machine.base.taints
            ):
                return False
            if not all(self._where(machine, key) for key in keys):
                return False
            return not spread.honors_affinity or any(
                self._shapes.meets(machine.shape, number, way) for number, way in ways
            )

        def weight(person: Person) -> int:
            return int(spread.counts(person.sample))

        tally = self._tally(content, spread.key, weight, counts, may_count)
        tally.keys = frozenset(keys)
        tally.is_choosy = spread.honors_affinity and any(len(way) for _, way in ways)
        return tally

    def _near(self, group: tuple[Term, ...], term: Term) -> Tally:
        listed = sorted((one.selection.content for one in group), key=repr)
        content = ("near", term.key, tuple(listed))

        def weight(person: Person) -> int:
            return int(all(one.selection.has(person.sample) for one in group))

        return self._tally(content, term.key, weight)

    def _apart(self, term: Term) -> Tally:
        selection = term.selection

        def weight(person: Person) -> int:
            return int(selection.has(person.sample))

        content = ("near", term.key, (selection.content,))
        return self._tally(content, term.key, weight)

    def _tally(
        self,
        content: Hashable,
        key: str,
        weight: Weight,
        counts: Flags | None = None,
        may_count: object = None,
    ) -> Tally:
        domains = self.domains(key)
        allowed = may_count if callable(may_count) else _always
        tally, is_new = self._book.of(
            content, lambda number: Tally(number, domains, weight, allowed)
        )
        if is_new:
            listed = self._everywhere if counts is None else counts
            self._standing[tally.number] = listed
            codes = self._ground.codes(domains)
            tally.count_standing(codes, listed, self._ground.people)
            for person, nodes in self._put.values():
                for at, times in nodes.items() if tally.weight(person) else ():
                    if listed[at] and codes[at] >= 0:
                        tally.add(int(codes[at]), tally.weight(person) * times)
            if key != names.HOSTNAME:
                self._fleet.where(domains)
            for machine in self._fleet.all:
                machine.counted[tally.number] = sum(
                    tally.weight(person) * times for person, times in machine.people.values()
                )
                self._update(machine, tally)
        return tally

    def _where(self, machine: Machine, key: str) -> tuple[int, ...]:
        if key == names.HOSTNAME:
            return (machine.host,)
        if key not in machine.where:
            self._fleet.where(self.domains(key))
        return machine.where[key]

    def _update(self, machine: Machine, tally: Tally) -> None:
        share: Share = NOTHING
        where = self._where(machine, tally.domains.key)
        if where and tally.may_count(machine):
            share = (where, machine.counted.get(tally.number, 0))
        before = machine.shares.get(tally.number, NOTHING)
        if share != before:
            tally.replace(before, share)
            machine.shares[tally.number] = share

    def opened(self, machine: Machine) -> None:
        """Count a machine that is new."""
        for tally in self._book.all:
            self._update(machine, tally)

    def put_standing(self, at: int, person: Person) -> None:
        """Count a pod on a standing node."""
        self.meet(person)
        nodes = self._put.setdefault(person.number, (person, {}))[1]
        nodes[at] = nodes.get(at, 0) + 1
        for tally in self._that_count(person):
            domain = int(self._ground.codes(tally.domains)[at])
            if domain >= 0 and self._standing[tally.number][at]:
                tally.add(domain, tally.weight(person))

    def put_on(
        self, machine: Machine, person: Person, narrowed: Collection[str], *, is_reshaped: bool
    ) -> None:
        """Count a pod on a machine, and the others anew where the machine was narrowed down.

        ``narrowed``: labels of which it may have fewer values than before.
        """
        self.meet(person)
        times = machine.people.get(person.number, (person, 0))[1]
        machine.people[person.number] = (person, times + 1)
        for tally in self._that_count(person):
            counted = machine.counted.get(tally.number, 0)
            machine.counted[tally.number] = counted + tally.weight(person)
            self._update(machine, tally)
        for tally in self._book.all if narrowed or is_reshaped else ():
            if (is_reshaped and tally.is_choosy) or not tally.keys.isdisjoint(narrowed):
                self._update(machine, tally)

    def _that_count(self, person: Person) -> Iterable[Tally]:
        known = self._counted.get(person.number)
        if known is None or known[0] != len(self._book.all):
            known = (len(self._book.all), list(self._book.that_count(person)))
            self._counted[person.number] = known
        return known[1]


def _always(machine: object) -> bool:
    del machine
    return True


def _holds(content: Hashable) -> Weight:
    def weight(person: Person) -> int:
        return sum(term.content == content for term in person.holds)

    return weight
