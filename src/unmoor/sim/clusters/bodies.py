"""What is in every object of a made-up cluster: identity, age, and a pod's life so far.

Uids follow from the name, times are fixed: the same object has the same bytes in every process.

Must not: draw anything.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from unmoor.model import kinds
from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.sim.manifests import Manifest, make

BORN = "2026-01-05T08:00:00Z"
"""When everything was created."""
STARTED = "2026-01-05T08:00:20Z"
"""When what runs began to run."""
TOLERATED_S = 300
MIB = 2**20

USUAL_TOLERATIONS: tuple[JSON, ...] = tuple(
    {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": TOLERATED_S,
    }
    for what in ("not-ready", "unreachable")
)
"""What admission gives every pod that says nothing else about these taints."""
DAEMON_TOLERATIONS: tuple[JSON, ...] = tuple(
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": effect}
    for what, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
"""What its controller gives every pod of a DaemonSet."""


def made(
    resource: Resource[Any], name: str, spec: JSON | None = None, namespace: str = "", **meta: Any
) -> Manifest:
    """An object as stored: with a uid and a time of birth."""
    return make(
        resource,
        name,
        spec,
        namespace,
        uid=uid_of(resource, name, namespace),
        creationTimestamp=BORN,
        **meta,
    )


def uid_of(resource: Resource[Any], name: str, namespace: str = "") -> str:
    """The uid of an object, whoever asks."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{resource.path(namespace, name)}"))


def owner(body: JSON, *, is_controller: bool = True) -> JSON:
    """A reference to the owner ``body``."""
    meta = body["metadata"]
    reference = {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "blockOwnerDeletion": True,
    }
    return {**reference, "controller": True} if is_controller else reference


def pod(name: str, namespace: str, spec: JSON, *, node: str = "", **meta: Any) -> Manifest:
    """A pod that runs on ``node``, or waits.

    What the server adds is added; the pod's own tolerations come first.
    """
    tolerations = [*spec.get("tolerations", ()), *USUAL_TOLERATIONS]
    whole: JSON = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        **spec,
        "tolerations": tolerations,
    }
    if node:
        whole["nodeName"] = node
    ref, body = made(kinds.PODS, name, whole, namespace, **meta)
    return ref, {**body, "status": _running(whole) if node else _waiting(whole)}


def _running(spec: JSON) -> JSON:
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": STARTED}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    return {
        "phase": "Running",
        "startTime": BORN,
        "conditions": conditions,
        "containerStatuses": [_runs(one) for one in spec["containers"]],
    }


def _runs(container: JSON) -> JSON:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": STARTED}},
    }


def _waiting(spec: JSON) -> JSON:
    gated = spec.get("schedulingGates")
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated" if gated else "Unschedulable",
        "message": "Scheduling is blocked due to non-empty scheduling gates" if gated else "",
        "lastTransitionTime": BORN,
    }
    return {"phase": "Pending", "conditions": [condition]}


def container(name: str, *, cpu_milli: int = 0, memory_mib: int = 0, **more: Any) -> JSON:
    """A container that asks for this much, 0: for nothing; ``more`` in the API's own words."""
    asked = amounts(cpu_milli, memory_mib)
    body: JSON = {"name": name, "image": "registry.example/app:1"}
    if asked:
        body["resources"] = {"requests": asked}
    return {**body, **more}


def amounts(cpu_milli: int, memory_mib: int) -> dict[str, str]:
    """Cpu and memory as a ResourceList, without those that are 0."""
    written = {}
    if cpu_milli:
        written["cpu"] = f"{cpu_milli}m" if cpu_milli % 1000 else str(cpu_milli // 1000)
    if memory_mib:
        written["memory"] = f"{memory_mib}Mi"
    return written


def expression(key: str, operator: str, *values: str) -> JSON:
    """A requirement of a label or node selector."""
    body: JSON = {"key": key, "operator": operator}
    return {**body, "values": list(values)} if values else body


def selector(labels: dict[str, str] | None = None, *expressions: JSON) -> JSON:
    """A label selector."""
    body: JSON = {}
    if labels:
        body["matchLabels"] = labels
    if expressions:
        body["matchExpressions"] = list(expressions)
    return body


def as_list(objects: Sequence[Manifest]) -> JSON:
    """All of them as one ``List``."""
    return {"apiVersion": "v1", "kind": "List", "items": [body for _, body in objects]}
