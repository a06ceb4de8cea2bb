"""Which nodes have been empty for long enough? (001:53, spec 3.3, R5, R6)

The clock is the lastTransitionTime of the Machine's ``MachineEmpty`` condition. All nodes whose
time has come go in one command, and each for itself: one that got a pod in the meantime is left
out, the others go on (R30). Only a provisioner with ``ttlSecondsAfterEmpty`` makes a node go.

Must not: set the condition (``lifecycle``), or look at budgets: there is no pod to protect.
"""

from __future__ import annotations

from unmoor.model.kinds import NODES, ref_of
from unmoor.model.machine import MACHINE_EMPTY
from unmoor.model.moment import Moment, later
from unmoor.model.node import Node
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.policy import candidates
from unmoor.policy.command import Candidate, Command, Proposal
from unmoor.policy.verdict import Method, Reason, Verdict

NODES_MAX = 1_000
"""So many nodes go in one command; the rest in the next. One object must name them all."""


def propose(view: View, moment: Moment) -> Proposal:
    """Return one command for all nodes whose time has come, and why not the others."""
    chosen: list[Candidate] = []
    verdicts: list[Verdict] = []
    for node in view.sorted(NODES):
        judged = judge(view, node, moment)
        if isinstance(judged, Candidate):
            chosen.append(judged)
            verdicts.append(_chosen(judged, moment))
        else:
            verdicts.append(judged)
    if not chosen:
        return Proposal(verdicts=tuple(verdicts))
    command = Command(
        method=Method.EMPTINESS,
        reason="empty for longer than ttlSecondsAfterEmpty",
        nodes=tuple(candidate.identity for candidate in chosen[:NODES_MAX]),
    )
    return Proposal(command, tuple(verdicts), len(chosen))


def judge(view: View, node: Node, moment: Moment, *, running: str = "") -> Candidate | Verdict:
    """Return the candidate when its time has come, or the first reason why not."""
    provisioner = view.provisioner(node.provisioner_name)
    unwanted = _is_unwanted(view, node, provisioner, moment)
    candidate = candidates.check(view, node, Method.EMPTINESS, moment, running=running)
    if isinstance(candidate, Verdict):
        # What blocks a method is only told where the method would act.
        return unwanted if unwanted is not None and candidate.event else candidate
    if unwanted is not None:
        return unwanted
    if candidate.pods:
        named = f"{candidate.pods[0].namespace}/{candidate.pods[0].name}"
        return _refuse(
            node, Reason.NOT_EMPTY, f"node {node.name} runs {len(candidate.pods)} pods: {named}"
        )
    return candidate


def _is_unwanted(
    view: View, node: Node, provisioner: Provisioner | None, moment: Moment
) -> Verdict | None:
    """Why the method does not want the node; None when it does, or nobody can say."""
    if provisioner is None:
        return None
    ttl_s = provisioner.ttl_after_empty_s
    if ttl_s is None:
        # R6: unset means never.
        message = (
            f"provisioner {provisioner.name} does not set ttlSecondsAfterEmpty, or consolidates"
        )
        return _refuse(node, Reason.NOT_CONFIGURED, message)
    machine = view.machine_of(node)
    since = machine.since(MACHINE_EMPTY) if machine is not None else None
    if since is None:
        return _refuse(node, Reason.NOT_EMPTY, f"node {node.name} is not known to be empty")
    left_s = (later(since, ttl_s) - moment.wall).total_seconds()
    if left_s > 0:  # equal counts (spec 3.3)
        message = f"node {node.name} is empty, and goes in {left_s:.0f} s (its TTL is {ttl_s} s)"
        return _refuse(node, Reason.TTL_RUNNING, message, left_s=round(left_s, 1), ttl_s=ttl_s)
    return None


def _refuse(node: Node, reason: Reason, message: str, **evidence: float) -> Verdict:
    return Verdict(
        subject=ref_of(node),
        method=Method.EMPTINESS,
        reason=reason,
        message=message,
        evidence={**evidence},
    )


def _chosen(candidate: Candidate, moment: Moment) -> Verdict:
    since = candidate.machine.since(MACHINE_EMPTY)
    empty_s = round(moment.since_s(since))
    ttl_s = candidate.provisioner.ttl_after_empty_s or 0
    return Verdict(
        subject=ref_of(candidate.node),
        method=Method.EMPTINESS,
        reason=Reason.EMPTY_FOR_TTL,
        message=f"node {candidate.node.name} has been empty for {empty_s} s (its TTL is {ttl_s} s)",
        evidence={"empty_s": empty_s, "ttl_s": ttl_s},
        is_refusal=False,
    )
