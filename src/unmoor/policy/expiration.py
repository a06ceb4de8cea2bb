"""Which nodes have lived for long enough? (001:54, spec 3.1, R6)

The Machine's ``MachineExpired`` condition says so; only a provisioner with
``ttlSecondsUntilExpired`` makes a node go, and expiration is as gentle as any other method.

Must not: set the condition (``lifecycle``).
"""

from __future__ import annotations

from unmoor.model.machine import MACHINE_EXPIRED
from unmoor.model.moment import Moment
from unmoor.policy import budgets, graceful
from unmoor.policy.command import Candidate, Proposal, refused, wanted
from unmoor.policy.graceful import Way
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method, Reason, Verdict

WAY = Way(Method.EXPIRATION, MACHINE_EXPIRED, "expired", budgets.EXPIRED)


def propose(look: Look) -> Proposal:
    """Return one command for all expired nodes without pods, else for the one expired longest."""
    found = graceful.find(look, WAY, wants)
    why = {
        one.node.uid: f"older than ttlSecondsUntilExpired ({_ttl_s(one)} s)"
        for one in found.candidates
    }
    return graceful.propose(look, WAY, found, why)


def wants(candidate: Candidate, moment: Moment) -> Verdict:
    """Say whether the node has expired."""
    node, ttl_s = candidate.node, _ttl_s(candidate)
    if ttl_s is None:
        message = f"provisioner {candidate.provisioner.name} does not set ttlSecondsUntilExpired"
        return refused(candidate, Method.EXPIRATION, Reason.NOT_CONFIGURED, message)
    expired_s = graceful.age_s(candidate, MACHINE_EXPIRED, moment)
    if expired_s is None:
        message = f"node {node.name} has not expired (its TTL is {ttl_s} s)"
        return refused(candidate, Method.EXPIRATION, Reason.NOT_EXPIRED, message, ttl_s=ttl_s)
    if (others := graceful.others_mark(candidate, WAY)) is not None:
        return others
    message = f"node {node.name} has been expired for {expired_s} s (its TTL is {ttl_s} s)"
    return wanted(
        candidate, Method.EXPIRATION, Reason.EXPIRED, message, expired_s=expired_s, ttl_s=ttl_s
    )


def _ttl_s(candidate: Candidate) -> int | None:
    return candidate.provisioner.spec.ttl_seconds_until_expired
