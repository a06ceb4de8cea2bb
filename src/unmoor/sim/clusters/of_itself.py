"""What else can a pod be? How much it asks for and in which way, and what it is worth.

Must not: look at nodes or other pods.
"""

from __future__ import annotations

from unmoor.model import kinds, names, resources
from unmoor.model.base import JSON
from unmoor.model.names import TRUE
from unmoor.model.resources import CPU, MEMORY
from unmoor.sim.clusters import bodies
from unmoor.sim.clusters.apps import App, Constrain, Scene, append
from unmoor.sim.clusters.bodies import MIB
from unmoor.sim.clusters.mix import Kind
from unmoor.sim.clusters.nodes import DEVICE
from unmoor.sim.manifests import Manifest, budget
from unmoor.sim.stored import STORED

SANDBOX = "sandbox"
OVERHEAD = {"cpu": "100m", "memory": "64Mi"}
PRIORITIES: dict[str, tuple[int, str]] = {
    "important": (1000, "PreemptLowerPriority"),
    "spare": (-10, "Never"),
}
"""Value and preemption policy of each PriorityClass."""


def init_container(app: App, turn: int, scene: Scene) -> None:
    """Asks for half of what the pod asks for, or for more than that."""
    del scene
    cpu, memory = app.size
    if turn % 2:
        cpu, memory = cpu + 250, memory + 128
    else:
        cpu, memory = cpu // 2, memory // 2
    init = bodies.container("init", cpu_milli=cpu, memory_mib=memory)
    append(app.spec, ("initContainers",), init)


def sidecar(app: App, turn: int, scene: Scene) -> None:
    """Starts before all other init containers, or after them."""
    del scene
    inits = app.spec.setdefault("initContainers", [])
    one = bodies.container("sidecar", cpu_milli=50, memory_mib=64, restartPolicy="Always")
    inits.insert(0 if turn % 2 else len(inits), one)


def overhead(app: App, turn: int, scene: Scene) -> None:
    """What its RuntimeClass costs."""
    del turn, scene
    app.spec |= {"runtimeClassName": SANDBOX, "overhead": OVERHEAD}


def limits_only(app: App, turn: int, scene: Scene) -> None:
    """Limits that stand in for requests: for all of them, or for memory alone."""
    del scene
    asked = app.main["resources"]["requests"]
    if turn % 2:
        app.main["resources"] = {"limits": asked}
    else:
        app.main["resources"] = {
            "limits": {"memory": asked["memory"]},
            "requests": {"cpu": asked["cpu"]},
        }


def extended_resource(app: App, turn: int, scene: Scene) -> None:
    """One device, or two."""
    del scene
    given = app.main["resources"]
    count = str(1 + turn % 2)
    for part in ("limits", "requests"):
        given[part] = {**given.get(part, {}), DEVICE: count}


def pod_resources(app: App, turn: int, scene: Scene) -> None:
    """What the whole pod asks for: as much as its containers, or half as much again."""
    del scene
    needed = most_asked(app.spec, with_overhead=False)
    cpu, memory = needed[CPU], needed[MEMORY] // MIB
    if turn % 2:
        cpu, memory = cpu * 3 // 2, memory * 3 // 2
    app.spec["resources"] = {"requests": bodies.amounts(cpu, memory)}


def priority(app: App, turn: int, scene: Scene) -> None:
    """One of the classes."""
    del scene
    name = sorted(PRIORITIES)[turn % len(PRIORITIES)]
    value, policy = PRIORITIES[name]
    app.spec |= {"priorityClassName": name, "priority": value, "preemptionPolicy": policy}


def do_not_evict(app: App, turn: int, scene: Scene) -> None:
    """Its pods are not to be evicted."""
    del turn, scene
    app.annotations = {**app.annotations, names.DO_NOT_EVICT: TRUE}


def gate(app: App, turn: int, scene: Scene) -> None:
    """Somebody has not agreed yet."""
    del turn, scene
    append(app.spec, ("schedulingGates",), {"name": "example.com/quota"})


def _nothing_more(app: App, turn: int, scene: Scene) -> None:
    """Being of the kind is all."""
    del app, turn, scene


HOW: dict[Kind, Constrain] = {
    Kind.INIT_CONTAINER: init_container,
    Kind.SIDECAR: sidecar,
    Kind.OVERHEAD: overhead,
    Kind.LIMITS_ONLY: limits_only,
    Kind.EXTENDED_RESOURCE: extended_resource,
    Kind.POD_RESOURCES: pod_resources,
    Kind.PRIORITY: priority,
    Kind.BUDGET: _nothing_more,
    Kind.DO_NOT_EVICT: do_not_evict,
    Kind.NAKED: _nothing_more,
    Kind.GATE: gate,
}


def most_asked(spec: JSON, *, with_overhead: bool = True) -> dict[str, int]:
    """At least what a pod asks for, however one reads it: what fits like this fits in any case.

    All sidecars run beside the containers, and beside each init container. The pod's own requests
    count if they are more.
    """
    inits = spec.get("initContainers", ())
    beside = resources.total(_of(one) for one in inits if "restartPolicy" in one)
    running = resources.total(map(_of, spec["containers"]))
    starting = resources.largest(*(_of(one) for one in inits if "restartPolicy" not in one))
    own = resources.parse_resources(spec.get("resources", {}).get("requests", {}))
    together = resources.add(resources.largest(running, starting), beside)
    needed = resources.largest(together, own)
    if with_overhead:
        return resources.add(needed, resources.parse_resources(spec.get("overhead", {})))
    return needed


def _of(container: JSON) -> dict[str, int]:
    """A limit stands in for a request that is not there."""
    given = container.get("resources", {})
    return resources.parse_resources({**given.get("limits", {}), **given.get("requests", {})})


# Objects that such pods need.


def classes() -> list[Manifest]:
    """The PriorityClasses and the RuntimeClass."""
    made = []
    for name, (value, policy) in PRIORITIES.items():
        ref, body = bodies.made(kinds.PRIORITY_CLASSES, name)
        made.append((ref, {**body, "value": value, "preemptionPolicy": policy}))
    ref, body = bodies.made(STORED["RuntimeClass"], SANDBOX)
    made.append((ref, {**body, "handler": SANDBOX, "overhead": {"podFixed": OVERHEAD}}))
    return made


def budget_of(app: App, turn: int, running: int) -> Manifest:
    """One of ten: most let one pod go at a time, two let none go."""
    rules: dict[int, JSON] = {
        1: {"minAvailable": "50%"},
        4: {"minAvailable": 1},
        5: {"maxUnavailable": "34%"},
        8: {"maxUnavailable": 0},
        9: {"minAvailable": "100%"},
    }
    rule = rules.get(turn % 10, {"maxUnavailable": 1})
    ref, given = budget(app.name, app.namespace, app.name, **rule)
    _, body = bodies.made(kinds.BUDGETS, app.name, given["spec"], app.namespace)
    needed = app.pods - _spared(rule, app.pods)
    status = {
        "currentHealthy": running,
        "desiredHealthy": needed,
        "expectedPods": app.pods,
        "disruptionsAllowed": max(running - needed, 0),
        "observedGeneration": 1,
    }
    return ref, {**body, "status": status}


def _spared(rule: JSON, pods: int) -> int:
    """How many may be missing; percentages are rounded up, as the controller does."""
    ((field, value),) = rule.items()
    count = -(-int(value[:-1]) * pods // 100) if isinstance(value, str) else int(value)
    return max(pods - count, 0) if field == "minAvailable" else min(count, pods)
