"""Which offerings does a provisioner not ask for, because its last machine there did not come up?

A machine whose node never joined is given up and replaced (spec 6.1, liveness). The next one of the
same offering would most likely cost as much and come to as little: a zone without a way to the API
server, a type that the image does not run on. So the provisioner leaves the offering alone for a
while, as if it were sold out, and for twice as long after each further one in a row.

What is remembered are answers in the view: droppable, then the offering is tried once more. They
are about a provisioner as it was: one that another has replaced, or whose static part or template
is another one now, may have been mended.

Must not: conclude anything about other provisioners: their image and their network are other ones.
"""

from __future__ import annotations

import msgspec

from unmoor.model import names
from unmoor.model.instance import OfferingName
from unmoor.model.kinds import PROVISIONERS
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment, doubled_s, later, rfc3339
from unmoor.model.observation import Asked
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.model.static_hash import hash_of


class NoShow(msgspec.Struct, frozen=True):
    """A machine has not come up, the ``times``-th of its offering in a row.

    ``subject``: of the answer. ``avoided_s``: for so long the offering is not asked for.
    """

    offering: OfferingName
    subject: str
    times: int
    avoided_s: float


def no_show_of(view: View, machine: Machine, moment: Moment) -> NoShow | None:
    """Return what to remember of a machine that has not come up.

    None if nobody knows what it is, or if its provisioner is not any more what it was made by. They
    are in a row when the next one was tried soon after it was tried again at all.
    """
    labels, maker = machine.metadata.labels, view.provisioner(machine.provisioner_name)
    parts = [labels.get(key, "") for key in (names.INSTANCE_TYPE, names.ZONE, names.CAPACITY_TYPE)]
    if not machine.provider_id or maker is None or not all(parts) or not _is_of(machine, maker):
        return None
    offering = OfferingName(*parts)
    subject = f"{_maker(maker)} {offering}"
    before, times = view.answer(Asked.NO_SHOW, subject), 1
    if before is not None and before.result is not None:
        tried_s = 2 * view.settings.cadence.registration_limit_s
        if moment.mono <= before.at.after(_avoided_s(view, before.result) + tried_s):
            times = before.result + 1
    return NoShow(offering, subject, times, _avoided_s(view, times))


def avoided(view: View, moment: Moment) -> dict[str, dict[str, str]]:
    """Return by provisioner the offerings that it does not ask for now, and until when in UTC."""
    by_maker: dict[str, dict[str, str]] = {}
    for subject, answer in view.answers(Asked.NO_SHOW):
        for_s = _avoided_s(view, answer.result or 1)
        if moment.mono < answer.at.after(for_s):
            maker, _, offering = subject.partition(" ")
            until = rfc3339(later(answer.at.wall, for_s))
            by_maker.setdefault(maker, {})[offering] = until
    if not by_maker:
        return {}  # As nearly always.
    makers = {one.name: by_maker.get(_maker(one)) for one in view.sorted(PROVISIONERS)}
    return {name: found for name, found in makers.items() if found is not None}


def avoided_by(view: View, provisioner: str, moment: Moment) -> tuple[OfferingName, ...]:
    """Return the offerings that a provisioner does not ask for now, by name."""
    listed = sorted(avoided(view, moment).get(provisioner, ()))
    return tuple(OfferingName(*one.rsplit(" ", 2)) for one in listed)


def _maker(provisioner: Provisioner) -> str:
    """A provisioner as far as its machines' coming up depends on it."""
    ref = provisioner.spec.provider_ref
    template = f"{ref.kind}/{ref.name}" if ref is not None else ""
    return f"{provisioner.uid}/{hash_of(provisioner)}/{template}"


def _is_of(machine: Machine, maker: Provisioner) -> bool:
    """True unless what stands on the machine names another provisioner, or an earlier state."""
    owners = (one for one in machine.metadata.owner_references if one.kind == PROVISIONERS.kind)
    written = machine.metadata.annotations.get(names.PROVISIONER_HASH, "")
    return (
        all(one.uid == maker.uid for one in owners)
        and written in {"", hash_of(maker)}
        and machine.spec.machine_template_ref in (None, maker.spec.provider_ref)
    )


def _avoided_s(view: View, times: int) -> float:
    """15 min, doubling to four hours, by default."""
    cadence = view.settings.cadence
    return doubled_s(cadence.no_show_memory_s, times - 1, cadence.no_show_memory_most_s)
