"""Which nodes can certainly not be emptied? Answered for all of them at once, before any is tried.

A node stays when one of its pods can go nowhere, whatever becomes of the others: because of the pod
itself, because no other node and no machine to come has what it asks for, or because wherever it
could go it would be one too many of those whom it is spread among. Others can make such domains
fuller, and the emptiest one fuller only by as many as are moved; so what is refused here, the
simulation refuses, too.

Must not: refuse what might be placed. What is not refused here is only hoped for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from unmoor.engine import judge
from unmoor.engine.bulk.crowd import Ask
from unmoor.engine.bulk.greedy import Greedy
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
_MANY = 2**40
_NOWHERE = Refusal(
    Constraint.RESOURCES, "", "no other node has what it asks for, and no machine to come has"
)


class Stuck(msgspec.Struct, frozen=True):
    """A pod that keeps its node from going, and why."""

    pod: Key
    refusal: Refusal


def stuck_on(greedy: Greedy, moved: Mapping[int, Sequence[Pod]]) -> dict[int, Stuck]:
    """Return the rows that cannot be emptied. ``moved``: by row, the pods that would have to go.

    Between simulations only: everything is counted as it stands.
    """
    greedy.begin(())
    try:
        return _Filter(greedy).stuck(moved)
    finally:
        greedy.undo()


class _Filter:
    def __init__(self, greedy: Greedy) -> None:
        self._greedy = greedy
        self._movers: dict[int, int] = {}

    def stuck(self, moved: Mapping[int, Sequence[Pod]]) -> dict[int, Stuck]:
        """Ask each class once about all the rows that it is on; the first that is stuck counts."""
        where: dict[int, tuple[Pod, dict[int, Pod]]] = {}
        self._movers = {row: len(pods) for row, pods in moved.items()}
        for row, pods in moved.items():
            for pod in pods:
                number = self._greedy.crowd.number_of(pod)
                where.setdefault(number, (pod, {}))[1].setdefault(row, pod)
        found: dict[int, Stuck] = {}
        for sample, rows in where.values():
            left = [row for row in rows if row not in found]
            for row, refusal in self._class(sample, left).items() if left else ():
                found[row] = Stuck(rows[row].key, refusal)
        return found

    def _class(self, pod: Pod, rows: list[int]) -> dict[int, Refusal]:
        """Ask with every preference; of those that are stuck then, without any."""
        greedy = self._greedy
        ask = greedy.crowd.ask(pod, 0)
        if own := judge.own_refusals(ask.wish):
            return dict.fromkeys(rows, own[0])
        found = self._asked(ask, rows)
        if not found or (ask.wish.preference is None and not greedy.has_soft_taints):
            return found
        last = levels_of(pod, has_soft_taints=greedy.has_soft_taints)
        return self._asked(greedy.crowd.ask(pod, last), list(found))

    def _asked(self, ask: Ask, rows: list[int]) -> dict[int, Refusal]:
        head = self._greedy.finder.head(ask)[0].tolist()
        homeless = [row for row in rows if set(head[:2]) <= {row}]
        found = dict.fromkeys([] if homeless and self._may_open(ask) else homeless, _NOWHERE)
        left = np.array([row for row in rows if row not in found], dtype=np.int64)
        is_spread = len(left) and any(one.is_hard for one in ask.wish.spreads)
        spreads = self._greedy.layout(ask).spreads if is_spread else ()
        for one in filter(self._counts, spreads):
            stuck = left[~self._has_domain(ask, one, left)]
            words = "wherever there is room, it is one too many"
            refusal = Refusal(Constraint.SPREAD, one.spread.key, words)
            found |= dict.fromkeys(stuck.tolist(), refusal)
        return found

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
        least = np.where(present, pods, _MANY).min(axis=1) + np.maximum(others, 0)
        few = pods + int(one.is_counted) <= (least + one.spread.max_skew)[:, None]
        places = np.bincount(codes[had_room & (codes >= 0)], minlength=room)
        places = np.repeat(places[None, :], len(rows), axis=0)
        places[at, mine] -= had_room[rows] & (mine >= 0)
        has_place = places > 0
        has_place[:, list(one.potential)] = True
        has_place[:, sorted(self._started_in(ask, tally.domains))] = True
        return np.asarray((few & has_place).any(axis=1))
