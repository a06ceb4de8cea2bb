"""What a pod asks of a node, in amounts, and what is left on one.

Requests as the scheduler sums them up: containers, sidecars and init containers, the pod's own
resources, overhead. A limit stands in for a missing request.

Must not: compare; ``model.resources`` does.
"""

from __future__ import annotations

from collections.abc import Iterable

from unmoor.model import resources
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.quantity import QuantityError
from unmoor.model.resources import Quantities
from unmoor.model.scheduling import Container, ResourceRequirements

_POD_LEVEL = (resources.CPU, resources.MEMORY)
_HUGE_PAGES = "hugepages-"


def free_on(node: Node, pods: Iterable[Pod]) -> dict[str, int]:
    """Return what is left on ``node`` beside ``pods``; terminal pods hold nothing.

    Terminating pods hold their share until they are gone.
    """
    used = resources.total(requests_of(pod) for pod in pods if not pod.is_terminal)
    return resources.subtract(resources.parse_resources(node.status.allocatable), used)


def requests_of(pod: Pod) -> dict[str, int]:
    """Return what a pod asks of a node: max(init, sum of containers) + overhead, and one pod.

    A sidecar (an init container that restarts always) runs beside everything that starts after it.
    What the pod asks as a whole (``spec.resources``: cpu, memory, huge pages) takes the place of
    what its containers ask. Raises QuantityError naming resource and value, also for less than
    nothing: nobody makes room for others by asking.
    """
    beside: dict[str, int] = {}
    highest: dict[str, int] = {}
    for container in pod.spec.init_containers:
        needed = resources.add(beside, _requests(container))
        highest = resources.largest(highest, needed)
        if container.restart_policy == "Always":
            beside = needed
    running = resources.total((beside, *(_requests(one) for one in pod.spec.containers)))
    asked = {**resources.largest(highest, running)}
    asked |= _of_the_whole(pod.spec.resources, asked)
    overhead = _amounts(pod.spec.overhead)
    return resources.add(asked, overhead, {resources.PODS: 1})


def _of_the_whole(given: ResourceRequirements | None, asked: resources.Resources) -> dict[str, int]:
    """A limit of the whole counts only where neither the pod nor a container says more."""
    if given is None:
        return {}
    limits = _amounts(given.limits)
    whole = {name: amount for name, amount in limits.items() if not asked.get(name)}
    whole |= _amounts(given.requests)
    return {name: amount for name, amount in whole.items() if _is_for_the_whole(name)}


def _is_for_the_whole(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith(_HUGE_PAGES)


def _requests(container: Container) -> dict[str, int]:
    """A limit without a request is a request (the API server's default)."""
    given = container.resources
    return _amounts({**given.limits, **given.requests})


def _amounts(given: Quantities) -> dict[str, int]:
    amounts = resources.parse_resources(given)
    for name, amount in amounts.items():
        if amount < 0:
            raise QuantityError(given[name], f"resource {name}; ask for 0 or more")
    return amounts
