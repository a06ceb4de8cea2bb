"""What does a machine cost? A price book answers, and its name goes with every figure made of it.

A book either lists prices (``price_file`` reads them) or says which share of a type's own price
counts, or both. An offering whose price it does not know has none: that is never free.

Must not: read a file, or know where a type's own prices come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from unmoor.model import names
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.validation import cut

ANY_ZONE = "*"
"""In a list of prices: every zone that is not named."""
CAPACITY_TYPES = (names.ON_DEMAND, names.SPOT)
PERCENT_LEAST = -99.0
PERCENT_MOST = 1000.0

Listed: TypeAlias = Mapping[tuple[str, str, str], float]
"""USD per hour by instance type, zone or ANY_ZONE, and capacity type."""

_PERCENTAGE = re.compile(r"([+-][0-9]{1,6}(?:\.[0-9]{1,6})?) ?%")


class PriceError(ValueError):
    """Prices that cannot be used: where, the value, why not, and what to do instead."""


class PriceBook(msgspec.Struct, frozen=True, kw_only=True):
    """Prices under a name.

    ``rest``: which share of its own price an offering costs that is not listed; None: unknown.
    ``spot_note``: what is to be known of its spot prices, said beside each of them.
    """

    name: str
    listed: Listed = {}
    rest: float | None = None
    spot_note: str = ""

    @property
    def full_name(self) -> str:
        """Its name, and what is to be known of its spot prices."""
        return f"{self.name}, {self.spot_note}" if self.spot_note else self.name

    def price_usd_per_h(self, instance_type: str, offering: Offering) -> float | None:
        """Return what one costs here, None when this book does not know."""
        for zone in (offering.zone, ANY_ZONE):
            listed = self.listed.get((instance_type, zone, offering.capacity_type))
            if listed is not None:
                return listed
        if self.rest is None or offering.price_usd_per_h is None:
            return None
        return offering.price_usd_per_h * self.rest

    def applied(self, types: Iterable[InstanceType]) -> tuple[InstanceType, ...]:
        """Return the same types with the prices of this book, and its name."""
        return tuple(
            msgspec.structs.replace(
                one,
                price_book=self.name,
                spot_book=self.full_name if self.spot_note else "",
                offerings=tuple(
                    msgspec.structs.replace(
                        sold, price_usd_per_h=self.price_usd_per_h(one.name, sold)
                    )
                    for sold in one.offerings
                ),
            )
            for one in types
        )

    def idle(self, types: Iterable[InstanceType]) -> tuple[str, ...]:
        """Return what is listed and prices nothing of these types, sorted: perhaps misspelt."""
        sold = {
            (one.name, zone, offering.capacity_type)
            for one in types
            for offering in one.offerings
            for zone in (offering.zone, ANY_ZONE)
        }
        return tuple(" ".join(entry) for entry in sorted(self.listed) if entry not in sold)


def own(name: str, spot_note: str = "") -> PriceBook:
    """Return the book that leaves each type its own price."""
    return PriceBook(name=name, rest=1.0, spot_note=spot_note)


def is_percentage(text: str) -> bool:
    """True for what somebody means as one."""
    return text.rstrip().endswith("%")


def adjusted(name: str, text: str, spot_note: str = "") -> PriceBook:
    """Return the book of own prices, dearer or cheaper by ``text``, as in ``+10%`` or ``-2.5 %``.

    Raises PriceError naming the text.
    """
    found = _PERCENTAGE.fullmatch(text.strip())
    if found is None:
        raise PriceError(
            f"{cut(text)!r} is no percentage; write it with a sign, as in +10% or -25%"
        )
    percent = float(found[1])
    if not PERCENT_LEAST <= percent <= PERCENT_MOST:
        remedy = f"use {PERCENT_LEAST:+g}% to {PERCENT_MOST:+g}%"
        raise PriceError(f"{cut(text)!r} leaves no price that can be compared; {remedy}")
    share = (100 + percent) / 100
    return PriceBook(name=f"{name} {percent:+g} %", rest=share, spot_note=spot_note)
