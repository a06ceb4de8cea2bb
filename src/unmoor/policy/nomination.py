"""Is room being made on a node for a pod that is not there yet?

There are two kinds. Kube-scheduler's own: a pending pod whose ``status.nominatedNodeName`` names
the node; it lasts as long as the pod says so. And ours: where provisioning has planned a pod to go,
a node or the machine that a node comes from. It is renewed as long as the pod waits, and lasts
until the pod is bound, or some time after it was last renewed (:func:`window_s`).

A machine that comes up is kept for whom it was planned for as long as they wait, whoever comes
later (:func:`promised`).

Must not: place pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from unmoor.engine.scene import Scene, machine_of_site
from unmoor.model import names
from unmoor.model.base import Key, Ref
from unmoor.model.kinds import MACHINES, NODES, PODS
from unmoor.model.machine import Machine
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


def expected_on(view: View, machine: Machine, moment: Moment) -> Pod | None:
    """Return a pod that is planned onto a machine that has no node yet, None for none."""
    return next(iter(_planned_for(view, MACHINES.ref(machine.name), moment)), None)


def window_s(view: View) -> float:
    """Return how long a plan of ours protects a node without being renewed (spec 10.4)."""
    settings = view.settings
    return max(settings.cadence.nomination_least_s, 2 * settings.batch_max_duration_s)


def promised(view: View, scene: Scene, pods: Iterable[Pod]) -> dict[Key, str]:
    """Return which of these pods have a place that is coming up: pod key to its name in the scene.

    The latest plan counts; those of one place are in the order in which it has put them there.
    Where no plan is known, as after a restart, it is what is written on the machine: whom it was
    made for.
    """
    found: dict[Key, str] = {}
    planned_at: dict[Key, float] = {}
    waiting = {pod.key for pod in pods}
    for name, ref, machine in _coming_up(view, scene):
        answer = view.answer(Asked.NOMINATION, str(ref))
        at = -inf if answer is None else answer.at.mono
        keys = written(machine) if answer is None else answer.result or ()
        for key in keys:
            if key in waiting and (key not in found or at > planned_at[key]):
                found.pop(key, None)
                found[key], planned_at[key] = name, at
    return found


def written(machine: Machine | None) -> tuple[Key, ...]:
    """Return whom a machine was made for, as it says itself; what means nothing is nobody."""
    text = "" if machine is None else machine.metadata.annotations.get(names.MADE_FOR, "")
    parts = (one.strip().partition("/") for one in text.split(","))
    return tuple((namespace, name) for namespace, _, name in parts)


def _coming_up(view: View, scene: Scene) -> Iterator[tuple[str, Ref, Machine | None]]:
    """Yield the places and started machines of a scene that take pods later, as they were called.

    What was planned onto a machine holds for the node that has come of it (T174).
    """
    for place in scene.places:
        if place.is_initialized:
            continue
        node = view.node(place.name) if place.is_node else None
        if node is None:
            called = machine_of_site(place.name)
            yield place.name, MACHINES.ref(called), view.machine(called)
            continue
        yield place.name, NODES.ref(place.name), None
        for machine in view.machines_of(node.provider_id):
            yield place.name, MACHINES.ref(machine.name), machine
    for started in scene.started:
        called = machine_of_site(started.name)
        yield started.name, MACHINES.ref(called), view.machine(called)


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
