"""Who is counted where: makes the tallies that a class asks for, and keeps them up to date.

Must not: decide where a pod goes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable

import msgspec
import numpy as np

from unmoor.engine.bulk.crowd import Ask, Person
from unmoor.engine.bulk.fleet import Fleet, Machine
from unmoor.engine.bulk.ground import Ground, taints_tolerated
from unmoor.engine.bulk.hints import Hint, Index, hint_of, marks_of
from unmoor.engine.bulk.layout import Layout, NearTally, SpreadTally
from unmoor.engine.bulk.numbering import Domains
from unmoor.engine.bulk.shapes import Flags, Shapes
from unmoor.engine.bulk.tallies import NOTHING, Book, Share, Tally, Weight
from unmoor.engine.selection import Term, content_of
from unmoor.engine.wish import Spread, Wish
from unmoor.model import names, taint


class Counting:
    """The tallies of one simulation."""

    def __init__(self, ground: Ground, shapes: Shapes) -> None:
        """Know who is on the standing nodes, and who of them keeps others away."""
        self._ground = ground
        self._shapes = shapes
        self._book = Book()
        self._domains: dict[str, Domains] = {}
        self._everywhere: Flags = np.ones(ground.count, dtype=bool)
        self._standing: dict[int, Flags] = {}
        self._known_holds: set[Hashable] = set()
        self._holders: Index[tuple[Term, Tally]] = Index()
        self._met: set[int] = set()
        self._people: Index[Person] = Index()
        self._tallies: Index[Tally] = Index()
        self._at_first = {person.number: (person, at, times) for person, at, times in ground.people}
        self._fleet: Fleet
        self._watched: Index[Term]
        self._gone: dict[int, tuple[tuple[Person, int], ...]] = {}
        self._live: list[Tally] = []
        for person, _, _ in ground.people:
            for mark in _marks(person):
                self._people.add(mark, person)
        for person, _, _ in ground.people:
            self.meet(person)

    def begin(self, fleet: Fleet, watched: Iterable[Term]) -> None:
        """Begin a simulation with the standing nodes as they were, and no machine.

        ``watched``: whom the pods to be placed are spread among (``company.watched_by``).
        """
        self._fleet = fleet
        self._watched = Index()
        for term in watched:
            self._watched.add(hint_of(term.selection), term)
        self._gone = self._ground.gone
        self._placed: Index[Person] = Index()
        self._put: dict[int, dict[int, int]] = {}
        self._on: dict[int, dict[Machine, int]] = {}
        self._counted: dict[int, tuple[int, list[Tally]]] = {}

    def undo(self) -> None:
        """Count as before the simulation began."""
        for tally in self._live:
            for machine in self._fleet.all:
                tally.replace(machine.shares.pop(tally.number, NOTHING), NOTHING)
            self._count_placed(tally, -1)
            self._count_gone(tally, 1)
            tally.is_live = False
        self._live = []

    def domains(self, key: str) -> Domains:
        """Return the domains of a label."""
        return self._domains.setdefault(key, Domains(key))

    def meet(self, person: Person) -> None:
        """Whoever keeps others away is counted from now on."""
        if person.number in self._met:
            return
        self._met.add(person.number)
        for term in person.holds:
            content = term.content
            if content not in self._known_holds:
                self._known_holds.add(content)
                told = _Told(("holds", content), term.key, _holds(content), ("holds", content))
                self._holders.add(hint_of(term.selection), (term, self._tally(told)))

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
        marks = marks_of(wish.pod)
        apart += [
            tally for term, tally in self._holders.near(marks) if term.selection.has(wish.pod)
        ]
        watched = [self._apart(term) for term in self.watched(ask)]
        return Layout(ask, spreads, near, apart, watched)

    def watched(self, ask: Ask) -> tuple[Term, ...]:
        """Return among whom others are to be spread, and of whom the class is one."""
        near = self._watched.near(marks_of(ask.wish.pod))
        return tuple(term for term in near if term.selection.has(ask.wish.pod))

    def follow(self, layout: Layout) -> None:
        """Keep up to date what matters to a class, from now on."""
        for tally in (*layout.tallies, *layout.watched):
            if not tally.is_live:
                self._enter(tally)

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

        return self._tally(
            _Told(
                content,
                spread.key,
                weight,
                hint_of(spread.selection),
                counts=counts,
                may_count=may_count,
                keys=frozenset(keys),
                is_choosy=spread.honors_affinity and any(len(way) for _, way in ways),
                counts_sites=True,
            )
        )

    def _near(self, group: tuple[Term, ...], term: Term) -> Tally:
        listed = sorted((one.selection.content for one in group), key=repr)
        content = ("near", term.key, tuple(listed))

        def weight(person: Person) -> int:
            return int(all(one.selection.has(person.sample) for one in group))

        return self._tally(_Told(content, term.key, weight, hint_of(group[0].selection)))

    def _apart(self, term: Term) -> Tally:
        selection = term.selection

        def weight(person: Person) -> int:
            return int(selection.has(person.sample))

        content = ("near", term.key, (selection.content,))
        return self._tally(_Told(content, term.key, weight, hint_of(selection)))

    def _tally(self, told: _Told) -> Tally:
        domains = self.domains(told.key)
        tally, is_new = self._book.of(
            told.content, lambda number: Tally(number, domains, told.weight, told.may_count)
        )
        if is_new:
            tally.keys = told.keys or tally.keys
            tally.is_choosy, tally.counts_sites = told.is_choosy, told.counts_sites
            self._tallies.add(told.hint, tally)
            self._standing[tally.number] = self._everywhere if told.counts is None else told.counts
            tally.hint = told.hint
            known = self._people.near((told.hint,))
            people = [self._at_first[one.number] for one in known if tally.weight(one)]
            codes, listed = self._ground.codes(domains), self._standing[tally.number]
            tally.count_standing(codes, listed, people)
        return tally

    def _enter(self, tally: Tally) -> None:
        """Count what has happened since the simulation began."""
        tally.is_live = True
        self._live.append(tally)
        if tally.domains.key != names.HOSTNAME:
            self._fleet.where(tally.domains)
        self._count_gone(tally, -1)
        self._count_placed(tally, 1)
        machines: dict[Machine, None] = {}
        for person in self._placed_in(tally):
            for machine, times in self._on.get(person.number, {}).items():
                counted = machine.counted.get(tally.number, 0)
                machine.counted[tally.number] = counted + tally.weight(person) * times
                machines[machine] = None
        for machine in self._fleet.all if tally.counts_sites else machines:
            self._update(machine, tally)

    def _placed_in(self, tally: Tally) -> Iterable[Person]:
        return (one for one in self._placed.near((tally.hint,)) if tally.weight(one))

    def _count_placed(self, tally: Tally, sign: int) -> None:
        codes, listed = self._ground.codes(tally.domains), self._standing[tally.number]
        for person in self._placed_in(tally):
            for at, times in self._put.get(person.number, {}).items():
                if listed[at] and codes[at] >= 0:
                    tally.add(int(codes[at]), sign * tally.weight(person) * times)

    def _count_gone(self, tally: Tally, sign: int) -> None:
        codes, listed = self._ground.codes(tally.domains), self._standing[tally.number]
        for at, people in self._gone.items():
            if listed[at] and codes[at] >= 0:
                pods = sum(tally.weight(person) * times for person, times in people)
                tally.add(int(codes[at]), sign * pods, sites=sign)

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
        for tally in self._live:
            if tally.counts_sites:
                self._update(machine, tally)

    def put_standing(self, at: int, person: Person) -> None:
        """Count a pod on a standing node."""
        self._meet_placed(person)
        nodes = self._put.setdefault(person.number, {})
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
        self._meet_placed(person)
        machines = self._on.setdefault(person.number, {})
        machines[machine] = machines.get(machine, 0) + 1
        for tally in self._that_count(person):
            counted = machine.counted.get(tally.number, 0)
            machine.counted[tally.number] = counted + tally.weight(person)
            self._update(machine, tally)
        for tally in self._live if narrowed or is_reshaped else ():
            is_about = tally.counts_sites or tally.number in machine.counted
            if is_about and (
                (is_reshaped and tally.is_choosy) or not tally.keys.isdisjoint(narrowed)
            ):
                self._update(machine, tally)

    def _meet_placed(self, person: Person) -> None:
        self.meet(person)
        if person.number not in self._put and person.number not in self._on:
            for mark in _marks(person):
                self._placed.add(mark, person)

    def _that_count(self, person: Person) -> Iterable[Tally]:
        known = self._counted.get(person.number)
        if known is None or known[0] != len(self._live):
            near = self._tallies.near(_marks(person))
            counting = [tally for tally in near if tally.is_live and tally.weight(person)]
            known = (len(self._live), counting)
            self._counted[person.number] = known
        return known[1]


def _always(machine: object) -> bool:
    del machine
    return True


class _Told(msgspec.Struct, frozen=True):
    """What a tally is to count. ``hint``: a mark that all whom it counts have."""

    content: Hashable
    key: str
    weight: Weight
    hint: Hint
    counts: Flags | None = None
    may_count: Callable[[object], bool] = _always
    keys: frozenset[str] = frozenset()
    is_choosy: bool = False
    counts_sites: bool = False


def _marks(person: Person) -> tuple[Hint, ...]:
    """What a person may be found by: its labels, and whom it keeps away."""
    return (*marks_of(person.sample), *(("holds", term.content) for term in person.holds))


def _holds(content: Hashable) -> Weight:
    def weight(person: Person) -> int:
        return sum(term.content == content for term in person.holds)

    return weight
