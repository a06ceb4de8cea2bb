"""Which types may a new machine be, and in which order? The cheapest first.

A type counts with its cheapest offering that the requirements allow and that is to be had. A price
that nobody knows is not low (R34): such types come last, and of them the
smallest first: it likely costs the least.

Must not: make prices (``model.prices``), or know pods, nodes and limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from unmoor.engine.sites import offerings_of, types_left
from unmoor.model import names
from unmoor.model.instance import InstanceType, Offering, OfferingName
from unmoor.model.requirement import Requirements
from unmoor.model.resources import CPU, MEMORY, Resources

TYPES_PER_MACHINE_MAX = 60
"""More types than these are not asked of a cloud for one machine (spec 9.9)."""
NOTHING: Resources = MappingProxyType({})
Size: TypeAlias = tuple[int, int]
NO_SIZE: Size = (0, 0)
METAL = "metal"
"""How the sizes of bare machines begin."""


class Choice(msgspec.Struct, frozen=True):
    """A type, and one of its offerings."""

    type: InstanceType
    offering: Offering

    @property
    def name(self) -> OfferingName:
        """Which offering it is."""
        return OfferingName(self.type.name, self.offering.zone, self.offering.capacity_type)

    @property
    def book(self) -> str:
        """The name of the prices that it has."""
        return self.type.book_of(self.offering.capacity_type)

    @property
    def order(self) -> tuple[float, Size, str, str, str]:
        """The cheapest first, unknown prices last and among them the smallest; ties by name."""
        price = self.offering.price_usd_per_h
        size = NO_SIZE if price is not None else size_of(self.type)
        where = (self.offering.zone, self.offering.capacity_type)
        return (inf if price is None else price, size, self.type.name, *where)


def cheapest_first(
    types: Iterable[InstanceType], requirements: Requirements, requests: Resources = NOTHING
) -> tuple[Choice, ...]:
    """Return the types that a cloud is asked for, for a machine with these requirements.

    Each has room for ``requests`` (cpu in milli-cores, the rest in whole units) and comes with the
    cheapest of its offerings that would do. Bare metal, GPUs and accelerators are left out while
    anything else would do. At most TYPES_PER_MACHINE_MAX are left.
    """
    left = types_left(types, requirements, requests)
    left = tuple(one for one in left if not is_special(one)) or left
    ranked = [cheapest_of(one, requirements) for one in left]
    return tuple(sorted(ranked, key=_order)[:TYPES_PER_MACHINE_MAX])


def cheapest_of(one: InstanceType, requirements: Requirements) -> Choice:
    """Return the type with the cheapest of its offerings that would do; there is one."""
    return min((Choice(one, each) for each in offerings_of(one, requirements)), key=_order)


def is_special(one: InstanceType) -> bool:
    """True for bare metal, and for what has devices that somebody may need more."""
    size = one.labels.get(names.INSTANCE_SIZE, "")
    has_devices = any(one.capacity.get(name) for name in names.DEVICE_RESOURCES)
    return has_devices or size.startswith(METAL)


def size_of(one: InstanceType) -> Size:
    """Return what a machine of this type has: cpu, and where that is the same, memory."""
    return (one.capacity.get(CPU, 0), one.capacity.get(MEMORY, 0))


def _order(one: Choice) -> tuple[float, Size, str, str, str]:
    return one.order
