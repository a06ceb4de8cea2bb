"""Who is counted where: makes the tallies that a class asks for, and keeps them up to date.

Must not: decide where a pod goes.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

import msgspec
import numpy as np

from unmoor.engine.bulk.crowd import Ask, Person
from unmoor.engine.bulk.fleet import Fleet, Machine
from unmoor.engine.bulk.ground import Ground, taints_tolerated
from unmoor.engine.bulk.hints import Hint, Index, People, held_mark, hint_of, marks_of
from unmoor.engine.bulk.layout import Layout, NearTally, SpreadTally
from unmoor.engine.bulk.numbering import Domains
from unmoor.engine.bulk.presence import Presence
from unmoor.engine.bulk.shapes import Flags, Shapes
from unmoor.engine.bulk.tallies import NOTHING, Book, Counts, Share, Tally, Weight
from unmoor.engine.company import counts_in
from unmoor.engine.selection import Term, content_of
from unmoor.engine.wish import Spread, Wish
from unmoor.model import names, taint


class Counting:
    """The tallies of one simulation."""

    def __init__(self, ground: Ground, shapes: Shapes, fleet: Fleet) -> None:
        """Know who is on the standing nodes, and who of them keeps others away."""
        self._ground = ground
        self._shapes = shapes
        self._fleet = fleet
        self._book = Book()
        self._domains: dict[str, Domains] = {}
        self._everywhere: Flags = np.ones(ground.count, dtype=bool)
        self._standing: dict[int, Flags] = {}
        self._known_holds: set[Hashable] = set()
        self._holders: Index[tuple[Term, _Told]] = Index()
        """Terms that keep others away; each is counted once a class meets it."""
        self._met: dict[int, list[Tally]] = {}
        """Everybody, by number, and the tallies that count them."""
        self._people = People()
        self._tallies: Index[Tally] = Index()
        self._watched: Index[Term]
        self._gone: Counts = np.zeros(0, dtype=np.int64)
        self._left: dict[int, dict[int, int]] = {}
        """By person: from which rows it is gone, and how often it was there."""
        self._live: list[Tally] = []
        for person, _, _ in ground.people.values():
            self._register(person)
        for person, _, _ in ground.people.values():
            self._hold(person)

    def begin(self, watched: Iterable[Term]) -> None:
        """Begin a simulation with standing nodes and started machines as they were.

        ``watched``: whom the pods to be placed are spread among (``company.watched_by``).
        """
        self._watched = Index()
        self._watching: dict[int, tuple[Term, ...]] = {}
        for term in watched:
            self._watched.add(hint_of(term.selection), term)
        self._gone = np.array(list(self._ground.gone), dtype=np.int64)
        self._left = {}
        for at, people in self._ground.gone.items():
            for person, times in people:
                self._left.setdefault(person.number, {})[at] = times
        self._put: dict[int, dict[int, int]] = {}
        self._on: dict[int, dict[Machine, int]] = {}

    def undo(self) -> None:
        """Count as before the simulation began."""
        for machine, _ in self._fleet.changed():
            for number, share in machine.shares.items():
                self._book.all[number].replace(share, NOTHING)
        for tally in self._live:
            self._count_placed(tally, -1)
            self._count_gone(tally, 1)
            tally.is_live = False
        self._live = []

    def renew(self, person: Person, rows: Mapping[int, int]) -> Iterator[int]:
        """Count so many more of a person, or fewer, in these rows; yield the tallies' numbers."""
        for tally in self._met[person.number]:
            weight = tally.weight(person)
            codes, listed = self._ground.codes(tally.domains), self._standing[tally.number]
            for at, more in rows.items():
                if listed[at] and codes[at] >= 0:
                    tally.add(int(codes[at]), weight * more)
            yield tally.number

    def domains(self, key: str) -> Domains:
        """Return the domains of a label."""
        found = self._domains.get(key)
        if found is None:
            found = self._domains[key] = Domains(key)
        return found

    def meet(self, person: Person) -> None:
        """Count a person where it matters from now on, and whom it keeps away."""
        if person.number not in self._met:
            self._register(person)
            self._hold(person)

    def _register(self, person: Person) -> None:
        counting = self._met[person.number] = []
        for tally in self._tallies.near(_marks(person)) if len(self._tallies) else ():
            self._count_person(tally, person, counting)
        self._people.add(person)

    def _count_person(self, tally: Tally, person: Person, counting: list[Tally]) -> None:
        weight = tally.weigh(person)
        if weight:
            tally.people[person.number] = (person, weight)
            counting.append(tally)

    def _hold(self, person: Person) -> None:
        for term, content in zip(person.holds, person.held, strict=True):
            if content not in self._known_holds:
                self._known_holds.add(content)
                told = _Told(("holds", content), term.key, _holds(content), held_mark(content))
                self._holders.add(hint_of(term.selection), (term, told))

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
            self._tally(told)
            for term, told in self._holders.near(marks)
            if term.selection.has(wish.pod)
        ]
        return Layout(spreads, near, apart)

    def with_watched(self, layout: Layout, watched: Iterable[Term]) -> Layout:
        """Return the same as machines to come are asked about it."""
        return layout.with_watched(self._apart(term) for term in watched)

    def watched(self, ask: Ask) -> tuple[Term, ...]:
        """Return among whom others are to be spread, and of whom the class is one."""
        found = self._watching.get(ask.role)
        if found is None:
            near = self._watched.near(marks_of(ask.wish.pod))
            found = tuple(term for term in near if term.selection.has(ask.wish.pod))
            self._watching[ask.role] = found
        return found

    def listed(self, tally: Tally) -> Flags:
        """Return which standing nodes count."""
        return self._standing[tally.number]

    def counted_on(self, tally: Tally) -> Counts:
        """Return how many of whom it counts are on each node, whether the node counts or not."""
        found = np.zeros(self._ground.count, dtype=np.int64)
        for number, (_, weight) in tally.people.items():
            if number in self._ground.people:
                _, nodes, times = self._ground.people[number]
                found[nodes] += weight * times
        return found

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

        def weight(person: Person) -> int:
            return int(spread.counts(person.sample))

        return self._tally(
            _Told(
                content,
                spread.key,
                weight,
                hint_of(spread.selection),
                counts=counts,
                presence=self._presence(wish, spread, keys),
                keys=frozenset(keys),
            )
        )

    def _presence(self, wish: Wish, spread: Spread, keys: Iterable[str]) -> Presence:
        ways = [(self._shapes.way(way), way) for way in wish.asked]
        is_choosy = spread.honors_affinity and all(len(way) for _, way in ways)

        def suits_shape(number: int) -> bool:
            return any(self._shapes.meets(self._shapes.all[number], at, way) for at, way in ways)

        return Presence(
            self.domains(spread.key),
            [self.domains(key) for key in keys],
            (lambda base: taint.tolerates_all(wish.tolerations, base.taints))
            if spread.honors_taints
            else None,
            suits_shape if is_choosy else None,
            lambda domain: counts_in(wish, spread, domain),
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
            told.content, lambda number: Tally(number, domains, told.weight, told.presence)
        )
        if is_new:
            tally.keys = told.keys or tally.keys
            self._tallies.add(told.hint, tally)
            self._standing[tally.number] = self._everywhere if told.counts is None else told.counts
            tally.hint = told.hint
            for person in self._people.near(told.hint):
                self._count_person(tally, person, self._met[person.number])
            at_first = self._ground.people
            people = [at_first[one] for one in tally.people if one in at_first]
            codes, listed = self._ground.codes(domains), self._standing[tally.number]
            tally.count_standing(codes, listed, people)
            for key in sorted(tally.keys - {names.HOSTNAME}):
                self._fleet.where(self.domains(key))
        return tally

    def _enter(self, tally: Tally) -> None:
        """Count what has happened since the simulation began."""
        tally.is_live = True
        self._live.append(tally)
        if tally.presence is not None:
            tally.presence.begin(self._fleet)
        self._count_gone(tally, -1)
        self._count_placed(tally, 1)
        machines: dict[Machine, None] = {}
        for number in self._counted_among(self._on, tally):
            for machine, times in self._on[number].items():
                counted = machine.counted.get(tally.number, 0)
                machine.counted[tally.number] = counted + tally.people[number][1] * times
                machines[machine] = None
        for machine in machines:
            self._update(machine, tally)

    def _counted_among(self, some: Collection[int], tally: Tally) -> list[int]:
        """Those of these persons whom it counts; the shorter list is gone through."""
        if len(some) < len(tally.people):
            return [number for number in some if number in tally.people]
        return [number for number in tally.people if number in some]

    def _count_placed(self, tally: Tally, sign: int) -> None:
        self._count_where(self._put, tally, sign)

    def _count_gone(self, tally: Tally, sign: int) -> None:
        codes, listed = self._ground.codes(tally.domains), self._standing[tally.number]
        if tally.presence is not None and len(self._gone):
            lying = codes[self._gone[listed[self._gone]]]
            tally.add_sites(lying[lying >= 0], sign)
        self._count_where(self._left, tally, sign)

    def _count_where(self, where: Mapping[int, dict[int, int]], tally: Tally, sign: int) -> None:
        """Count those whom it counts where they are: so often, by person and row."""
        codes, listed = self._ground.codes(tally.domains), self._standing[tally.number]
        for number in self._counted_among(where, tally):
            weight = sign * tally.people[number][1]
            for at, times in where[number].items():
                if listed[at] and codes[at] >= 0:
                    tally.add(int(codes[at]), weight * times)

    def _where(self, machine: Machine, key: str) -> tuple[int, ...]:
        if key == names.HOSTNAME:
            return (machine.host,)
        found = machine.where.get(key)
        return machine.shape.domains(self.domains(key), machine.flags) if found is None else found

    def _update(self, machine: Machine, tally: Tally) -> None:
        share: Share = NOTHING
        pods = machine.counted[tally.number]
        where = self._where(machine, tally.domains.key)
        if pods and where and (tally.presence is None or tally.presence.has(machine)):
            share = (where, pods)
        before = machine.shares.get(tally.number, NOTHING)
        if share != before:
            tally.replace(before, share)
            machine.shares[tally.number] = share

    def put_standing(self, at: int, person: Person) -> None:
        """Count a pod on a standing node."""
        self.meet(person)
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
        self.meet(person)
        machines = self._on.setdefault(person.number, {})
        machines[machine] = machines.get(machine, 0) + 1
        for tally in self._that_count(person):
            counted = machine.counted.get(tally.number, 0)
            machine.counted[tally.number] = counted + tally.weight(person)
            self._update(machine, tally)
        for number in machine.counted if narrowed or is_reshaped else ():
            tally = self._book.all[number]
            if (is_reshaped and tally.is_choosy) or not tally.keys.isdisjoint(narrowed):
                self._update(machine, tally)

    def _that_count(self, person: Person) -> Iterable[Tally]:
        return [tally for tally in self._met[person.number] if tally.is_live]


class _Told(msgspec.Struct, frozen=True):
    """What a tally is to count. ``hint``: a mark that all whom it counts have."""

    content: Hashable
    key: str
    weight: Weight
    hint: Hint
    counts: Flags | None = None
    presence: Presence | None = None
    keys: frozenset[str] = frozenset()


def _marks(person: Person) -> tuple[Hint, ...]:
    """What a person may be found by: its labels, and whom it keeps away."""
    return (*marks_of(person.sample), *map(held_mark, person.held))


def _holds(content: Hashable) -> Weight:
    def weight(person: Person) -> int:
        return person.held.count(content)

    return weight
