"""Which types may a new machine be, and in which order? The cheapest first.

A type counts with its cheapest offering that the requirements allow and that is to be had. A price
that nobody knows is not low (R34): such a type comes last, and where it would have to be no dearer
than another, it is not.

Must not: make prices (``model.prices``), or know pods, nodes and limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from types import MappingProxyType

import msgspec

from unmoor.engine.sites import offerings_of, types_left
from unmoor.model import names
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.requirement import Requirements
from unmoor.model.resources import Resources

TYPES_PER_MACHINE_MAX = 60
"""More types than these are not asked of a cloud for one machine (spec 9.9)."""
NOTHING: Resources = MappingProxyType({})
METAL = "metal"
"""How the sizes of bare machines begin."""


class Ranked(msgspec.Struct, frozen=True):
    """A type, and the cheapest of its offerings that would do."""

    type: InstanceType
    offering: Offering

    @property
    def order(self) -> tuple[float, str]:
        """The cheapest first, unknown prices last, then by name."""
        return (_cost(self.offering), self.type.name)


def by_price(
    types: Iterable[InstanceType], requirements: Requirements, requests: Resources = NOTHING
) -> tuple[Ranked, ...]:
    """Return all types for a machine with these requirements and room for ``requests``, in order.

    ``requests``: cpu in milli-cores, the rest in whole units.
    """
    left = types_left(types, requirements, requests)
    ranked = (Ranked(one, min(offerings_of(one, requirements), key=_order)) for one in left)
    return tuple(sorted(ranked, key=lambda one: one.order))


def cheapest_first(
    types: Iterable[InstanceType], requirements: Requirements, requests: Resources = NOTHING
) -> tuple[Ranked, ...]:
    """Return those of :func:`by_price` that a cloud is asked for: what is worth launching.

    Bare metal, GPUs and accelerators are left out while anything else would do. Where spot and on
    demand are both to be had, so is what costs more than the cheapest on demand: who would take
    either pays no more for spot. At most TYPES_PER_MACHINE_MAX are left.
    """
    ranked = by_price(types, requirements, requests)
    ranked = tuple(one for one in ranked if not is_special(one.type)) or ranked
    limit = _dearest([sold for one in ranked for sold in offerings_of(one.type, requirements)])
    kept = [one for one in ranked if _cost(one.offering) <= limit]
    return tuple(kept[:TYPES_PER_MACHINE_MAX])


def is_special(one: InstanceType) -> bool:
    """True for bare metal, and for what has devices that somebody may need more."""
    size = one.labels.get(names.INSTANCE_SIZE, "")
    has_devices = any(one.capacity.get(name) for name in names.DEVICE_RESOURCES)
    return has_devices or size.startswith(METAL)


def _dearest(offerings: list[Offering]) -> float:
    """What a machine may cost: anything, unless spot and on demand compete for it."""
    on_demand = [_cost(one) for one in offerings if one.capacity_type == names.ON_DEMAND]
    has_spot = any(one.capacity_type == names.SPOT for one in offerings)
    return min(on_demand) if on_demand and has_spot else inf


def _cost(offering: Offering) -> float:
    return inf if offering.price_usd_per_h is None else offering.price_usd_per_h


def _order(offering: Offering) -> tuple[float, str, str]:
    return (_cost(offering), offering.zone, offering.capacity_type)
