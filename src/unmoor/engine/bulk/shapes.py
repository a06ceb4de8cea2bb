"""What a machine may still become: requirements as numbered shapes, instance types as rows.

A shape is a set of requirements, kept once by content. For each shape, which types suit it and are
to be had is one row of flags; in which domains of a label such a machine may lie is a table of
types by domains. Both are worked out once, label value by label value instead of type by type.

Must not: know pods, or how full a machine is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from unmoor.engine.bulk.numbering import Domains, Numbering
from unmoor.engine.pricing import is_special, size_of
from unmoor.engine.scene import Started, Template
from unmoor.engine.sites import OF_NO_TYPE, OF_OFFERINGS, listed_values, type_label
from unmoor.model import names, resources
from unmoor.model.instance import InstanceType
from unmoor.model.requirement import IN, Requirement, Requirements

Flags = npt.NDArray[np.bool_]
Amounts = npt.NDArray[np.int64]
Costs = npt.NDArray[np.float64]
LARGEST_KEPT = 10_000
"""So many answers of ``Types.largest`` are remembered; then all are forgotten."""
LABELS_KEPT = 1_000
"""The same for ``Types.labels``: pods name any label, and the types outlive them."""


class Types:
    """Instance types as rows: what they have, are, and where they are sold at which price."""

    def __init__(self, groups: Iterable[tuple[InstanceType, ...]], columns: Sequence[str]) -> None:
        """``groups``: the same object is the same type, however many groups have it.

        ``columns``: the resources that matter, in the order of the amounts.
        """
        self._groups = {id(one): one for one in groups}
        self.columns = tuple(columns)
        known: dict[int, InstanceType] = {}
        for group in self._groups.values():
            for one in group:
                known.setdefault(id(one), one)
        self.all = tuple(known.values())
        self._row = {key: at for at, key in enumerate(known)}
        self.allocatable = amounts([one.allocatable for one in self.all], columns)
        self._by_column = np.ascontiguousarray(self.allocatable.T)
        pairs = {(o.zone, o.capacity_type) for one in self.all for o in one.offerings}
        self.pairs = sorted(pairs)
        self._number = {pair: at for at, pair in enumerate(self.pairs)}
        self.sold: Flags = np.zeros((len(self.all), len(self.pairs)), dtype=bool)
        for at, one in enumerate(self.all):
            for offering in one.offerings:
                if offering.is_available:
                    self.sold[at, self._number[offering.zone, offering.capacity_type]] = True
        self._flags = {key: self._flagged(group) for key, group in self._groups.items()}
        self._largest: dict[bytes, Amounts] = {}
        self._labels: dict[str, tuple[list[str | None], npt.NDArray[np.int64]]] = {}

    def are_of(self, groups: Sequence[tuple[InstanceType, ...]], columns: Sequence[str]) -> bool:
        """True when they were made of these very groups, in this order, and for these columns."""
        asked = dict.fromkeys(map(id, groups))
        return list(self._groups) == list(asked) and self.columns == tuple(columns)

    def flags(self, group: tuple[InstanceType, ...]) -> Flags:
        """Return a row in which just the types of this group are true that have room for anybody.

        An allocatable below zero has room for nobody (spec 9.5).
        """
        return self._flags[id(group)]

    def _flagged(self, group: tuple[InstanceType, ...]) -> Flags:
        found = np.zeros(len(self.all), dtype=bool)
        for one in group:
            found[self._row[id(one)]] = all(amount >= 0 for amount in one.allocatable.values())
        return found

    @cached_property
    def places_by_name(self) -> npt.NDArray[np.int64]:
        """Where each row stands in the order of the names."""
        return _places([one.name for one in self.all])

    @cached_property
    def places_by_size(self) -> npt.NDArray[np.int64]:
        """Where each row stands in the order of the sizes, ties by name."""
        return _places([(*size_of(one), one.name) for one in self.all])

    @cached_property
    def prices_usd_per_h(self) -> Costs:
        """What each type costs where and as what it is sold; infinite where nobody knows."""
        found: Costs = np.full((len(self.all), len(self.pairs)), np.inf)
        for at, one in enumerate(self.all):
            for offering in one.offerings:
                if offering.price_usd_per_h is not None:
                    column = self._number[offering.zone, offering.capacity_type]
                    found[at, column] = min(found[at, column], offering.price_usd_per_h)
        return found

    @cached_property
    def are_special(self) -> Flags:
        """Which are asked for only where nothing else would do."""
        return np.array([is_special(one) for one in self.all], dtype=bool)

    def have_room(self, row: Amounts) -> Flags:
        """Return which types have room for these requests; what is not asked for always fits."""
        found: Flags | None = None
        for column, amount in enumerate(row.tolist()):
            if amount > 0:
                enough: Flags = self._by_column[column] >= amount
                found = enough if found is None else np.logical_and(found, enough, out=found)
        return np.ones(len(self.all), dtype=bool) if found is None else found

    def largest(self, flags: Flags) -> Amounts:
        """Return the most of each resource that one of these types has, each for itself."""
        asked = flags.tobytes()
        found = self._largest.get(asked)
        if found is None:
            if len(self._largest) >= LARGEST_KEPT:
                self._largest.clear()
            found = self._largest[asked] = self.allocatable[flags].max(axis=0, initial=0)
        return found

    def chosen(self, flags: Flags) -> tuple[InstanceType, ...]:
        """Return the types whose flag is true, in the order of the rows."""
        return tuple(self.all[at] for at in np.flatnonzero(flags))

    def labels(self, key: str) -> tuple[list[str | None], npt.NDArray[np.int64]]:
        """Return the different values of a label, None among them, and each type's number in it."""
        found = self._labels.get(key)
        if found is None:
            if len(self._labels) >= LABELS_KEPT:
                self._labels.clear()
            numbering: Numbering[str | None] = Numbering()
            codes = [numbering.of(type_label(one, key)) for one in self.all]
            found = (list(numbering.known), np.array(codes, dtype=np.int64))
            self._labels[key] = found
        return found


class Market:
    """Keeps the rows of instance types from one simulation to the next; dropping it costs time."""

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._types: Types | None = None

    def types(self, bases: Iterable[Template | Started], columns: Sequence[str]) -> Types:
        """Return the types of all that machines may begin as, as rows."""
        groups = [one.types for one in bases]
        if self._types is None or not self._types.are_of(groups, columns):
            self._types = Types(groups, columns)
        return self._types


class Shape:
    """One set of requirements. ``types``: those that suit it and are to be had."""

    def __init__(self, number: int, requirements: Requirements, types: Types) -> None:
        """Find the types."""
        self.number = number
        self.requirements = requirements
        self._types = types
        zone, capacity_type = (requirements.get(key) for key in OF_OFFERINGS)
        allowed = [zone.allows(one) and capacity_type.allows(other) for one, other in types.pairs]
        self.sold: Flags = types.sold & np.array(allowed, dtype=bool)
        self.types: Flags = np.any(self.sold, axis=1)
        for wanted in requirements:
            if wanted.key not in OF_OFFERINGS and wanted.key not in OF_NO_TYPE:
                self.types &= self._agree(wanted)
        self._tables: dict[str, Flags] = {}
        self._domains: dict[tuple[str, bytes], tuple[int, ...]] = {}

    def _agree(self, wanted: Requirement) -> Flags:
        values, codes = self._types.labels(wanted.key)
        is_open = wanted.key not in names.WELL_KNOWN_LABELS
        agreed = [(one is None and is_open) or wanted.allows(one) for one in values]
        flags: Flags = np.array(agreed, dtype=bool)[codes]
        return flags

    def has_more_labels(self, than: Shape) -> bool:
        """True when it has a label of somebody's own that the other one does not have: that lets in
        pods that ask for it, though nothing else can make a machine suit anybody.
        """
        more = self.requirements.by_key.keys() - than.requirements.by_key.keys()
        return not more <= names.WELL_KNOWN_LABELS

    def domains(self, domains: Domains, flags: Flags) -> tuple[int, ...]:
        """Return in which of ``domains`` a machine of one of these types may lie, sorted."""
        asked = (domains.key, flags.tobytes())
        found = self._domains.get(asked)
        if found is None:
            numbers: list[int] = np.flatnonzero(self._flags(domains, flags)).tolist()
            found = self._domains[asked] = tuple(numbers)
        return found

    def only_in(self, domains: Domains, where: tuple[int, ...]) -> Flags:
        """Return the types of which every machine lies in one of these domains."""
        elsewhere = self._table(domains).copy()
        elsewhere[:, list(where)] = False
        found: Flags = ~np.any(elsewhere, axis=1)
        return found

    def _flags(self, domains: Domains, flags: Flags) -> Flags:
        table = self._table(domains)
        found: Flags = np.any(table[flags], axis=0)
        if found.any() or domains.key in OF_OFFERINGS:
            return found
        if self._has_label(domains.key, flags):
            return found
        listed = listed_values(self.requirements.get(domains.key))
        numbers = [domains.of(value) for value in sorted(listed)]
        found = np.zeros(domains.room, dtype=bool)
        found[numbers] = True
        return found

    def _has_label(self, key: str, flags: Flags) -> bool:
        values, codes = self._types.labels(key)
        return any(values[code] is not None for code in np.unique(codes[flags]))

    def _table(self, domains: Domains) -> Flags:
        """Types by domains; numbers of domains are only ever added, so a table grows with them."""
        found = self._tables.get(domains.key)
        if found is None or found.shape[1] < domains.room:
            found = self._tables[domains.key] = self._fill(domains)
        return found

    def _fill(self, domains: Domains) -> Flags:
        key, count = domains.key, len(self._types.all)
        wanted = self.requirements.get(key)
        if key in OF_OFFERINGS:
            part = OF_OFFERINGS.index(key)
            numbers = [domains.of(pair[part]) for pair in self._types.pairs]
            table = np.zeros((count, domains.room), dtype=bool)
            for at, number in enumerate(numbers):
                table[:, number] |= self.sold[:, at]
            return table
        values, codes = self._types.labels(key)
        allowed = {
            at: domains.of(one)
            for at, one in enumerate(values)
            if one is not None and wanted.allows(one)
        }
        table = np.zeros((count, domains.room), dtype=bool)
        for at, number in allowed.items():
            table[codes == at, number] = True
        return table


class Shapes:
    """Every shape met so far, and what two of them make together."""

    def __init__(self, types: Types) -> None:
        """Know none."""
        self.types = types
        self.all: list[Shape] = []
        self._known: dict[Hashable, Shape] = {}
        self._met: dict[tuple[int, int], Shape | None] = {}
        self._narrowed: dict[tuple[int, str, tuple[str, ...]], Shape] = {}
        self._ways: dict[Hashable, int] = {}
        self._meetings: dict[tuple[int, int], bool] = {}

    def of(self, requirements: Requirements) -> Shape:
        """Return the shape of these requirements."""
        content = tuple(requirements.by_key.values())
        found = self._known.get(content)
        if found is None:
            found = self._known[content] = Shape(len(self.all), requirements, self.types)
            self.all.append(found)
        return found

    def __len__(self) -> int:
        """How many there are."""
        return len(self.all)

    def way(self, way: Requirements) -> int:
        """Number the requirements of a pod."""
        return self._ways.setdefault(tuple(way.by_key.values()), len(self._ways))

    def with_way(self, shape: Shape, number: int, way: Requirements) -> Shape | None:
        """Return the shape with a pod's requirements, None when they do not go together."""
        met = (shape.number, number)
        if met not in self._met:
            offered, undefined = shape.requirements, names.WELL_KNOWN_LABELS
            fits = offered.first_incompatibility(way, undefined=undefined) is None
            self._met[met] = self.of(offered.intersection(way)) if fits else None
        return self._met[met]

    def meets(self, shape: Shape, number: int, way: Requirements) -> bool:
        """True when a machine of this shape may turn out as a pod requires."""
        met = (shape.number, number)
        if met not in self._meetings:
            self._meetings[met] = shape.requirements.has_intersection(way)
        return self._meetings[met]

    def in_domains(self, shape: Shape, key: str, values: tuple[str, ...]) -> Shape:
        """Return the shape narrowed down to some values of a label."""
        asked = (shape.number, key, values)
        found = self._narrowed.get(asked)
        if found is None:
            one = Requirements.all_of((Requirement.of(key, IN, values),))
            found = self.of(shape.requirements.intersection(one))
            self._narrowed[asked] = found
        return found


def _places(keys: Sequence[str] | Sequence[tuple[int, int, str]]) -> npt.NDArray[np.int64]:
    """Where each of these stands when they are sorted; of equal ones the first comes first."""
    found = np.empty(len(keys), dtype=np.int64)
    order = sorted(range(len(keys)), key=lambda at: keys[at])
    found[order] = np.arange(len(keys))
    return found


def amounts(rows: Sequence[resources.Resources], columns: Sequence[str]) -> Amounts:
    """Return the amounts of these resources as an array, a row for each."""
    listed = [[row.get(name, 0) for name in columns] for row in rows]
    return np.array(listed, dtype=np.int64).reshape(len(rows), len(columns))
