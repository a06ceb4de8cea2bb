"""What is on sale now: the cloud's list of instance types, less what it had none of a moment ago.

The cloud is asked once in a while (``cadence.instanceTypesMemory``). An offering that a launch was
refused for want of capacity is not tried again for a while (``cadence.stockOutMemory``, spec 8.3);
its price stays known. Both are answers in the view: without them the cloud is asked once more.

Must not: choose.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from unmoor.model.instance import InstanceType, Offering, OfferingName
from unmoor.model.moment import Moment
from unmoor.model.observation import Answer, Asked
from unmoor.model.snapshot import View

Sold: TypeAlias = Answer[tuple[InstanceType, ...]]
"""What a cloud has said of what it sells."""


def types_of(view: View) -> Sold | None:
    """Return the cloud's last answer, None when it was not asked yet."""
    return view.answer(Asked.INSTANCE_TYPES, view.identity.scheme)


def ask_again_at(view: View, answer: Sold) -> float:
    """Return when to ask for the types again (monotonic): sooner when the last answer was none."""
    cadence = view.settings.cadence
    is_known = answer.problem is None
    return answer.again_at(
        cadence.instance_types_memory_s if is_known else cadence.pending_pod_retry_s
    )


def in_stock(
    view: View, types: tuple[InstanceType, ...], moment: Moment
) -> tuple[InstanceType, ...]:
    """Return the types with the offerings that are sold out marked as such."""
    return tuple(_in_stock(view, one, moment) for one in types)


def _in_stock(view: View, one: InstanceType, moment: Moment) -> InstanceType:
    """A type of which everything is to be had stays the same object."""
    out = [offering for offering in one.offerings if _is_out(view, one, offering, moment)]
    if not out:
        return one
    offerings = tuple(
        msgspec.structs.replace(offering, is_available=False) if offering in out else offering
        for offering in one.offerings
    )
    return msgspec.structs.replace(one, offerings=offerings)


def _is_out(view: View, one: InstanceType, offering: Offering, moment: Moment) -> bool:
    name = OfferingName(one.name, offering.zone, offering.capacity_type)
    refused = view.answer(Asked.STOCK_OUT, str(name))
    memory_s = view.settings.cadence.stock_out_memory_s
    return refused is not None and moment.mono < refused.at.after(memory_s)
