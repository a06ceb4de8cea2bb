"""May this node go, if a method wants it to? The checks of spec 2.2 and 2.3, in their order.

First comes what makes a node none at all, which is for ``explain`` alone. Then the method is asked.
What blocks a node that the method wants is told as the event ``DeprovisioningBlocked`` on Node and
Machine, since a person may not expect it. Among it is what protects pods, so that no method can
forget it: a budget that is exhausted, and the do-not-evict annotation. Whether the node's instance
type is still on offer (check 8) needs a catalogue and comes with provisioning.

Must not: know any method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from unmoor.model import names
from unmoor.model.kinds import NODES, ref_of
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment, later, rfc3339
from unmoor.model.node import Node
from unmoor.model.provisioner import validate
from unmoor.model.snapshot import View
from unmoor.policy import backoff, drain, nomination, observing, ownership, pause, pods
from unmoor.policy.command import Candidate, Found, Judged
from unmoor.policy.verdict import Method, Reason, Verdict

BLOCKED = "DeprovisioningBlocked"
REQUIRED_LABELS = (names.CAPACITY_TYPE, names.ZONE)

Wants: TypeAlias = Callable[[Candidate, Moment], Verdict]
"""What a method says of one node: a refusal, or a verdict that is none when it wants the node."""


def find(view: View, method: Method, wants: Wants, moment: Moment) -> Found:
    """Look at every node for one method."""
    judged = (judge(view, node, method, wants, moment) for node in view.sorted(NODES))
    return Found(method, tuple(judged))


def judge(
    view: View, node: Node, method: Method, wants: Wants, moment: Moment, *, running: str = ""
) -> Judged:
    """Return the candidate, or why it is none.

    ``running``: the command that already acts on the node, for the look that it takes before it
    becomes irrevocable; without it a node in any command is refused.
    """
    machine = view.machine_of(node)
    if machine is None or not ownership.is_ours(view, node):
        return Judged(_is_foreign(view, node, machine, method))
    machine = observing.as_supposed(view, machine)
    out = _is_out(view, node, machine, method, running)
    if out is not None:
        return Judged(out)
    provisioner = view.provisioner(node.provisioner_name)
    if provisioner is None:
        # Nobody can say whether a method wants it; that is told.
        message = f'its provisioner "{node.provisioner_name}" does not exist'
        missing = _blocked(node, machine, method, Reason.PROVISIONER_MISSING, message)
        return Judged(_is_protected(node, machine, method) or missing)
    counted = pods.counted(view.pods_on(node.name), moment, _patience(view))
    candidate = Candidate(node, machine, provisioner, counted)
    verdict = wants(candidate, moment)
    if verdict.is_refusal:
        return Judged(verdict)
    blocked = (
        _is_protected(node, machine, method)
        or _is_held(view, candidate, method, moment)
        or _is_blocked_by_pods(view, candidate, method, moment)
    )
    return Judged(verdict, candidate) if blocked is None else Judged(blocked)


# What makes a node no candidate, whatever a method wants.


def _is_foreign(view: View, node: Node, machine: Machine | None, method: Method) -> Verdict:
    if not ownership.is_ours(view, node):
        message = ownership.why_not_ours(view, node)
        return _refuse(node, machine, method, Reason.NOT_OURS, message)
    message = f"node {node.name} has no machine, or more than one"
    return _refuse(node, machine, method, Reason.NO_MACHINE, message)


def _is_out(
    view: View, node: Node, machine: Machine, method: Method, running: str
) -> Verdict | None:
    if node.is_deleting or machine.is_deleting:
        message = f"node {node.name} is being deleted"
        return _refuse(node, machine, method, Reason.BEING_DELETED, message)
    if node.disruption not in {"", running}:
        message = f"node {node.name} is part of disruption {node.disruption}"
        return _refuse(node, machine, method, Reason.IN_DISRUPTION, message)
    if not node.is_initialized:
        message = f"node {node.name} is not initialized"
        return _refuse(node, machine, method, Reason.NOT_INITIALIZED, message)
    if not node.provisioner_name:
        message = f'node {node.name} has no label "{names.PROVISIONER_NAME}"'
        return _refuse(node, machine, method, Reason.LABEL_MISSING, message)
    provisioner = view.provisioner(node.provisioner_name)
    if provisioner is not None and provisioner.is_deleting:
        # T07: the cascade takes its nodes; nobody else picks victims among them.
        message = f"provisioner {provisioner.name} is being deleted, and its nodes with it"
        return _refuse(node, machine, method, Reason.BEING_DELETED, message)
    return None


# What blocks a node that a method wants.


def _is_protected(node: Node, machine: Machine, method: Method) -> Verdict | None:
    if names.DO_NOT_DISRUPT in node.metadata.annotations:
        message = f'it carries the annotation "{names.DO_NOT_DISRUPT}"; remove it to allow this'
        return _blocked(node, machine, method, Reason.DO_NOT_DISRUPT, message)
    for label in REQUIRED_LABELS:
        if label not in node.metadata.labels:
            message = f'the required label "{label}" is absent'
            return _blocked(node, machine, method, Reason.LABEL_MISSING, message)
    return None


def _is_held(view: View, candidate: Candidate, method: Method, moment: Moment) -> Verdict | None:
    node, machine = candidate.node, candidate.machine
    if paused := pause.why(view, node, candidate.provisioner, moment):
        return _blocked(node, machine, method, Reason.PAUSED, paused)
    errors = validate(candidate.provisioner)
    if errors:
        message = f"its provisioner is not valid: {errors[0]}"
        return _blocked(node, machine, method, Reason.PROVISIONER_INVALID, message)
    coming = nomination.nominated_for(view, node, moment)
    if coming is not None:
        message = f"it is nominated for the pending pod {coming.namespace}/{coming.name}"
        return _blocked(node, machine, method, Reason.NOMINATED, message)
    respect_s = view.settings.cadence.uncordon_respect_s
    if words := _is_unreplaced(view, candidate, method, moment):
        return _blocked(node, machine, method, Reason.REPLACEMENT_FAILED, words)
    for command in view.disruptions_without(node.uid):
        since = command.status.finished_at
        is_over = since is None or not moment.is_recent(since, respect_s)
        if since is None or is_over or node.uid in command.unreplaced:
            continue
        until = later(since, respect_s)
        if node.uid in command.taken_back:
            message = (
                f"a person took it back from disruption {command.name}; "
                f"it is left alone until {rfc3339(until)}"
            )
            return _blocked(node, machine, method, Reason.TAKEN_BACK, message)
        why = command.status.left_out[node.name].message
        message = (
            f"disruption {command.name} went on without it: {why}; "
            f"it is left alone until {rfc3339(until)}"
        )
        return _blocked(node, machine, method, Reason.WRITE_REFUSED, message)
    return None


def _is_unreplaced(view: View, candidate: Candidate, method: Method, moment: Moment) -> str:
    """What was to replace it did not come up: the same is not tried again at once.

    An empty node needs no replacement, and what another method wants may be another one.
    """
    cadence, uid = view.settings.cadence, candidate.node.uid
    failed = [
        (command.status.finished_at, command.name)
        for command in view.disruptions_without(uid)
        if uid in command.unreplaced
        and command.spec.method == method
        and command.status.finished_at is not None
        and backoff.is_counted(command.status.finished_at, cadence, moment)
    ]
    until = backoff.until((ended for ended, _ in failed), cadence, moment)
    if until is None or not candidate.pods:
        return ""
    _, name = max(failed)
    return f"its replacement in disruption {name} failed; it is left alone until {rfc3339(until)}"


def _is_blocked_by_pods(
    view: View, candidate: Candidate, method: Method, moment: Moment
) -> Verdict | None:
    """Spec 2.3 as ruled: a budget first, then the annotation; of those pods that may block.

    A pod that cannot be read may be any pod.
    """
    node, machine = candidate.node, candidate.machine
    if unreadable := view.unreadable_pods_on(node.name):
        message = pods.about_unreadable(*unreadable[0])
        return _blocked(node, machine, method, Reason.UNREADABLE_POD, message)
    blocking = pods.blocking(candidate.pods, moment, _patience(view))
    for pod in blocking:
        budgets = drain.budgets_over(view, pod)
        if len(budgets) > 1:
            message = drain.about_budgets(pod, budgets)
            return _blocked(node, machine, method, Reason.TWO_BUDGETS, message)
        if any(drain.is_exhausted(budget, pod) for budget in budgets):
            message = drain.about_budgets(pod, budgets)
            held = _blocked(node, machine, method, Reason.BUDGET, message)
            name = f"{budgets[0].namespace}/{budgets[0].name}"
            return msgspec.structs.replace(held, evidence={**held.evidence, "budget": name})
    for pod in blocking:
        if pod.is_do_not_evict:
            message = (
                f"pod {pod.namespace}/{pod.name} carries the annotation "
                f'"{names.DO_NOT_EVICT}"; remove it to allow this'
            )
            return _blocked(node, machine, method, Reason.DO_NOT_EVICT, message)
    return None


def _patience(view: View) -> pods.Patience:
    return pods.Patience(view.settings.cadence.stuck_terminating_s)


def _refuse(
    node: Node, machine: Machine | None, method: Method, reason: Reason, message: str
) -> Verdict:
    return Verdict(
        subject=ref_of(node),
        method=method,
        reason=reason,
        message=message,
        evidence={"machine": machine.name if machine is not None else ""},
    )


def _blocked(node: Node, machine: Machine, method: Method, reason: Reason, message: str) -> Verdict:
    """A refusal that is told on Node and Machine (10.2)."""
    return Verdict(
        subject=ref_of(node),
        method=method,
        reason=reason,
        message=f"{method} is blocked: {message}",
        evidence={"machine": machine.name},
        event=BLOCKED,
        also_on=(ref_of(machine),),
    )
