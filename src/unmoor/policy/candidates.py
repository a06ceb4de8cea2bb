"""May this node be considered at all? The checks of spec 2.2, in their order.

Each refusal is a verdict. Those that a person may not expect carry the event
``DeprovisioningBlocked`` for Node and Machine; the silent ones are for ``explain`` alone. Whether
the node's instance type is still on offer (check 8) needs a catalogue and comes with provisioning.

Must not: ask whether a method wants the node.
"""

from __future__ import annotations

from unmoor.model import names
from unmoor.model.kinds import ref_of
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.provisioner import Provisioner, validate
from unmoor.model.snapshot import View
from unmoor.policy import nomination, ownership, pods
from unmoor.policy.command import Candidate
from unmoor.policy.verdict import Method, Reason, Verdict

BLOCKED = "DeprovisioningBlocked"
REQUIRED_LABELS = (names.CAPACITY_TYPE, names.ZONE)


def check(
    view: View, node: Node, method: Method, moment: Moment, *, running: str = ""
) -> Candidate | Verdict:
    """Return the candidate, or why it is none.

    ``running``: the command that already acts on the node, for the look that it takes before it
    becomes irrevocable; without it a node in any command is refused.
    """
    machine = view.machine_of(node)
    if not ownership.is_ours(view, node):
        message = ownership.why_not_ours(view, node)
        return _refuse(node, machine, method, Reason.NOT_OURS, message)
    if machine is None:
        message = f"node {node.name} has no machine, or more than one"
        return _refuse(node, None, method, Reason.NO_MACHINE, message)
    refused = _is_going(node, machine, method, running)
    if refused is None:
        refused = _is_unfinished(node, machine, method)
    if refused is not None:
        return refused
    provisioner = _provisioner(view, node, machine, method)
    if isinstance(provisioner, Verdict):
        return provisioner
    coming = nomination.nominated_for(view, node)
    if coming is not None:
        message = f"it is nominated for the pending pod {coming.namespace}/{coming.name}"
        return _blocked(node, machine, method, Reason.NOMINATED, message)
    limit_s = view.settings.cadence.stuck_terminating_s
    counted = pods.counted(view.pods_on(node.name), moment.wall, limit_s)
    return Candidate(node, machine, provisioner, counted)


def _is_going(node: Node, machine: Machine, method: Method, running: str) -> Verdict | None:
    if node.is_deleting or machine.is_deleting:
        message = f"node {node.name} is being deleted"
        return _refuse(node, machine, method, Reason.BEING_DELETED, message)
    if node.disruption not in {"", running}:
        message = f"node {node.name} is part of disruption {node.disruption}"
        return _refuse(node, machine, method, Reason.IN_DISRUPTION, message)
    return None


def _is_unfinished(node: Node, machine: Machine, method: Method) -> Verdict | None:
    if not node.is_initialized:
        message = f"node {node.name} is not initialized"
        return _refuse(node, machine, method, Reason.NOT_INITIALIZED, message)
    if names.DO_NOT_DISRUPT in node.metadata.annotations:
        message = f'it carries the annotation "{names.DO_NOT_DISRUPT}"; remove it to allow this'
        return _blocked(node, machine, method, Reason.DO_NOT_DISRUPT, message)
    for label in REQUIRED_LABELS:
        if label not in node.metadata.labels:
            message = f'the required label "{label}" is absent'
            return _blocked(node, machine, method, Reason.LABEL_MISSING, message)
    if not node.provisioner_name:
        message = f'node {node.name} has no label "{names.PROVISIONER_NAME}"'
        return _refuse(node, machine, method, Reason.LABEL_MISSING, message)
    return None


def _provisioner(view: View, node: Node, machine: Machine, method: Method) -> Provisioner | Verdict:
    name = node.provisioner_name
    provisioner = view.provisioner(name)
    if provisioner is None:
        message = f'its provisioner "{name}" does not exist'
        return _blocked(node, machine, method, Reason.PROVISIONER_MISSING, message)
    if provisioner.is_deleting:
        # T07: the cascade takes its nodes; nobody else picks victims among them.
        message = f"provisioner {name} is being deleted, and its nodes with it"
        return _refuse(node, machine, method, Reason.BEING_DELETED, message)
    errors = validate(provisioner)
    if errors:
        message = f"its provisioner is not valid: {errors[0]}"
        return _blocked(node, machine, method, Reason.PROVISIONER_INVALID, message)
    return provisioner


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
