"""Which nodes can certainly not be emptied? Answered for all of them at once, before any is tried.

A node stays when one of its pods can go nowhere, whatever becomes of the others: because of the pod
itself, because no other node and no machine to come has what it asks for, or because wherever it
could go it would be one too many of those whom it is spread among. Others can make such domains
fuller, and the emptiest one fuller only by as many as are moved; so what is refused here, the
simulation refuses, too.

Must not: refuse what might be placed. What is not refused here is only hoped for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from unmoor.engine import judge
from unmoor.engine.bulk.crowd import Ask
from unmoor.engine.bulk.greedy import Greedy
from unmoor.engine.bulk.ground import Ground
from unmoor.engine.bulk.layout import SpreadTally
from unmoor.engine.bulk.numbering import Domains
from unmoor.engine.bulk.shapes import Flags
from unmoor.engine.bulk.tallies import Counts
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.wish import levels_of
from unmoor.model import names
from unmoor.model.base import Key
from unmoor.model.pod import Pod

DOMAINS_MAX = 64
"""What pods are spread over more of (hosts, mostly) is left to the simulation."""
HEADS = 2
"""A pod whose own node is gone has a place left when it has so many with room."""
_MORE_THAN_ANY = 2**40
_NOWHERE = Refusal(
    Constraint.RESOURCES, "", "no other node has what it asks for, and no machine to come has"
)


class Stuck(msgspec.Struct, frozen=True):
    """A pod that keeps its node from going, and why."""

    pod: Key
    refusal: Refusal


class _Class(msgspec.Struct, gc=False):
    """A class of pods that would have to move, and what was found out about it.

    ``rows``: where it is, with the first such pod there. ``stuck``: on which of them it is, None:
    not known. ``ask``: what was asked last; ``witnesses``: rows with room for it, a few in each
    domain that it is spread over; ``tallies``: those that were asked. While these counts and the
    room of these rows stay, whoever was not stuck is not.
    """

    sample: Pod
    rows: dict[int, Pod]
    stuck: dict[int, Refusal] | None = None
    ask: Ask | None = None
    witnesses: tuple[int, ...] = ()
    tallies: frozenset[int] = frozenset()


class Lookout:
    """Which rows cannot be emptied, kept while nothing but pods comes and goes.

    A class is asked about again when a witness has no room any more, when it is counted by a tally
    that has changed, or, where it was stuck, when a row with other pods has room for it.
    """

    def __init__(self) -> None:
        """Know nothing."""
        self._classes: dict[int, _Class] = {}
        self._known: dict[int, list[int]] = {}
        self._movers: dict[int, int] = {}

    def knows(self, row: int) -> bool:
        """True when it is known who would have to move from there."""
        return row in self._known

    def look(self, greedy: Greedy, rows: Collection[int]) -> dict[int, Stuck]:
        """Return which of these rows, all known, cannot be emptied; between simulations only."""
        greedy.begin(())
        try:
            asked = _Filter(greedy, self._movers)
            for one in self._classes.values():
                if one.stuck is None:
                    asked.about(one)
        finally:
            greedy.undo()
        found = ((row, self._first_stuck(row)) for row in rows)
        return {row: stuck for row, stuck in found if stuck is not None}

    def add(self, greedy: Greedy, row: int, pods: Sequence[Pod]) -> None:
        """Know who would have to move from a row, until it is said to have other pods."""
        self._movers[row] = len(pods)
        numbers = self._known[row] = []
        for pod in pods:
            number = greedy.crowd.number_of(pod)
            one = self._classes.get(number)
            if one is None:
                one = self._classes[number] = _Class(pod, {})
            if row in one.rows:
                continue
            one.rows[row] = pod
            numbers.append(number)
            one.stuck = None if one.tallies or len(one.witnesses) < HEADS else one.stuck

    def follow(self, greedy: Greedy, rows: Collection[int], counts: Collection[int]) -> None:
        """Know that these rows have other pods by now, and these tallies other counts."""
        changed = sorted(rows)
        for row in changed:
            for number in self._known.pop(row, ()):
                self._forget(number, row)
            self._movers.pop(row, None)
        for one in self._classes.values():
            if not one.tallies.isdisjoint(counts) or self._may_differ(greedy, one, changed):
                one.stuck = None
        for one in self._without_witnesses(greedy.ground, set(changed)):
            one.stuck = None

    def _forget(self, number: int, row: int) -> None:
        one = self._classes[number]
        gone = one.rows.pop(row)
        if one.stuck:
            one.stuck.pop(row, None)
        if not one.rows:
            del self._classes[number]
        elif one.sample is gone:
            one.sample = next(iter(one.rows.values()))

    @staticmethod
    def _may_differ(greedy: Greedy, one: _Class, rows: list[int]) -> bool:
        """True when somebody who was stuck may not be any more."""
        if not one.stuck or one.ask is None:
            return False  # what is wrong with the pod itself stays wrong
        if one.tallies or not set(one.witnesses).isdisjoint(rows):
            return True
        return bool(greedy.ground.had_room(one.ask)[rows].any())

    def _without_witnesses(self, ground: Ground, rows: Collection[int]) -> Iterator[_Class]:
        """Yield the classes of which a witness has no room any more."""
        pairs = [
            (one, one.ask.row, at)
            for one in self._classes.values()
            if one.stuck is not None and one.ask is not None
            for at in one.witnesses
            if at in rows
        ]
        if pairs:
            asked, at = np.stack([row for _, row, _ in pairs]), [at for _, _, at in pairs]
            lost = np.flatnonzero(~ground.kept_room(at, asked))
            yield from (pairs[number][0] for number in lost.tolist())

    def _first_stuck(self, row: int) -> Stuck | None:
        """Of several pods the first by name, in whatever order they were met."""
        stuck = [
            Stuck(one.rows[row].key, one.stuck[row])
            for one in map(self._classes.__getitem__, self._known[row])
            if one.stuck and row in one.stuck
        ]
        return min(stuck, key=lambda each: each.pod, default=None)


class _Filter:
    """One look; ``movers``: by row, how many pods would have to go."""

    def __init__(self, greedy: Greedy, movers: Mapping[int, int]) -> None:
        self._greedy = greedy
        self._movers = movers

    def about(self, one: _Class) -> None:
        """Find out where it is stuck with every preference; of those rows, where without any."""
        greedy, pod = self._greedy, one.sample
        ask = greedy.crowd.ask(pod, 0)
        if own := judge.own_refusals(ask.wish):
            one.stuck, one.ask = dict.fromkeys(one.rows, own[0]), None
            return
        one.ask, one.stuck = ask, self._asked(ask, list(one.rows))
        if one.stuck and (ask.wish.preference is not None or greedy.has_soft_taints):
            last = levels_of(pod, has_soft_taints=greedy.has_soft_taints)
            one.ask = greedy.crowd.ask(pod, last)
            one.stuck = self._asked(one.ask, list(one.stuck))
        spreads = self._spreads(one.ask)
        one.tallies = frozenset(each.tally.number for each in spreads)
        one.witnesses = self._witnesses(one.ask, spreads)

    def _asked(self, ask: Ask, rows: list[int]) -> dict[int, Refusal]:
        head = self._greedy.finder.head(ask).rows.tolist()
        homeless = [row for row in rows if set(head[:HEADS]) <= {row}]
        found = dict.fromkeys([] if homeless and self._may_open(ask) else homeless, _NOWHERE)
        left = np.array([row for row in rows if row not in found], dtype=np.int64)
        for one in self._spreads(ask) if len(left) else ():
            stuck = left[~self._has_domain(ask, one, left)]
            words = "wherever there is room, it is one too many"
            refusal = Refusal(Constraint.SPREAD, one.spread.key, words)
            found |= dict.fromkeys(stuck.tolist(), refusal)
        return found

    def _spreads(self, ask: Ask) -> list[SpreadTally]:
        is_spread = any(one.is_hard for one in ask.wish.spreads)
        return [*filter(self._counts, self._greedy.layout(ask).spreads if is_spread else ())]

    def _witnesses(self, ask: Ask, spreads: Sequence[SpreadTally]) -> tuple[int, ...]:
        """Rows that have room: one more in each domain than may be the pod's own."""
        rows = self._greedy.finder.head(ask).rows[:HEADS].tolist()
        had_room = np.flatnonzero(self._greedy.ground.had_room(ask)) if spreads else rows
        for one in spreads:
            codes = self._greedy.ground.codes(one.tally.domains)[had_room]
            for code in np.unique(codes).tolist():
                rows += had_room[codes == code][:HEADS].tolist()
        return tuple(dict.fromkeys(rows))

    def _counts(self, one: SpreadTally) -> bool:
        """Spread at each level of giving up, over few domains, and counted on the same nodes."""
        is_same = not (one.spread.honors_taints and self._greedy.has_soft_taints)
        return one.spread.is_hard and is_same and one.tally.domains.room <= DOMAINS_MAX

    def _may_open(self, ask: Ask) -> bool:
        """True when a machine may come, or has been started, that takes the pod."""
        greedy = self._greedy
        return any(True for _ in greedy.openings(ask)) or bool(self._started(ask).any())

    def _started_in(self, ask: Ask, domains: Domains) -> set[int]:
        """In which domains a started machine may lie that takes the pod."""
        shapes = self._greedy.shapes
        found: set[int] = set()
        seen: set[tuple[int, int, bytes]] = set()
        is_host = domains.key == names.HOSTNAME
        for at in np.flatnonzero(self._started(ask)).tolist():
            machine = self._greedy.fleet.all[at]
            kind = (machine.host if is_host else -1, machine.shape.number, machine.flags.tobytes())
            for way in ask.wish.musts if kind not in seen else ():
                shape = shapes.with_way(machine.shape, shapes.way(way), way)
                if shape is not None:
                    flags = machine.flags & shape.types
                    found.update((machine.host,) if is_host else shape.domains(domains, flags))
            seen.add(kind)
        return found

    def _started(self, ask: Ask) -> Flags:
        """Return which started machines may take the pod; never false where one does."""
        greedy = self._greedy
        if not len(greedy.fleet):
            return np.zeros(0, dtype=bool)
        tolerated = [greedy.fitting.tolerates(ask, one.base) for one in greedy.fleet.all]
        found: Flags = greedy.fleet.has_room(ask) & greedy.suit(ask) & np.array(tolerated)
        return found

    def _has_domain(self, ask: Ask, one: SpreadTally, rows: Counts) -> Flags:
        """Return for which rows there is a domain with a place, and few enough of its like."""
        ground, counting, tally = self._greedy.ground, self._greedy.counting, one.tally
        tally.grow()
        codes, room = ground.codes(tally.domains), tally.domains.room
        had_room, listed = ground.had_room(ask), counting.listed(tally) & (codes >= 0)
        left = counting.counted_on(tally)[rows]
        mine, at = codes[rows], np.arange(len(rows))
        is_counted = listed[rows]
        pods = np.repeat(tally.certain[None, :room], len(rows), axis=0)
        pods[at, mine] -= np.where(is_counted, left, 0)
        sites = np.repeat(tally.sites[None, :room], len(rows), axis=0)
        sites[at, mine] -= is_counted
        present = sites > 0
        if tally.presence is not None and len(self._greedy.fleet):
            # A started machine lies nowhere else until somebody is put there, and only movers are.
            movers = np.array([self._movers[row] for row in rows.tolist()])
            present |= tally.presence.numbers()[None, :room] > movers[:, None]
        present[:, list(one.potential)] = True
        # Those who move along can raise the emptiest domain by as many as they are, and lower none.
        others = left - min(tally.weight(ask.person), 1)
        least = np.where(present, pods, _MORE_THAN_ANY).min(axis=1) + np.maximum(others, 0)
        few = pods + int(one.is_counted) <= (least + one.spread.max_skew)[:, None]
        places = np.bincount(codes[had_room & (codes >= 0)], minlength=room)
        places = np.repeat(places[None, :], len(rows), axis=0)
        places[at, mine] -= had_room[rows] & (mine >= 0)
        has_place = places > 0
        has_place[:, list(one.potential)] = True
        has_place[:, sorted(self._started_in(ask, tally.domains))] = True
        return np.asarray((few & has_place).any(axis=1))
