"""Standing nodes as rows: what is free, who is there, and which of them a kind of pod may use.

Must not: know machines that are not there yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from unmoor.engine import judge
from unmoor.engine.bulk.crowd import Ask, Crowd, Person, fits_in
from unmoor.engine.bulk.numbering import Domains, Numbering
from unmoor.engine.bulk.shapes import Amounts, Flags, amounts
from unmoor.engine.bulk.tallies import Counts
from unmoor.engine.held import collisions
from unmoor.engine.sites import Standing
from unmoor.engine.volumes import claims_of
from unmoor.engine.wish import Wish
from unmoor.model import taint
from unmoor.model.node_selector import FIELD_NAME
from unmoor.model.taint import Taint

Listed: TypeAlias = tuple[Person, Counts, Counts]
"""A person, the rows where it is, and how many of it are there."""


class Ground:
    """The standing nodes, in the order in which they are tried."""

    def __init__(self, standing: Sequence[Standing], columns: Sequence[str], crowd: Crowd) -> None:
        """Look at each node once."""
        self.standing = list(standing)
        self.count = len(standing)
        self.gone: dict[int, tuple[tuple[Person, int], ...]] = {}
        """Rows that are not there in this simulation, and who was on them."""
        self._before: dict[int, Amounts] = {}
        """What was free, by row, where pods have been placed."""
        self._emptier: dict[int, Standing] = {}
        self._to_come: dict[int, list[Wish]] = {}
        """Pods placed on a node that nobody has looked at since."""
        self._claims: dict[tuple[str, str], set[int]] | None = None
        self._crowd = crowd
        self._columns = columns
        self.free = amounts([site.free for site in standing], columns)
        self._free_at_first = np.asfortranarray(self.free)
        """The same before anybody is placed, column by column."""
        overdrawn = [_is_overdrawn(site) for site in standing]
        self._is_overdrawn: Flags = np.array(overdrawn, dtype=bool).reshape(self.count)
        self.is_open: Flags = ~self._is_overdrawn
        self._on: dict[int, tuple[tuple[Person, int], ...]] = {}
        self._codes: dict[str, Counts] = {}
        self._labels: dict[str, Counts] = {}
        self._kinds: dict[int, Flags] = {}
        self._wanted: dict[bytes, Flags] = {}
        self.people = _people(standing, crowd)
        self._grounds = _numbers([judge.shown_by(one.place) for one in standing])

    def renew(self, sites: Mapping[int, Standing], *, have_other_volumes: bool) -> None:
        """Have these in their rows from now on: the same nodes with other pods.

        ``have_other_volumes``: pods with volumes are among those who have come or gone.
        """
        rows = np.array(list(sites), dtype=np.int64)
        for at, site in sites.items():
            self.standing[at] = site
            self._on.pop(at, None)
        free = amounts([site.free for site in sites.values()], self._columns)
        self.free[rows] = self._free_at_first[rows] = free
        self._is_overdrawn[rows] = [_is_overdrawn(site) for site in sites.values()]
        self.is_open[rows] = ~self._is_overdrawn[rows]
        if have_other_volumes:
            self._claims = None

    def list_anew(self, person: Person, rows: Mapping[int, int]) -> None:
        """Have so many more of a person in these rows than before, or fewer."""
        where: dict[int, int] = {}
        if person.number in self.people:
            _, at_first, times = self.people[person.number]
            where = dict(zip(at_first.tolist(), times.tolist(), strict=True))
        for at, more in rows.items():
            where[at] = where.get(at, 0) + more
        left = {at: count for at, count in where.items() if count}
        self.people[person.number] = _listed(person, left)

    def codes(self, domains: Domains) -> Counts:
        """Return the domain of each node, -1 where it has no such label."""
        found = self._codes.get(domains.key)
        if found is None:
            values = [site.place.labels.get(domains.key) for site in self.standing]
            listed = [-1 if value is None else domains.of(value) for value in values]
            found = self._codes[domains.key] = np.array(listed, dtype=np.int64)
        return found

    def may_use(self, ask: Ask) -> Flags:
        """Return which nodes the pod may use, however full they are and whoever is there."""
        found = self._kinds.get(ask.kind)
        if found is None:
            wish = ask.wish
            found = np.zeros(self.count, dtype=bool)
            for nodes in self._alike(wish, with_taints=True):
                place = self.standing[int(nodes[0])].place
                found[nodes] = not judge.node_refusals(wish, place)
            self._kinds[ask.kind] = found
        return found

    def is_wanted(self, wish: Wish, content: bytes) -> Flags:
        """Return which nodes the pod asks for, preferences and taints aside."""
        found = self._wanted.get(content)
        if found is None:
            found = np.zeros(self.count, dtype=bool)
            for nodes in self._alike(wish, with_taints=False):
                found[nodes] = judge.is_wanted(wish, self.standing[int(nodes[0])].place)
            self._wanted[content] = found
        return found

    def _alike(self, wish: Wish, *, with_taints: bool) -> list[Counts]:
        """Groups of nodes that are equal in all that the wish looks at."""
        code = self._grounds if with_taints else np.zeros(self.count, dtype=np.int64)
        keys = judge.labels_looked_at(wish)
        if FIELD_NAME in keys:
            return [np.array([at]) for at in range(self.count)]
        for key in sorted(keys):
            values = self._values(key)
            _, code = np.unique(
                code * (int(values.max(initial=0)) + 1) + values, return_inverse=True
            )
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order])) + 1
        return [group for group in np.split(order, starts) if len(group)]

    def _values(self, key: str) -> Counts:
        found = self._labels.get(key)
        if found is None:
            found = _numbers([site.place.labels.get(key) for site in self.standing])
            self._labels[key] = found
        return found

    def candidates(self, ask: Ask) -> Flags:
        """Return which nodes may take the pod as far as labels, taints and room go."""
        found: Flags = self.may_use(ask) & self.is_open & fits_in(self.free, ask.row)
        return found

    def had_room(self, ask: Ask) -> Flags:
        """Return the same as it was before the simulation: it has become no more since."""
        found: Flags = self.may_use(ask) & ~self._is_overdrawn
        found &= fits_in(self._free_at_first, ask.row)
        return found

    def kept_room(self, rows: Sequence[int], asked: Amounts) -> Flags:
        """Return for each of these rows whether what is asked of it fitted before the simulation.

        ``asked``: row by row; which nodes may be used has to be known.
        """
        at = np.array(rows, dtype=np.int64)
        fits = (self._free_at_first[at] >= asked) | (asked <= 0)
        return np.asarray(fits.all(axis=1) & ~self._is_overdrawn[at])

    def takes(self, at: int, ask: Ask) -> bool:
        """Return whether one row is open and has room now."""
        if not self.is_open[at]:
            return False
        free = self.free[at]
        return all(free[column] >= amount for column, amount in ask.asked)

    def has_room(self, rows: Counts, ask: Ask) -> Flags:
        """Return which of these rows are open and have room now."""
        found: Flags = self.is_open[rows] & fits_in(self.free[rows], ask.row)
        return found

    def is_free(self, at: int, ask: Ask) -> bool:
        """True when nobody on the node holds what the pod would hold."""
        return not ask.wish.held or not collisions(ask.wish.held, self.site(at).held)

    def has_volume_room(self, at: int, ask: Ask) -> bool:
        """True when the node can attach what the pod needs."""
        needs, room = ask.wish.needs, self.standing[at].place.volume_room
        if not needs or not room or not any(need.driver for need in needs):
            return True
        site = self.site(at)
        return not judge.attach_refusals(needs, site.attached, site.place.volume_room)

    def take_away(self, rows: Iterable[int]) -> None:
        """Simulate without these nodes and their pods, until ``undo``."""
        for at in rows:
            self.is_open[at] = False
            self.gone[at] = self._people_on(at)

    def _people_on(self, at: int) -> tuple[tuple[Person, int], ...]:
        found = self._on.get(at)
        if found is None:
            known = {one.number: one for one in map(self._crowd.person, self.standing[at].pods)}
            people = Counter(self._crowd.person(pod).number for pod in self.standing[at].pods)
            found = tuple((known[number], times) for number, times in people.items())
            self._on[at] = found
        return found

    def undo(self) -> None:
        """Be as before the simulation."""
        for at, free in self._before.items():
            self.free[at] = free
        for at, site in self._emptier.items():
            self.standing[at] = site
        for at in self.gone:
            self.is_open[at] = not self._is_overdrawn[at]
        self._before, self._emptier, self._to_come, self.gone = {}, {}, {}, {}

    def is_claimed(self, namespace: str, claim: str) -> bool:
        """True when a pod on a standing node uses this claim."""
        if self._claims is None:
            self._claims = {}
            for at, site in enumerate(self.standing):
                for pod in site.place.pods:
                    for one in claims_of(pod) if pod.spec.volumes else ():
                        self._claims.setdefault((pod.namespace, one), set()).add(at)
        if any(at not in self.gone for at in self._claims.get((namespace, claim), ())):
            return True
        return any(
            pod.namespace == namespace and claim in claims_of(pod)
            for at in self._before
            for pod in self.site(at).pods
        )

    def put(self, at: int, ask: Ask) -> None:
        """Promise room on a node."""
        if at not in self._before:
            self._before[at] = self.free[at].copy()
        self._to_come.setdefault(at, []).append(ask.wish)
        self.free[at] -= ask.row

    def site(self, at: int) -> Standing:
        """Return a node with all that has been promised away on it."""
        to_come = self._to_come.pop(at, ())
        if to_come and at not in self._emptier:
            self._emptier[at] = self.standing[at]
            self.standing[at] = self.standing[at].copy()
        for wish in to_come:
            self.standing[at].put(wish)
        return self.standing[at]


def _is_overdrawn(site: Standing) -> bool:
    return min(site.free.values(), default=0) < 0


def taints_tolerated(ground: Ground, wish: Wish) -> Flags:
    """Return the nodes with no taint that keeps the pod out, for a spread that honours taints."""
    known: dict[tuple[Taint, ...], bool] = {}
    found = np.ones(ground.count, dtype=bool)
    for at, site in enumerate(ground.standing):
        taints = site.place.taints
        if taints:
            if taints not in known:
                known[taints] = taint.tolerates_all(wish.tolerations, taints)
            found[at] = known[taints]
    return found


def _numbers(values: Sequence[object]) -> Counts:
    numbering: Numbering[object] = Numbering()
    return np.array([numbering.of(one) for one in values], dtype=np.int64)


def _people(standing: Sequence[Standing], crowd: Crowd) -> dict[int, Listed]:
    """Everybody by number."""
    known: dict[int, Person] = {}
    numbers = []
    for site in standing:
        for pod in site.place.pods:
            person = crowd.person(pod)
            known[person.number] = person
            numbers.append(person.number)
    if not known:
        return {}
    count = len(standing)
    rows = np.repeat(np.arange(count), [len(site.place.pods) for site in standing])
    pairs, times = np.unique(np.array(numbers) * count + rows, return_counts=True)
    people, rows = np.divmod(pairs, count)
    starts = np.flatnonzero(np.diff(people, prepend=-1))
    ends = [*starts[1:].tolist(), len(people)]
    return {
        number: (known[number], rows[start:end], times[start:end])
        for number, start, end in zip(people[starts].tolist(), starts.tolist(), ends, strict=True)
    }


def _listed(person: Person, where: Mapping[int, int]) -> Listed:
    rows, times = list(where), list(where.values())
    return person, np.array(rows, dtype=np.int64), np.array(times, dtype=np.int64)
