"""May this pod run on that node, now? And if not: what refuses it, and by how much.

Plain Python, one question per function, in the order in which a person would look: is the node
open, does the pod put up with its taints, does it want such a node, is there room. Every reason is
given, not only the first, because "no" has to be explained. Whoever places pods in bulk must agree
with this file.

Must not: choose between nodes, know preferences, or look at other pods than those on the node.
"""

from __future__ import annotations

from collections.abc import Iterable

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.model import names, resources, taint
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.resources import Resources
from unmoor.model.scheduling import Container
from unmoor.model.selector import SelectorError
from unmoor.model.taint import Taint

_CORDON = Taint(key=names.UNSCHEDULABLE, effect=taint.NO_SCHEDULE)


def refusals(pod: Pod, node: Node, free: Resources) -> tuple[Refusal, ...]:
    """Return every reason against ``pod`` on ``node`` with ``free`` resources; () means it may run.

    ``free`` is what :func:`free_on` says, less whatever the caller has already promised away.
    """
    return (*placement_refusals(pod, node), *room_refusals(requests_of(pod), free))


def placement_refusals(pod: Pod, node: Node) -> tuple[Refusal, ...]:
    """Return the reasons that no amount of room would change (a DaemonSet asks only for these)."""
    return (*_closed(pod, node), *_taints(pod, node), *_selector(pod, node), *_affinity(pod, node))


def room_refusals(requests: Resources, free: Resources) -> tuple[Refusal, ...]:
    """Return the reasons that more room would remove, sorted by resource."""
    return tuple(
        Refusal(Constraint.RESOURCES, name, f"{resources.render_amount(name, short)} short", short)
        for name, short in sorted(resources.lacking(requests, free).items())
    )


def free_on(node: Node, pods: Iterable[Pod]) -> dict[str, int]:
    """Return what is left on ``node`` beside ``pods``; terminal pods hold nothing.

    Terminating pods hold their share until they are gone.
    """
    used = resources.total(requests_of(pod) for pod in pods if not pod.is_terminal)
    return resources.subtract(resources.parse_resources(node.status.allocatable), used)


def requests_of(pod: Pod) -> dict[str, int]:
    """Return what a pod asks of a node: max(init, sum of containers) + overhead, and one pod.

    A sidecar (an init container that restarts always) runs beside everything that starts after it.
    """
    beside: dict[str, int] = {}
    highest: dict[str, int] = {}
    for container in pod.spec.init_containers:
        needed = resources.add(beside, _requests(container))
        highest = resources.largest(highest, needed)
        if container.restart_policy == "Always":
            beside = needed
    running = resources.total((beside, *(_requests(one) for one in pod.spec.containers)))
    overhead = resources.parse_resources(pod.spec.overhead)
    return resources.add(resources.largest(highest, running), overhead, {resources.PODS: 1})


def _requests(container: Container) -> dict[str, int]:
    """A limit without a request is a request (the API server's default)."""
    given = container.resources
    return resources.parse_resources({**given.limits, **given.requests})


def _closed(pod: Pod, node: Node) -> Iterable[Refusal]:
    if node.is_cordoned and not taint.tolerates_all(pod.spec.tolerations, (_CORDON,)):
        yield Refusal(Constraint.UNSCHEDULABLE, node.name, "the node is cordoned")


def _taints(pod: Pod, node: Node) -> Iterable[Refusal]:
    """The cordon's own taint says nothing new about a cordoned node."""
    for one in node.spec.taints:
        if node.is_cordoned and taint.is_same(one, _CORDON):
            continue
        if not taint.tolerates_all(pod.spec.tolerations, (one,)):
            yield Refusal(Constraint.TAINT, one.identity_text, f"no toleration for {one}")


def _selector(pod: Pod, node: Node) -> Iterable[Refusal]:
    labels = node.metadata.labels
    for key, wanted in sorted(pod.spec.node_selector.items()):
        found = labels.get(key)
        if found != wanted:
            has = "no such label" if found is None else f"has {found}"
            yield Refusal(Constraint.NODE_SELECTOR, key, f"wants {wanted}, {has}")


def _affinity(pod: Pod, node: Node) -> Iterable[Refusal]:
    """A selector that cannot be evaluated matches no node."""
    affinity = pod.spec.affinity
    wanted = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    if wanted is None:
        return
    try:
        if wanted.matches(node.metadata.labels, node.name):
            return
        missing = " or ".join(
            ", ".join(str(one) for one in (*term.match_expressions, *term.match_fields))
            for term in wanted.node_selector_terms
        )
    except SelectorError as error:
        missing = str(error)
    yield Refusal(Constraint.NODE_AFFINITY, node.name, f"wants {missing or 'no node at all'}")
