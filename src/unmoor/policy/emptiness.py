"""Which nodes have been empty for long enough? (001:53, spec 3.3, R5, R6)

The clock is the lastTransitionTime of the Machine's ``MachineEmpty`` condition. All nodes whose
time has come go in one command, and each for itself: one that got a pod in the meantime is left
out, the others go on (R30). Only a provisioner with ``ttlSecondsAfterEmpty`` makes a node go.

Must not: set the condition (``lifecycle``).
"""

from __future__ import annotations

from unmoor.model.machine import MACHINE_EMPTY
from unmoor.model.moment import Moment, later
from unmoor.model.wording import counted
from unmoor.policy import allowance, budgets, candidates
from unmoor.policy.command import Candidate, Proposal, proposal, refused, wanted
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method, Reason, Verdict


def propose(look: Look) -> Proposal:
    """Return one command for all nodes whose time has come, and why not the others."""
    found = candidates.find(look.view, Method.EMPTINESS, wants, look.moment)
    found, chosen = allowance.within(look, found, found.candidates, budgets.EMPTY)
    return proposal(found, chosen, "empty for longer than ttlSecondsAfterEmpty")


def wants(candidate: Candidate, moment: Moment) -> Verdict:
    """Say whether the node's time has come."""
    node, provisioner = candidate.node, candidate.provisioner
    ttl_s = provisioner.ttl_after_empty_s
    if ttl_s is None:
        # R6: unset means never.
        message = (
            f"provisioner {provisioner.name} does not set ttlSecondsAfterEmpty, or consolidates"
        )
        return refused(candidate, Method.EMPTINESS, Reason.NOT_CONFIGURED, message)
    since = candidate.machine.since(MACHINE_EMPTY)
    if since is None:
        message = f"node {node.name} is not known to be empty"
        return refused(candidate, Method.EMPTINESS, Reason.NOT_EMPTY, message)
    left_s = (later(since, ttl_s) - moment.wall).total_seconds()
    if moment.is_recent(since, ttl_s):  # equal counts (spec 3.3)
        message = f"node {node.name} is empty, and goes in {left_s:.0f} s (its TTL is {ttl_s} s)"
        evidence = {"left_s": round(left_s, 1), "ttl_s": ttl_s}
        return refused(candidate, Method.EMPTINESS, Reason.TTL_RUNNING, message, **evidence)
    if candidate.pods:
        named = f"{candidate.pods[0].namespace}/{candidate.pods[0].name}"
        message = f"node {node.name} runs {counted(len(candidate.pods), 'pod')}: {named}"
        return refused(candidate, Method.EMPTINESS, Reason.NOT_EMPTY, message)
    empty_s = round(moment.since_s(since))
    message = f"node {node.name} has been empty for {empty_s} s (its TTL is {ttl_s} s)"
    return wanted(
        candidate, Method.EMPTINESS, Reason.EMPTY_FOR_TTL, message, empty_s=empty_s, ttl_s=ttl_s
    )
