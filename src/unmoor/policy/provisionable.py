"""Which pods need a place that is not there, or will not be there much longer? (spec 9.1, 9.2)

| pod | counts | why |
|---|---|---|
| the scheduler has found no place for it, and says so | yes | nobody else will make one |
| the same, of a scheduler that is not Kubernetes' | yes | the same (R40) |
| the scheduler has not looked at it yet, or not in vain | no | there may be a place |
| the scheduler makes room for it on a node that stays | no | there is a place |
| gated, deleted, finished | no | it is not to run now |
| of a DaemonSet, or static | no | it belongs to the node that it is on, or to none |
| asks for a node of no provisioner | no | its owner does not want one of ours |
| on a node of ours that goes, owned by who makes another | yes | that needs a place (T216) |
| the same, without an owner | no | nobody makes another (R38) |

Must not: ask whether a place can be made; that is the engine's question.
"""

from __future__ import annotations

import msgspec

from unmoor.model import names
from unmoor.model.kinds import NODES, ref_of
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.requirement import DOES_NOT_EXIST
from unmoor.model.scheduling import SCHEDULE_ANYWAY
from unmoor.model.snapshot import View
from unmoor.model.wording import joined
from unmoor.policy import ownership, pods
from unmoor.policy.verdict import Method, Reason, Verdict


class Wanting(msgspec.Struct, frozen=True):
    """The pods that need a place, both by (namespace, name), and why others do not count.

    ``pending`` wait for a node; ``leaving`` are on a node that goes.
    """

    pending: tuple[Pod, ...] = ()
    leaving: tuple[Pod, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def pods(self) -> tuple[Pod, ...]:
        """All of them."""
        return (*self.pending, *self.leaving)


def find(view: View, moment: Moment) -> Wanting:
    """Look at every pod that could need a place."""
    pending, verdicts = [], []
    for pod in view.pods_without_node():
        why = why_not(view, pod)
        if not why:
            pending.append(pod)
        elif pod.is_unschedulable:
            verdicts.append(_left_out(pod, why))
    return Wanting(tuple(pending), leaving(view, moment), tuple(verdicts))


def why_not(view: View, pod: Pod) -> str:
    """Say why no place is made for a pod without a node, "" when it counts."""
    if pod.is_gated:
        gates = joined(gate.name for gate in pod.spec.scheduling_gates)
        return f"it is not to be scheduled yet: somebody has to lift its gate {gates}"
    if pod.is_deleting or pod.is_terminal:
        return "it is not to run any more"
    if pod.is_of_its_node:
        return "it belongs to a node of its own"
    if _has_room_made(view, pod):
        return f"the scheduler makes room for it on node {pod.nominated_to}"
    if not pod.is_unschedulable:
        return "the scheduler has not said that there is no place for it"
    if _opts_out(pod):
        return f'it asks for a node without the label "{names.PROVISIONER_NAME}"'
    return ""


def _has_room_made(view: View, pod: Pod) -> bool:
    """The scheduler does not take back its word when the node goes."""
    node = view.node(pod.nominated_to) if pod.nominated_to else None
    return node is not None and not node.is_deleting


def leaving(view: View, moment: Moment) -> tuple[Pod, ...]:
    """Return the pods of nodes of ours that are being deleted, for which there will be others.

    One that terminates has its successor already, or gets it when it is gone: that one waits for a
    node itself.
    """
    patience = pods.Patience(view.settings.cadence.stuck_terminating_s)
    going = sorted(node.name for node in view.all(NODES).values() if _is_going(view, node))
    found = [
        pod
        for name in going
        for pod in view.pods_on(name)
        if pods.standing_of(pod, moment, patience) is pods.ORDINARY and not pod.is_naked
    ]
    return tuple(sorted(found, key=lambda pod: pod.key))


def _is_going(view: View, node: Node) -> bool:
    machines = view.machines_of(node.provider_id)
    is_going = node.is_deleting or any(machine.is_deleting for machine in machines)
    return is_going and ownership.is_ours(view, node)


def _opts_out(pod: Pod) -> bool:
    """Each alternative of what it requires says so (spec 9.2)."""
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    terms = required.node_selector_terms if required is not None else ()
    return bool(terms) and all(
        any(
            names.normalised(one.key) == names.PROVISIONER_NAME and one.operator == DOES_NOT_EXIST
            for one in term.match_expressions
        )
        for term in terms
    )


# 001:68: people are made aware of what hinders consolidation.


def hindrance(pod: Pod) -> str:
    """Say which preference of a pod may keep its node from being consolidated, "" for none."""
    affinity = pod.spec.affinity
    apart = affinity.pod_anti_affinity if affinity is not None else None
    if apart is not None and apart.preferred:
        return "prefers to be apart from other pods (preferred anti-affinity)"
    for constraint in pod.spec.topology_spread_constraints:
        if constraint.when_unsatisfiable == SCHEDULE_ANYWAY:
            return (
                f"prefers to be spread over {constraint.topology_key} "
                f"(whenUnsatisfiable: {SCHEDULE_ANYWAY})"
            )
    return ""


def _left_out(pod: Pod, why: str) -> Verdict:
    return Verdict(
        subject=ref_of(pod),
        method=Method.PROVISIONING,
        reason=Reason.NOT_PROVISIONABLE,
        message=f"no node is made for pod {pod.namespace}/{pod.name}: {why}",
    )
