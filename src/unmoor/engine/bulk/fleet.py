"""Machines to come as rows: what each may still become, and how much room that leaves at most.

``bound`` is the most of each resource that any of a machine's types would leave, each resource for
itself: what it refuses, every type refuses.

Must not: judge; whoever picks a machine by its bound asks exactly before putting a pod there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from copy import copy

import numpy as np

from unmoor.engine.bulk.crowd import Ask
from unmoor.engine.bulk.numbering import Domains
from unmoor.engine.bulk.shapes import Amounts, Flags, Shape, Types
from unmoor.engine.bulk.tallies import Counts, Share
from unmoor.engine.held import Held
from unmoor.engine.scene import Started, Template
from unmoor.engine.sites import Opened
from unmoor.model.pod import Pod

_NUMBERS = 2**32
"""More than there are machines: pods first, then the number, in one integer."""
_NONE = 2**62


BITS = 62
"""So many domains fit into one integer, which is much faster to compare than a row of flags."""


def bits_of(domains: Iterable[int]) -> int:
    """Return the integer that stands for these domains; those from BITS on are left out."""
    return sum(1 << one for one in domains if one < BITS)


class Machine:
    """One machine to come.

    ``flags``: the types that it may still be. ``may_be``: those that it could be with other pods of
    the same kinds, as far as the limits go.
    """

    def __init__(
        self, name: str, base: Template | Started, shape: Shape, flags: Flags, row: Amounts
    ) -> None:
        """Start without pods; ``row``: what DaemonSets ask."""
        self.name = name
        self.base = base
        self.shape = shape
        self.flags = flags
        self.may_be = flags
        self.row = row
        self.asks: list[Ask] = []
        self.pods: list[Pod] = []
        self.held: list[Held] = list(base.held)
        self.counted: dict[int, int] = {}
        self.shares: dict[int, Share] = {}
        self.where: dict[str, tuple[int, ...]] = {}
        self.host = 0
        self.is_gone = False

    def copy(self) -> Machine:
        """Return one that can be filled without this one noticing."""
        found = copy(self)
        found.asks, found.pods, found.held = list(self.asks), list(self.pods), list(self.held)
        found.counted, found.shares = dict(self.counted), dict(self.shares)
        found.where = dict(self.where)
        return found

    @property
    def is_started(self) -> bool:
        """It exists already."""
        return isinstance(self.base, Started)

    def as_opened(self, types: Types) -> Opened:
        """Return the same in the oracle's words."""
        opened = Opened(self.name, self.base, types.chosen(self.flags))
        for ask, pod in zip(self.asks, self.pods, strict=True):
            opened.put(ask.wish, self.shape.requirements, opened.types)
            opened.pods[-1] = pod
        return opened


class Fleet:
    """The machines of one simulation, in the order in which they were opened.

    Started ones come first, and are there again after ``undo``.
    """

    def __init__(self, types: Types, columns: int) -> None:
        """Start without machines."""
        self.types = types
        self.all: list[Machine] = []
        self.started = 0
        self.bound: Amounts = np.zeros((columns, 16), dtype=np.int64)
        """By resource, of each machine: what lies together is compared faster."""
        self.order: Counts = np.zeros(16, dtype=np.int64)
        """Fewest pods first, the oldest of equals."""
        self.shapes: Counts = np.zeros(16, dtype=np.int64)
        self.hosts: Counts = np.zeros(16, dtype=np.int64)
        self.bases: Counts = np.zeros(16, dtype=np.int64)
        self.known_bases: list[Template | Started] = []
        """What the numbers in ``bases`` stand for."""
        self.reshaped = 0
        """So often a machine's shape has changed."""
        self.changes: Counter[str] = Counter()
        """So often it has changed, by label, where a machine may lie."""
        self.times = 0
        """So often machines have been taken away, or put back as they were."""
        self._base_numbers: dict[int, int] = {}
        self._tables: dict[str, tuple[Domains, Flags]] = {}
        self._bits: dict[str, Counts] = {}
        self._before: dict[int, Machine] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self.all)

    @property
    def new(self) -> int:
        """How many of them do not exist yet."""
        return len(self.all) - self.started

    def open(self, machine: Machine) -> int:
        """Take one in; return its row."""
        at = len(self.all)
        self.all.append(machine)
        self.started += machine.is_started
        if at >= len(self.order):
            self._grow()
        self.hosts[at] = machine.host
        self.bases[at] = self.base_of(machine)
        self.refresh(at)
        return at

    def own(self, at: int) -> Machine:
        """Return a machine that may be changed until ``undo``."""
        machine = self.all[at]
        if at < self.started and at not in self._before:
            self._before[at] = machine
            machine = self.all[at] = machine.copy()
        return machine

    def take_away(self, names: Collection[str]) -> None:
        """Simulate without these started machines, until ``undo``."""
        for at in range(self.started if names else 0):
            if self.all[at].name in names:
                machine = self.own(at)
                machine.is_gone = True
                self.times += 1
                machine.flags = np.zeros_like(machine.flags)
                self.refresh(at)

    @property
    def gone(self) -> list[int]:
        """The rows of the machines that are not there in this simulation."""
        return [at for at in self._before if self.all[at].is_gone]

    def changed(self) -> list[tuple[Machine, Machine | None]]:
        """Return the machines that are not as at first, with what they were; None if new."""
        found: list[tuple[Machine, Machine | None]] = []
        found += [(self.all[at], before) for at, before in self._before.items()]
        found += [(machine, None) for machine in self.all[self.started :]]
        return found

    def undo(self) -> None:
        """Be as before the simulation: only started machines are there, as at first."""
        self.times += bool(self.new or self._before)
        del self.all[self.started :]
        for at, machine in self._before.items():
            self.all[at] = machine
            machine.where.clear()
            self.refresh(at)
        self._before = {}

    def base_of(self, machine: Machine) -> int:
        """Return the number of what it began as."""
        key = id(machine.base)
        if key not in self._base_numbers:
            self._base_numbers[key] = len(self.known_bases)
            self.known_bases.append(machine.base)
        return self._base_numbers[key]

    def _grow(self) -> None:
        more = len(self.order)
        self.bound = np.pad(self.bound, ((0, 0), (0, more)))
        self.order = np.pad(self.order, (0, more))
        self.shapes = np.pad(self.shapes, (0, more))
        self.hosts = np.pad(self.hosts, (0, more))
        self.bases = np.pad(self.bases, (0, more))
        for key, (domains, table) in self._tables.items():
            self._tables[key] = (domains, np.pad(table, ((0, more), (0, 0))))
            self._bits[key] = np.pad(self._bits[key], (0, more))

    def refresh(self, at: int) -> list[str]:
        """Work out a row anew, after its machine has changed; return the labels that have."""
        machine = self.all[at]
        self.bound[:, at] = self.types.largest(machine.flags) - machine.row
        changed = []
        self.order[at] = len(machine.pods) * _NUMBERS + at
        if self.shapes[at] != machine.shape.number:
            self.shapes[at] = machine.shape.number
            self.reshaped += 1
        for key, (domains, table) in self._tables.items():
            found = machine.shape.domains(domains, machine.flags)
            if machine.where.get(key) == found:
                continue
            machine.where[key] = found
            changed.append(key)
            self.changes[key] += 1
            if table.shape[1] < domains.room:
                table = np.pad(table, ((0, 0), (0, domains.room - table.shape[1])))  # noqa: PLW2901
                self._tables[key] = (domains, table)
            table[at] = False
            table[at, list(found)] = True
            self._bits[key][at] = bits_of(found)
        return changed

    def domains(self, key: str) -> Domains:
        """Return the domains of a label that machines are looked at by."""
        return self._tables[key][0]

    def where(self, domains: Domains) -> Flags:
        """Return machines by domains: in which each may still lie."""
        found = self._tables.get(domains.key)
        if found is None:
            table = np.zeros((len(self.order), domains.room), dtype=bool)
            self._tables[domains.key] = (domains, table)
            self._bits[domains.key] = np.zeros(len(self.order), dtype=np.int64)
            for at in range(len(self.all)):
                self.refresh(at)
            found = self._tables[domains.key]
        return found[1][: len(self.all)]

    def may_lie(self, domains: Domains, allowed: Flags, *, or_nowhere: bool) -> Flags:
        """Return which machines may lie in an allowed domain; or, if that will do, in none."""
        where = self.where(domains)
        if domains.room > BITS:
            found: Flags = np.any(where & allowed[: where.shape[1]], axis=1)
            return found | ~np.any(where, axis=1) if or_nowhere else found
        bits = self._bits[domains.key][: len(self.all)]
        wanted = int.from_bytes(np.packbits(allowed, bitorder="little").tobytes(), "little")
        flags: Flags = (bits & wanted) != 0
        return flags | (bits == 0) if or_nowhere else flags

    def has_room(self, ask: Ask) -> Flags:
        """Return which machines may have room; never false where one has."""
        count, found = len(self.all), None
        for column, amount in ask.asked:
            enough: Flags = self.bound[column, :count] >= amount
            found = enough if found is None else np.logical_and(found, enough, out=found)
        return np.ones(count, dtype=bool) if found is None else found

    def emptiest_first(self, flags: Flags) -> Iterator[int]:
        """Yield the rows of these machines, those with fewest pods first, the oldest of equals."""
        order = np.where(flags, self.order[: len(self.all)], _NONE)
        while True:
            at = int(order.argmin())
            if order[at] == _NONE:
                return
            yield at
            order[at] = _NONE
