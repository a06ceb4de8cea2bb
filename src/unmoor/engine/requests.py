"""What a pod asks of a node, and what it uses of the one that it is on, in amounts.

Requests as the scheduler sums them up: containers, sidecars and init containers, the pod's own
resources, overhead. A limit stands in for a missing request.

Must not: compare; ``model.resources`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from unmoor.model import resources
from unmoor.model.pod import Pod, PodSpec, PodStatus
from unmoor.model.quantity import QuantityError
from unmoor.model.resources import Quantities, Resources
from unmoor.model.scheduling import Container, ContainerStatus, ResourceRequirements

Asked: TypeAlias = Callable[[Container], Resources]

_POD_LEVEL = (resources.CPU, resources.MEMORY)
_HUGE_PAGES = "hugepages-"
_SIDECAR = "Always"


def requests_of(pod: Pod) -> dict[str, int]:
    """Return what a pod asks of a node: max(init, sum of containers) + overhead, and one pod.

    A sidecar (an init container that restarts always) runs beside everything that starts after it.
    What the pod asks as a whole (``spec.resources``: cpu, memory, huge pages) takes the place of
    what its containers ask. Raises QuantityError naming resource and value, also for less than
    nothing: nobody makes room for others by asking.
    """
    asked = _of_containers(pod, _requests)
    return _with_overhead(pod, asked | _of_the_whole(pod.spec.resources, asked))


def used_by(pod: Pod) -> dict[str, int]:
    """Return what a pod uses of the node that it is on. Raises as ``requests_of`` does.

    A pod that is resized in place uses the most of what it asks for, what its kubelet has granted
    and what it runs with, each resource for itself; where the node will never give it what it asks
    for, what it asks for counts for nothing (KEP 1287). Its successor asks for the new amounts.
    """
    if not is_resized(pod):
        return requests_of(pod)
    status = pod.status
    given = {one.name: one for one in (*status.container_statuses, *status.init_container_statuses)}
    is_refused = pod.is_resize_infeasible

    def has(container: Container) -> Resources:
        found = given.get(container.name)
        if found is None or found.resources is None:
            return _requests(container)
        if _is_as_asked(container.resources, found):
            return _requests(container)
        granted = (found.resources.requests, found.allocated_resources)
        return _most(_requests(container), granted, is_refused=is_refused)

    held = _of_containers(pod, has)
    if pod.spec.resources is None:
        return _with_overhead(pod, held)
    whole = _of_the_whole(pod.spec.resources, _of_containers(pod, _requests))
    if status.resources is not None:
        granted = (status.resources.requests, status.allocated_resources)
        most = _most(whole, granted, is_refused=is_refused)
        whole = {name: most.get(name, 0) for name in whole}
    return _with_overhead(pod, held | whole)


def is_resized(pod: Pod) -> bool:
    """True when a kubelet has granted something else than what is asked for."""
    status, whole = pod.status, pod.spec.resources
    statuses = [
        one
        for one in (*status.container_statuses, *status.init_container_statuses)
        if one.resources is not None
    ]
    if statuses:
        asked = {one.name: one for one in (*pod.spec.containers, *pod.spec.init_containers)}
        for one in statuses:
            if one.name in asked and not _is_as_asked(asked[one.name].resources, one):
                return True
    return whole is not None and status.resources is not None and not _is_as_asked(whole, status)


def _is_as_asked(asked: ResourceRequirements, status: ContainerStatus | PodStatus) -> bool:
    runs_with = status.resources.requests if status.resources is not None else {}
    return asked.requests == runs_with == status.allocated_resources


def _most(
    asked: Resources, granted: tuple[Quantities, Quantities], *, is_refused: bool
) -> Resources:
    amounts = [_amounts(one) for one in granted]
    return resources.largest(*amounts) if is_refused else resources.largest(asked, *amounts)


def _of_containers(pod: Pod, asked: Asked) -> dict[str, int]:
    """What is resized in place are containers and sidecars; other init containers run once."""
    beside: dict[str, int] = {}
    highest: dict[str, int] = {}
    for container in pod.spec.init_containers:
        is_sidecar = container.restart_policy == _SIDECAR
        needed = resources.add(beside, asked(container) if is_sidecar else _requests(container))
        highest = resources.largest(highest, needed)
        if is_sidecar:
            beside = needed
    running = resources.total((beside, *(asked(one) for one in pod.spec.containers)))
    return {**resources.largest(highest, running)}


def _with_overhead(pod: Pod, asked: Resources) -> dict[str, int]:
    return resources.add(asked, _amounts(pod.spec.overhead), {resources.PODS: 1})


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


class Requests:
    """Remembers what pods ask for: those of a workload share what decides it.

    Dropping it costs time only.
    """

    def __init__(self) -> None:
        """Know nothing."""
        self.names: set[str] = set()
        """Every resource that one of them asks for."""
        self._known: dict[tuple[int, int, int, int], tuple[PodSpec, Resources]] = {}

    def of(self, pod: Pod) -> Resources:
        """Return what ``requests_of`` does, and raise as it does."""
        spec = pod.spec
        parts = (spec.containers, spec.init_containers, spec.resources, spec.overhead)
        face = (id(parts[0]), id(parts[1]), id(parts[2]), id(parts[3]))
        found = self._known.get(face)
        if found is None:
            # The spec is kept, so that nothing else can be where its parts are.
            found = self._known[face] = (spec, requests_of(pod))
            self.names |= found[1].keys()
        return found[1]

    def used_by(self, pod: Pod) -> Resources:
        """Return what ``used_by`` does, and raise as it does."""
        asked = self.of(pod)
        return used_by(pod) if is_resized(pod) else asked
