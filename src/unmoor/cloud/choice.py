"""Which offering to launch: the cheapest that suits the request and is to be had.

A pure function, so that the same request gets the same answer: ties go to the first by type, zone
and capacity type. An offering of unknown price is taken only when nothing with a price suits.

Must not: ask anybody; what is out of stock is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

import msgspec

from unmoor.engine.pricing import Choice, is_special
from unmoor.engine.sites import OF_OFFERINGS
from unmoor.model import names, resources
from unmoor.model.instance import InstanceType, LaunchRequest, Offering, OfferingName
from unmoor.model.requirement import Requirement, Requirements

STOCK_OUT_WORDS = 3
"""A stock-out is written ``type zone capacity-type``."""


class StockOut(msgspec.Struct, frozen=True):
    """What is not to be had now. Each part may hold ``*``, as in ``m5.* us-east-1a spot``."""

    instance_type: str = "*"
    zone: str = "*"
    capacity_type: str = "*"

    def covers(self, instance_type: str, offering: Offering) -> bool:
        """True when this offering is out of stock."""
        return (
            fnmatchcase(instance_type, self.instance_type)
            and fnmatchcase(offering.zone, self.zone)
            and fnmatchcase(offering.capacity_type, self.capacity_type)
        )


def parse_stock_outs(text: str) -> tuple[StockOut, ...]:
    """Read one stock-out a line; ``#`` begins a comment. Missing words mean ``*``."""
    found = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()[:STOCK_OUT_WORDS]
        if words:
            found.append(StockOut(*words))
    return tuple(found)


class NoneSuits(msgspec.Struct, frozen=True):
    """Nothing on sale suits the request, in stock or not."""

    message: str


class SoldOut(msgspec.Struct, frozen=True):
    """These would suit, and none of them is to be had."""

    suitable: tuple[Choice, ...]

    @property
    def offerings(self) -> tuple[OfferingName, ...]:
        """Which they are."""
        return tuple(one.name for one in self.suitable)

    @property
    def message(self) -> str:
        """The offerings, as a person would list them."""
        parts = sorted(map(str, self.offerings))
        return f"no capacity for {', '.join(parts[:3])}" + (
            f" and {len(parts) - 3} more" if len(parts) > 3 else ""  # noqa: PLR2004
        )


def choose(
    types: Iterable[InstanceType], request: LaunchRequest, stock_outs: Iterable[StockOut] = ()
) -> Choice | NoneSuits | SoldOut:
    """Return the cheapest offering that satisfies ``request``, or why there is none.

    Bare metal, GPUs and accelerators are launched only when nothing else is to be had (spec 9.9);
    what the request would avoid, only when not even those are.
    Raises RequirementError for a requirement that means nothing.
    """
    out = tuple(stock_outs)
    avoided = frozenset(request.avoid)
    suitable = sorted(
        _suitable(types, request),
        key=lambda one: (one.name in avoided, is_special(one.type), one.order),
    )
    if not suitable:
        wanted = resources.render(request.requests)
        return NoneSuits(f"no instance type suits {_requirements(request)} with {wanted}")
    for one in suitable:
        is_out = any(stock_out.covers(one.type.name, one.offering) for stock_out in out)
        if one.offering.is_available and not is_out:
            return one
    return SoldOut(tuple(suitable))


def labels_of(
    instance_type: InstanceType, *, zone: str, capacity_type: str, extra: dict[str, str]
) -> dict[str, str]:
    """Return the labels of a machine: those of its offering win over those asked for."""
    return {
        **extra,
        **instance_type.labels,
        names.ZONE: zone,
        names.CAPACITY_TYPE: capacity_type,
    }


def _suitable(types: Iterable[InstanceType], request: LaunchRequest) -> Iterator[Choice]:
    """What the offering decides is asked of each offering, all else once of each type."""
    wanted = _requirements(request)
    of_the_type = Requirements.all_of(one for one in wanted if one.key not in OF_OFFERINGS)
    zone, capacity_type = (wanted.get(key) for key in OF_OFFERINGS)
    named = wanted.get(names.INSTANCE_TYPE)
    for one in types:
        name = one.labels.get(names.INSTANCE_TYPE)
        if name is not None and not named.allows(name):  # As most: launches name their types.
            continue
        if not resources.fits(request.requests, one.allocatable):
            continue
        if not of_the_type.allows({**request.labels, **one.labels}):
            continue
        for offering in one.offerings:
            if zone.allows(offering.zone) and capacity_type.allows(offering.capacity_type):
                yield Choice(one, offering)


def _requirements(request: LaunchRequest) -> Requirements:
    return Requirements.all_of(
        Requirement.of(key, operator, values) for key, operator, values in request.requirements
    )
