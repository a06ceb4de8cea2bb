"""What the engine answers: where each pod goes, which machines that takes, and who is left over.

Must not: say how it was found. The oracle and the fast engine answer in these same words.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from unmoor.engine.refusal import Refusal
from unmoor.model.base import Key
from unmoor.model.requirement import Requirements
from unmoor.model.resources import Resources


def name_of(number: int) -> str:
    """Return what a plan calls its machine of this number.

    No object of the API can have such a name: it would be taken for the machine, and be its host.
    """
    return f"machine#{number}"


class NewMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine to launch.

    ``name`` is good within one plan only (``machine#0``). ``requirements`` hold for node and
    machine, without the list of types. ``instance_types``: the cheapest suitable ones, cheapest
    first. ``requests``: of its pods and of the DaemonSets that will come (cpu in milli-cores, the
    rest in whole units). ``price_usd_per_h``: of the cheapest offering, None when unknown;
    ``price_book``: the name of the prices it is of.
    """

    name: str
    provisioner: str
    requirements: Requirements
    instance_types: tuple[str, ...]
    requests: Resources
    pods: tuple[Key, ...]
    price_usd_per_h: float | None = None
    price_book: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything goes. Each pod asked about is in ``placements`` or in ``refused``.

    ``placements``: pod key to the name of an existing place (``Place.name``) or of a new machine,
    in the order in which the pods were placed: created in this order, each may run where it is put.
    ``refused``: pod key to the reasons of each provisioner, the nearest first, and before them
    those of a node or machine that has fewer; () where too many were asked for to work out this
    one, too. ``given_up``: pod key to the preferences that were not kept, in words.
    """

    placements: dict[Key, str] = {}
    machines: tuple[NewMachine, ...] = ()
    refused: Mapping[Key, tuple[Refusal, ...]] = {}
    given_up: dict[Key, tuple[str, ...]] = {}

    @property
    def price_usd_per_h(self) -> float | None:
        """What the new machines cost together; None when the price of one is unknown."""
        prices = [one.price_usd_per_h for one in self.machines]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None
