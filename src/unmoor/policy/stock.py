"""What is on sale now: the cloud's list of instance types, less what it had none of a moment ago.

The cloud is asked once in a while (``cadence.instanceTypesMemory``). An offering that a launch was
refused for want of capacity is not tried again for a while (``cadence.stockOutMemory``, spec 8.3),
and for twice as long after each further refusal in a row, up to a limit; its price stays known. All
of it are answers in the view: without them the cloud is asked once more.

Must not: choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from unmoor.model.instance import InstanceType
from unmoor.model.moment import Moment, doubled_s, later, rfc3339
from unmoor.model.observation import Answer, Asked, Problem
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View

Sold: TypeAlias = Answer[tuple[InstanceType, ...]]
"""What a cloud has said of what it sells."""


def types_of(view: View) -> Sold | None:
    """Return the cloud's last answer, None when it was not asked yet."""
    return view.answer(Asked.INSTANCE_TYPES, view.identity.scheme)


def by_name(view: View) -> dict[str, InstanceType]:
    """Return what the cloud sells, as it said last; nothing until it has."""
    sold = types_of(view)
    types = sold.result if sold is not None else None
    return {one.name: one for one in types or ()}


def ask_again_at(view: View, answer: Sold) -> float:
    """Return when to ask for the types again (monotonic): sooner when the last answer was none."""
    cadence = view.settings.cadence
    is_known = answer.problem is None
    return answer.again_at(
        cadence.instance_types_memory_s if is_known else cadence.pending_pod_retry_s
    )


def in_stock(types: tuple[InstanceType, ...], out: Mapping[str, str]) -> tuple[InstanceType, ...]:
    """Return the types with the offerings that are sold out marked as such.

    ``out``: of :func:`sold_out`.

    When nothing is, they are the same object; and a type of which everything is to be had is.
    """
    named = {head for name in out for head in _heads(name)}
    return tuple(one.without(out) if one.name in named else one for one in types) if out else types


def sold_out(view: View, moment: Moment) -> dict[str, str]:
    """Return the offerings that were refused not long ago, and until when they are left alone."""
    found = {}
    for name, said in view.answers(Asked.STOCK_OUT):
        for_s = _memory_s(view, said.result or 1)
        if moment.mono < said.at.after(for_s):
            found[name] = rfc3339(later(said.at.wall, for_s))
    return found


def times_refused(view: View, offering: str, moment: Moment) -> int:
    """Return how many times in a row an offering is sold out, now that a launch was refused it.

    Nobody who knows of the last time has asked before its memory was over; who asks soon after that
    asks again. Until then it is the same time still.
    """
    before = view.answer(Asked.STOCK_OUT, offering)
    if before is None:
        return 1
    times = before.result or 1
    over_s = _memory_s(view, times)
    if moment.mono < before.at.after(over_s):
        return times
    soon_s = over_s + view.settings.cadence.stock_out_memory_s
    return times + 1 if moment.mono < before.at.after(soon_s) else 1


def shortage_of(view: View, provisioner: Provisioner, moment: Moment) -> Problem | None:
    """Return in which words the cloud has refused the last machine of a provisioner, not long ago.

    None when it has not, or nothing has been tried for longer than anything is left alone.
    """
    answer = view.answer(Asked.CAPACITY, provisioner.uid)
    cadence = view.settings.cadence
    longest_s = cadence.stock_out_memory_most_s + cadence.stock_out_memory_s
    is_recent = answer is not None and moment.mono < answer.at.after(longest_s)
    return answer.problem if answer is not None and is_recent else None


def _memory_s(view: View, times: int) -> float:
    """3 min, doubling to 15, by default."""
    cadence = view.settings.cadence
    return doubled_s(cadence.stock_out_memory_s, times - 1, cadence.stock_out_memory_most_s)


def _heads(name: str) -> Iterator[str]:
    """What the name of an offering may begin with: one of these is its type."""
    at = name.find(" ")
    while at >= 0:
        yield name[:at]
        at = name.find(" ", at + 1)
