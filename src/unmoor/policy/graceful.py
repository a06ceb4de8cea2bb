"""How expiration and drift let nodes go: both the same way. (001:15-24, spec 3.1, 3.2)

All nodes without pods go together. Else one node with all that runs on it, the one that has waited
longest first; as many machines as its pods need come before it, whatever they cost. A node whose
pods would have no place stays, says so, and the next one is tried.

Must not: know what makes a node want to go (``expiration``, ``drift``).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from unmoor.model import names
from unmoor.model.kinds import ref_of
from unmoor.model.moment import Moment
from unmoor.model.wording import counted
from unmoor.policy import allowance, candidates, second_thoughts
from unmoor.policy.candidates import BLOCKED
from unmoor.policy.command import Candidate, Found, Judged, Proposal, proposal, refused
from unmoor.policy.look import Look
from unmoor.policy.removal import Removal
from unmoor.policy.verdict import Method, Reason, Verdict


class Way(msgspec.Struct, frozen=True):
    """What differs: the condition that is the clock, the node's mark, and the budgets' name."""

    method: Method
    condition: str
    mark: str
    budget: str


def others_mark(candidate: Candidate, way: Way) -> Verdict | None:
    """R14: whoever else marks a node has it; None when nobody does."""
    held = candidate.node.metadata.annotations.get(names.VOLUNTARY_DISRUPTION)
    if held is None or held in OUR_MARKS:
        return None
    message = (
        f'{way.method} is blocked: its annotation "{names.VOLUNTARY_DISRUPTION}" is "{held}", so '
        "another controller disrupts it; remove it to allow this"
    )
    return _told(candidate, way.method, Reason.MARKED_BY_OTHERS, message)


OUR_MARKS = frozenset({"expired", "drifted"})


def propose(look: Look, way: Way, found: Found, why: Mapping[str, str]) -> Proposal:
    """Return the next command. ``why``: of each node by uid, what the command says."""
    ordered = sorted(found.candidates, key=lambda one: _order(one, way))
    empties = [one for one in ordered if not one.pods]
    found, empty = allowance.within(look, found, empties, way.budget)
    if empty:
        return proposal(found, empty, f"{way.mark}, and empty")
    filled = [one for one in ordered if one.pods]
    found, allowed = allowance.alone(look, found, filled, lambda _: way.budget)
    refusals: dict[str, Verdict] = {}
    for one in allowed:
        if look.simulation is None:
            message = f"{way.method} is blocked: the cloud has not said yet what it sells"
            refusals[one.node.uid] = refused(one, way.method, Reason.TYPES_UNKNOWN, message)
            continue
        outcome = look.simulation.without([one.node.name])
        again = Removal((one,), outcome.plan, None, None)
        if outcome.is_possible and (waits := second_thoughts.about(look, again, way.method)):
            message = f"{way.method} is blocked: {waits.message}"
            refusals[one.node.uid] = _told(one, way.method, waits.reason, message)
            continue
        if outcome.is_possible:
            reason = f"{why[one.node.uid]}; {_what_it_takes(one, len(outcome.machines))}"
            return proposal(_without(found, refusals), [one], reason, outcome.plan)
        message = (
            f"{way.method} is blocked: not all of its pods would have a place: {outcome.why_not}"
        )
        refusals[one.node.uid] = _told(one, way.method, Reason.NO_PLACE, message)
    return proposal(_without(found, refusals), (), "")


def find(look: Look, way: Way, wants: candidates.Wants) -> Found:
    """Look at every node."""
    return candidates.find(look.view, way.method, wants, look.moment)


def age_s(candidate: Candidate, condition: str, moment: Moment) -> int | None:
    """Return for how long the machine has had a condition, None when it has not."""
    since = candidate.machine.since(condition)
    return None if since is None else round(moment.since_s(since))


def _order(candidate: Candidate, way: Way) -> tuple[float, str]:
    """The one that has waited longest first (T050, T062)."""
    since = candidate.machine.since(way.condition)
    return (since.timestamp() if since is not None else float("inf"), candidate.node.name)


def _what_it_takes(candidate: Candidate, machines: int) -> str:
    moved = counted(len(candidate.pods), "pod")
    if not machines:
        return f"{moved} to move, onto other nodes"
    return f"{moved} to move, {counted(machines, 'machine')} first"


def _without(found: Found, refusals: Mapping[str, Verdict]) -> Found:
    """Those that stay say why."""
    judged = tuple(
        one
        if one.candidate is None or one.candidate.node.uid not in refusals
        else Judged(refusals[one.candidate.node.uid])
        for one in found.judged
    )
    return Found(found.method, judged)


def _told(candidate: Candidate, method: Method, reason: Reason, message: str) -> Verdict:
    verdict = refused(candidate, method, reason, message)
    return msgspec.structs.replace(
        verdict,
        event=BLOCKED,
        also_on=(ref_of(candidate.machine),),
        evidence={"machine": candidate.machine.name},
    )
