"""Which nodes are not as they would be made now? (001:133-194, 002, spec 3.2, R15)

The Machine's ``MachineDrifted`` condition says so and what differs. Nodes are replaced, never
changed in place. ``unmoor.driftShareMost`` may hold all of it while a larger share of one
provisioner's machines has drifted: a slip in a template is no reason to renew a fleet.

Must not: set the condition (``lifecycle``), or compare anything (``drifted``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from unmoor.model.machine import MACHINE_DRIFTED
from unmoor.model.moment import Moment
from unmoor.policy import budgets, graceful
from unmoor.policy.command import Candidate, Found, Judged, Proposal, refused, wanted
from unmoor.policy.graceful import Way
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method, Reason, Verdict

WAY = Way(Method.DRIFT, MACHINE_DRIFTED, "drifted", budgets.DRIFTED)


def propose(look: Look) -> Proposal:
    """Return one command for all drifted nodes without pods, else for the one drifted longest."""
    found = _within_share(look, _with_gate(look, graceful.find(look, WAY, wants)))
    return graceful.propose(look, WAY, found, _words(found))


def wants(candidate: Candidate, moment: Moment) -> Verdict:
    """Say whether the node has drifted."""
    node = candidate.node
    condition = candidate.machine.condition(MACHINE_DRIFTED)
    drifted_s = graceful.age_s(candidate, MACHINE_DRIFTED, moment)
    if drifted_s is None or condition is None:
        message = f"node {node.name} is not known to have drifted"
        return refused(candidate, Method.DRIFT, Reason.NOT_DRIFTED, message)
    if (others := graceful.others_mark(candidate, WAY)) is not None:
        return others
    message = f"node {node.name} has drifted, {condition.reason}: {condition.message}"
    return wanted(candidate, Method.DRIFT, Reason.DRIFTED, message, drifted_s=drifted_s)


def _words(found: Found) -> Mapping[str, str]:
    conditions = {one.node.uid: one.machine.condition(MACHINE_DRIFTED) for one in found.candidates}
    return {uid: f"{one.reason}: {one.message}" for uid, one in conditions.items() if one}


def _with_gate(look: Look, found: Found) -> Found:
    """The gate may have been shut since the condition was written (T042)."""
    if look.view.settings.drift_enabled is not False:
        return found
    message = "featureGates.driftEnabled is false"
    return _refused(found, lambda _: message, Reason.NOT_CONFIGURED)


def _within_share(look: Look, found: Found) -> Found:
    most = look.view.settings.drift_share_most
    if most >= 1:
        return found
    held = {}
    for name in sorted({one.provisioner.name for one in found.candidates}):
        machines = look.view.machines_launched_by(name)
        drifted = sum(one.has(MACHINE_DRIFTED) for one in machines)
        if drifted > most * len(machines):
            held[name] = (
                f"{drifted} of the {len(machines)} machines of provisioner {name} have drifted, "
                f"more than unmoor.driftShareMost ({most:g}) lets go at once"
            )
    return _refused(found, lambda one: held.get(one.provisioner.name, ""), Reason.TOO_MANY_DRIFTED)


def _refused(found: Found, why: Callable[[Candidate], str], reason: Reason) -> Found:
    """Refuse the candidates for which there is a reason."""
    judged = []
    for one in found.judged:
        message = "" if one.candidate is None else why(one.candidate)
        if one.candidate is None or not message:
            judged.append(one)
        else:
            judged.append(Judged(refused(one.candidate, Method.DRIFT, reason, message)))
    return Found(found.method, tuple(judged))
