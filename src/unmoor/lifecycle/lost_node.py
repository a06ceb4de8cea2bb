"""A machine whose node somebody took away by force, finalizer and all: what becomes of it? (R32)

Its instance runs on, and somebody pays for it, while Kubernetes lets go of the pods that were bound
to the node. A kubelet that is restarted brings the node back, so a person is told at once until
when that helps. Then the machine is given up, like one that nobody ever joined.

Silence proves nothing: the server is asked for the node before it counts as lost, and for the node
and its pods before the end.

Must not: give up a machine while any word says that its node, or a pod on it, is there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from unmoor.lifecycle import roll_call, whereabouts
from unmoor.lifecycle.launch import given_up
from unmoor.lifecycle.step import Step, spoken
from unmoor.model.kinds import NODES, ref_of
from unmoor.model.machine import MACHINE_REGISTERED, Machine
from unmoor.model.moment import Moment, later, rfc3339
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict


def is_losing(view: View, machine: Machine) -> bool:
    """True when a registered machine has lost its node.

    One whose instance is going anyway is garbage collection's.
    """
    is_going = whereabouts.is_going(view, machine.provider_id)
    return not is_going and has_lost_its_node(view, machine)


def has_lost_its_node(view: View, machine: Machine) -> bool:
    """True when a machine that had a node has none, nor one that may turn out to be its own.

    A kubelet that registers once more may do so before the cloud has said which machine it is on.
    """
    if not machine.node_name or view.nodes_of(machine.provider_id) or view.broken(NODES):
        return False
    named = view.node(machine.node_name)
    return named is None or bool(named.provider_id)


def without_since(machine: Machine, moment: Moment) -> datetime:
    """Return since when a machine has no node; a time in the API, so a restart changes nothing."""
    condition = machine.condition(MACHINE_REGISTERED)
    since = None if condition is None or condition.is_true else condition.last_transition_time
    return since or moment.wall  # nobody has looked at it yet: the clock begins now


def ask(view: View, machine: Machine, moment: Moment) -> Step[Any] | None:
    """Ask the server for the node; None once it has said that there is none."""
    return roll_call.step_for(view, roll_call.node_of(view, machine), 0.0, moment)


def tell(view: View, machine: Machine, moment: Moment) -> Step[Any]:
    """Say until when the node may come back."""
    if not has_lost_its_node(view, machine):
        return Step()
    until = later(without_since(machine, moment), view.settings.cadence.lost_node_limit_s)
    verdict = _lost(
        machine,
        f"node {machine.node_name} of machine {machine.name} is gone, and nobody let it go: "
        f"restart its kubelet, which brings it back; if no node joins until {rfc3339(until)} "
        "(cadence.lostNodeLimit), the machine is given up and its instance ended",
    )
    return spoken(verdict)


def give_up(view: View, machine: Machine, moment: Moment) -> Step[Any]:
    """Delete a machine that has been without its node for too long, unless pods are bound there."""
    asking = ask(view, machine, moment)
    if asking is not None:
        return asking
    if view.node(machine.node_name) is None:  # else the pods are another machine's
        question = roll_call.pods_of_lost(view, machine)
        asking = roll_call.step_for(view, question, 0.0, moment)
        if asking is not None:
            return asking
        if pods := _pods_left(view, machine):
            return _keep(view, machine, pods, moment)
    limit_min = view.settings.cadence.lost_node_limit_s / 60
    verdict = _lost(
        machine,
        f"node {machine.node_name} of machine {machine.name} has been gone for {limit_min:g} min, "
        "and none has joined: the machine is given up and its instance ended",
    )
    return given_up(machine, verdict, why="its node did not come back", counted_as="liveness")


def _pods_left(view: View, machine: Machine) -> tuple[str, ...]:
    """Return who may still run there, by name; Kubernetes ends the pods of a node that is gone."""
    bound = [pod.key for pod in view.pods_on(machine.node_name) if not pod.is_terminal]
    unreadable = [key for key, _ in view.unreadable_pods_on(machine.node_name)]
    return tuple("/".join(key) for key in sorted({*bound, *unreadable}))


def _keep(view: View, machine: Machine, pods: tuple[str, ...], moment: Moment) -> Step[Any]:
    verdict = _lost(
        machine,
        f"node {machine.node_name} of machine {machine.name} has been gone for too long "
        f"(cadence.lostNodeLimit), but pod {pods[0]} is bound to it: the machine is kept until no "
        "pod is; restart its kubelet, or delete the pods if they run no more",
    )
    again = moment.after(view.settings.cadence.resync_s)
    counted = msgspec.structs.replace(verdict, evidence={**verdict.evidence, "pods": len(pods)})
    return spoken(counted, wake_at=again)


def _lost(machine: Machine, message: str) -> Verdict:
    return Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.NODE_LOST,
        message=message,
        evidence={"provider_id": machine.provider_id, "node": machine.node_name},
        event="NodeLost",
        is_warning=True,
    )
