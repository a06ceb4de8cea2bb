"""Which offerings does a provisioner not ask for, because its last machine there did not come up?

A machine whose node never joined is given up and replaced (spec 6.1, liveness). The next one of the
same offering would most likely cost as much and come to as little: a zone without a way to the API
server, a type that the image does not run on. So the provisioner leaves the offering alone for a
while, as if it were sold out, and for twice as long after each further one in a row.

What is remembered are answers in the view: droppable, then the offering is tried once more.

Must not: conclude anything about other provisioners: their image and their network are other ones.
"""

from __future__ import annotations

import msgspec

from unmoor.model import names
from unmoor.model.instance import OfferingName
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment, doubled_s
from unmoor.model.observation import Asked
from unmoor.model.snapshot import View


class NoShow(msgspec.Struct, frozen=True):
    """A machine has not come up, the ``times``-th of its offering in a row.

    ``subject``: of the answer. ``avoided_s``: for so long the offering is not asked for.
    """

    offering: OfferingName
    subject: str
    times: int
    avoided_s: float


def no_show_of(view: View, machine: Machine, moment: Moment) -> NoShow | None:
    """Return what to remember of a machine that has not come up; None if nobody knows what it is.

    They are in a row when the next one was tried soon after it was tried again at all.
    """
    labels = machine.metadata.labels
    parts = [labels.get(key, "") for key in (names.INSTANCE_TYPE, names.ZONE, names.CAPACITY_TYPE)]
    if not machine.provider_id or not machine.provisioner_name or not all(parts):
        return None
    offering = OfferingName(*parts)
    subject = f"{machine.provisioner_name} {offering}"
    before, times = view.answer(Asked.NO_SHOW, subject), 1
    if before is not None and before.result is not None:
        tried_s = 2 * view.settings.cadence.registration_limit_s
        if moment.mono <= before.at.after(_avoided_s(view, before.result) + tried_s):
            times = before.result + 1
    return NoShow(offering, subject, times, _avoided_s(view, times))


def avoided(view: View, moment: Moment) -> dict[str, frozenset[str]]:
    """Return by provisioner the offerings that it does not ask for now."""
    found: dict[str, set[str]] = {}
    for subject, answer in view.answers(Asked.NO_SHOW):
        if moment.mono < answer.at.after(_avoided_s(view, answer.result or 1)):
            provisioner, _, offering = subject.partition(" ")
            found.setdefault(provisioner, set()).add(offering)
    return {provisioner: frozenset(names) for provisioner, names in sorted(found.items())}


def avoided_by(view: View, provisioner: str, moment: Moment) -> tuple[OfferingName, ...]:
    """Return the offerings that a provisioner does not ask for now, by name."""
    listed = sorted(avoided(view, moment).get(provisioner, ()))
    return tuple(OfferingName(*one.rsplit(" ", 2)) for one in listed)


def _avoided_s(view: View, times: int) -> float:
    """15 min, doubling to four hours, by default."""
    cadence = view.settings.cadence
    return doubled_s(cadence.no_show_memory_s, times - 1, cadence.no_show_memory_most_s)
