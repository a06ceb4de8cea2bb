"""What a cloud answers: instances, instance types and their offerings.

These are not API objects. A provider translates its own answers into them; ``provider_id`` is the
string that a Node carries in ``spec.providerID``, ``scheme://...``.
"""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime
from enum import StrEnum

import msgspec

from unmoor.model import resources
from unmoor.model.names import SPOT
from unmoor.model.resources import Resources
from unmoor.model.selection import Wish

PRICE_LEAST, PRICE_MOST = 1e-9, 1e9
"""USD per hour: no price book has less or more, whatever share of a price it counts."""


class InstanceState(StrEnum):
    """What a machine is doing, as far as every cloud can say it."""

    PENDING = "pending"
    RUNNING = "running"
    SHUTTING_DOWN = "shutting-down"
    TERMINATED = "terminated"

    @property
    def is_going(self) -> bool:
        """It has been told to go: garbage collection leaves it alone (spec 6.2)."""
        return self in {self.SHUTTING_DOWN, self.TERMINATED}


class CloudInstance(msgspec.Struct, frozen=True, kw_only=True):
    """One machine of the cloud. ``token``: the attempt that made it; ``cluster``: who owns it.

    ``image``, ``subnet``, ``security_groups``: their ids, empty where the cloud does not say.

    ``price_usd_per_h``: as far as the cloud knows; ``price_book``: the name of the prices it is of.
    """

    provider_id: str
    state: InstanceState
    instance_type: str
    zone: str
    capacity_type: str
    cluster: str
    token: str = ""
    machine: str = ""
    image: str = ""
    subnet: str = ""
    security_groups: tuple[str, ...] = ()
    launched_at: datetime | None = None
    labels: dict[str, str] = {}
    capacity: dict[str, int] = {}
    allocatable: dict[str, int] = {}
    price_usd_per_h: float | None = None
    price_book: str = ""

    def __post_init__(self) -> None:
        """Whatever a cloud says, its prices can be said."""
        _without_nonsense(self)


class OfferingName(msgspec.Struct, frozen=True):
    """Which offering is meant: a type in one zone at one capacity type."""

    instance_type: str
    zone: str
    capacity_type: str

    def __str__(self) -> str:
        """``m5.large us-east-1a spot``."""
        return f"{self.instance_type} {self.zone} {self.capacity_type}"


class Offering(msgspec.Struct, frozen=True, kw_only=True):
    """A type in one zone at one capacity type. ``price_usd_per_h`` None: unknown, never free.

    What is no amount of money (below zero, out of all measure, not a number) is not known either.
    """

    zone: str
    capacity_type: str
    price_usd_per_h: float | None = None
    is_available: bool = True

    def __post_init__(self) -> None:
        """Whatever a cloud says, prices can be compared, added up and said."""
        _without_nonsense(self)


def _without_nonsense(one: CloudInstance | Offering) -> None:
    price = one.price_usd_per_h
    if price is not None and not (price == 0 or PRICE_LEAST <= price <= PRICE_MOST):
        msgspec.structs.force_setattr(one, "price_usd_per_h", None)


class InstanceType(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that is on sale. ``capacity``: cpu in milli-cores, all else in whole units.

    What is more than can be counted counts as the most that can be. ``price_book``: the name of the
    prices that its offerings have; ``spot_book``: of those of spot, where that is another.
    """

    name: str
    arch: str
    capacity: Resources
    allocatable: Resources
    offerings: tuple[Offering, ...] = ()
    labels: dict[str, str] = {}
    price_book: str = ""
    spot_book: str = ""

    def __post_init__(self) -> None:
        """Whatever a cloud says, amounts can be added up."""
        for field in ("capacity", "allocatable"):
            said = getattr(self, field)
            if (counted := resources.bounded(said)) is not said:
                msgspec.structs.force_setattr(self, field, counted)

    def book_of(self, capacity_type: str) -> str:
        """Return the name of the prices that its offerings of this capacity type have."""
        return (capacity_type == SPOT and self.spot_book) or self.price_book

    def without(self, names: Container[str]) -> InstanceType:
        """Mark the offerings of these names as not to be had; where it has none, return the same.

        ``names``: as an OfferingName writes itself.
        """
        gone = [
            str(OfferingName(self.name, one.zone, one.capacity_type)) in names
            for one in self.offerings
        ]
        if not any(gone):
            return self
        offerings = tuple(
            msgspec.structs.replace(one, is_available=False) if is_gone else one
            for one, is_gone in zip(self.offerings, gone, strict=True)
        )
        return msgspec.structs.replace(self, offerings=offerings)


class LaunchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to launch. The same ``token`` always means the same instance, however often asked."""

    token: str
    cluster: str
    machine: str
    requirements: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """(key, operator, values), as in a node selector term."""
    requests: Resources = {}
    labels: dict[str, str] = {}
    tags: dict[str, str] = {}
    avoid: tuple[OfferingName, ...] = ()
    """Taken only if there is nothing else."""
    template: Wish | None = None
    """The selectors of its node template: image, subnet and security groups follow from them."""
