"""Does the server refuse the machines of a provisioner? Then it is asked again, and not too often.

Missing rights, an admission webhook, a quota: what refuses one machine refuses most of its
provisioner's. So after a refusal one machine is tried, at longer and longer intervals; once it is
made, so are the others. Other provisioners are not concerned. People are told on the provisioner.

What the server said is an answer in the view; how often in a row is remembered, and droppable: then
the intervals begin anew.

Must not: choose machines.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from unmoor.model.kinds import PROVISIONERS, ref_of
from unmoor.model.moment import Moment, doubled_s
from unmoor.model.observation import Asked, Problem
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict


class Refused(msgspec.Struct, frozen=True):
    """The last refusal, the ``count``-th in a row. Times are monotonic; ``until`` nothing is tried.

    ``is_new``: it has come since the last look.
    """

    problem: Problem
    at: float
    count: int
    until: float
    is_new: bool = True


def look(
    view: View, before: Mapping[str, Refused], moment: Moment
) -> tuple[dict[str, Refused], tuple[Verdict, ...]]:
    """Return the provisioners whose last machine was refused, by name, and what there is to say.

    ``before``: what the last look has returned.
    """
    found = {}
    for one in view.sorted(PROVISIONERS):
        answer = view.answer(Asked.CREATION, one.uid)
        if answer is None or answer.problem is None:
            continue
        known = before.get(one.name)
        if known is not None and known.at == answer.at.mono:
            found[one.name] = msgspec.structs.replace(known, is_new=False)
            continue
        count = 1 if known is None else known.count + 1
        until = answer.again_at(_back_off_s(view, count))
        found[one.name] = Refused(answer.problem, answer.at.mono, count, until)
    verdicts = [
        _verdict(one, found[one.name], moment)
        for one in view.sorted(PROVISIONERS)
        if one.name in found
    ]
    return found, tuple(verdicts)


def words_of(refused: Refused, whose: str = "its machines") -> str:
    """Say what the server says."""
    problem = refused.problem
    said = problem.message or "it does not say why"
    return f"the server refuses {whose} ({problem.kind}): {said}"


def _back_off_s(view: View, count: int) -> float:
    """10 s, doubling to five minutes, by default."""
    cadence = view.settings.cadence
    return doubled_s(cadence.pending_pod_retry_s, count - 1, cadence.creation_backoff_most_s)


def _verdict(provisioner: Provisioner, refused: Refused, moment: Moment) -> Verdict:
    """An event for each refusal, and none for the waits between."""
    said = words_of(refused, f"the machines of provisioner {provisioner.name}")
    return Verdict(
        subject=ref_of(provisioner),
        method=Method.PROVISIONING,
        reason=Reason.CREATION_REFUSED,
        message=(
            f"{said}; its rights, admission webhooks and quotas decide; one machine is tried again "
            "from time to time"
        ),
        evidence={
            "kind": refused.problem.kind,
            "refusals": refused.count,
            "again_in_s": round(max(refused.until - moment.mono, 0)),
        },
        event="FailedCreate" if refused.is_new else "",
        is_warning=True,
    )
