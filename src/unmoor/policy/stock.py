"""What is on sale now: the cloud's list of instance types, less what it had none of a moment ago.

The cloud is asked once in a while (``cadence.instanceTypesMemory``). An offering that a launch was
refused for want of capacity is not tried again for a while (``cadence.stockOutMemory``, spec 8.3);
its price stays known. Both are answers in the view: without them the cloud is asked once more.

Must not: choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from unmoor.model.instance import InstanceType
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
    """Return the types with the offerings that are sold out marked as such.

    When nothing is, they are the same object; and a type of which everything is to be had is.
    """
    out = _sold_out(view, moment)
    named = {head for name in out for head in _heads(name)}
    return tuple(one.without(out) if one.name in named else one for one in types) if out else types


def _sold_out(view: View, moment: Moment) -> frozenset[str]:
    """The names of the offerings that were refused not long ago."""
    memory_s = view.settings.cadence.stock_out_memory_s
    refused = view.answers(Asked.STOCK_OUT)
    return frozenset(name for name, said in refused if moment.mono < said.at.after(memory_s))


def _heads(name: str) -> Iterator[str]:
    """What the name of an offering may begin with: one of these is its type."""
    at = name.find(" ")
    while at >= 0:
        yield name[:at]
        at = name.find(" ", at + 1)
