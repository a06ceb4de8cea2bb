"""Is room being made on a node for a pod that is not there yet?

There are two kinds. Kube-scheduler's own: a pending pod whose ``status.nominatedNodeName`` names
the node; it lasts as long as the pod says so. And ours: where provisioning has planned a pod to go,
a node or the machine that a node comes from. It is renewed as long as the pod waits, and lasts
until the pod is bound, or some time after it was last renewed (:func:`window_s`).

Must not: place pods.
"""

from __future__ import annotations

from unmoor.model.base import Ref
from unmoor.model.kinds import MACHINES, NODES, PODS
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.observation import Asked
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View


def nominated_for(view: View, node: Node, moment: Moment) -> Pod | None:
    """Return a pod that is on its way to the node, None when there is none (T114)."""
    for pod in view.pods_nominated_to(node.name):
        if not _is_over(pod):
            return pod
    machines = view.machines_of(node.provider_id)
    # T174: what was planned onto a machine holds for the node that has come of it.
    places = [NODES.ref(node.name), *(MACHINES.ref(machine.name) for machine in machines)]
    for place in places:
        for pod in _planned_for(view, place, moment):
            if pod.node_name != node.name:
                return pod
    return None


def window_s(view: View) -> float:
    """Return how long a plan of ours protects a node without being renewed (spec 10.4)."""
    settings = view.settings
    return max(settings.cadence.nomination_least_s, 2 * settings.batch_max_duration_s)


def _planned_for(view: View, place: Ref, moment: Moment) -> list[Pod]:
    answer = view.answer(Asked.NOMINATION, str(place))
    if answer is None or moment.mono >= answer.at.after(window_s(view)):  # T188
        return []
    found = (view.get(PODS, name, namespace) for namespace, name in answer.result or ())
    return [pod for pod in found if pod is not None and _still_comes(view, pod)]


def _still_comes(view: View, pod: Pod) -> bool:
    """It waits for a node, or is to leave one that goes, and another takes its place."""
    if not pod.node_name:
        return not _is_over(pod)
    node = view.node(pod.node_name)
    return not pod.is_terminal and (node is None or node.is_deleting)


def _is_over(pod: Pod) -> bool:
    return pod.is_deleting or pod.is_terminal
