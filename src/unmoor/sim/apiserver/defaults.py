"""What the server fills in when an object is created, and what it takes out.

This is what depends on the rest of the cluster or happens once; ``filling`` has what is filled in
at every write.

Must not: refuse anything but what admission does (a priority class that does not exist).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.apiserver import services, status
from unmoor.sim.apiserver.filling import pull_policy
from unmoor.sim.apiserver.storage import Store, Table

TERMINATION_GRACE_S = 30
TOLERATION_S = 300
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}

_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_TOLERATIONS = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_S}
    for key in (_NOT_READY, _UNREACHABLE)
)
_POD_SPEC: JSON = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": TERMINATION_GRACE_S,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_TEMPLATE_SPEC: JSON = {
    name: value
    for name, value in _POD_SPEC.items()
    if name not in {"enableServiceLinks", "preemptionPolicy"}
}
_CONTAINER: JSON = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}
_NO_STATUS: JSON = {}


def complete(store: Store, table: Table, obj: JSON) -> JSON:
    """The object as it is stored at first; ``obj`` itself is not written to."""
    fill = _FILL.get(table.resource.kind)
    return obj if fill is None else fill(store, table, obj)


def _pod(store: Store, table: Table, obj: JSON) -> JSON:
    spec = {**_POD_SPEC, **obj["spec"]} if obj.get("spec") else dict(_POD_SPEC)
    spec["containers"] = [_container(one) for one in spec.get("containers") or ()]
    if "initContainers" in spec:
        spec["initContainers"] = [_container(one) for one in spec["initContainers"]]
    spec["tolerations"] = _tolerations(spec.get("tolerations") or [])
    _resolve_priority(store, table, obj, spec)
    pod_status = {"phase": "Pending", "qosClass": _quality(spec)}
    return {**obj, "spec": spec, "status": pod_status}


def _container(container: JSON) -> JSON:
    wanted = container.get("resources") or {}
    limits = wanted.get("limits")
    if limits:
        requests = wanted.get("requests") or {}
        if any(name not in requests for name in limits):
            wanted = {**wanted, "requests": {**limits, **requests}}
    pull = pull_policy(container.get("image"))
    return {**_CONTAINER, "imagePullPolicy": pull, **container, "resources": wanted}


def _tolerations(given: list[JSON]) -> list[JSON]:
    missing = [
        toleration
        for toleration in _TOLERATIONS
        if not any(
            one.get("key", "") in {toleration["key"], ""}
            and one.get("effect", "") in {"NoExecute", ""}
            for one in given
        )
    ]
    return [*given, *missing] if missing else given


def _resolve_priority(store: Store, table: Table, obj: JSON, spec: JSON) -> None:
    name = spec.get("priorityClassName") or ""
    found = store.tables["PriorityClass"].objects if "PriorityClass" in store.tables else {}
    if not name:
        default = [one for one in found.values() if one.get("globalDefault")]
        best = min(default, key=lambda one: int(one.get("value", 0)), default=None)
        value = 0 if best is None else best.get("value", 0)
        if best is not None:
            spec["priorityClassName"] = best["metadata"]["name"]
            spec["preemptionPolicy"] = best.get("preemptionPolicy", "PreemptLowerPriority")
    elif name in SYSTEM_CLASSES:
        value = SYSTEM_CLASSES[name]
    else:
        chosen = found.get(("", name))
        if chosen is None:
            text = f"no PriorityClass with name {name} was found"
            raise status.forbidden(table.resource, obj["metadata"].get("name", ""), text)
        value = chosen.get("value", 0)
        spec["preemptionPolicy"] = chosen.get("preemptionPolicy", "PreemptLowerPriority")
    given = spec.get("priority")
    if given is not None and given != value:
        text = (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise status.forbidden(table.resource, obj["metadata"].get("name", ""), text)
    spec["priority"] = value


def _quality(spec: JSON) -> str:
    """The quality-of-service class, from cpu and memory of every container."""
    anything = False
    guaranteed = True
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        wanted = container["resources"]
        requests, limits = wanted.get("requests") or {}, wanted.get("limits") or {}
        for name in ("cpu", "memory"):
            anything = anything or name in requests or name in limits
            if name not in limits or requests.get(name) != limits[name]:
                guaranteed = False
    if not anything:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _node(_store: Store, _table: Table, obj: JSON) -> JSON:
    """A new node is tainted until its life cycle has seen it ready; allocatable is capacity."""
    spec = dict(obj.get("spec") or {})
    taints = spec.get("taints") or []
    if not any(taint.get("key") == _NOT_READY for taint in taints):
        spec["taints"] = [*taints, {"key": _NOT_READY, "effect": "NoSchedule"}]
    return {**obj, "spec": spec, "status": with_allocatable(obj.get("status") or _NO_STATUS)}


def with_allocatable(found: JSON) -> JSON:
    """A node's status in which allocatable is capacity, unless it says something else."""
    if found and found.get("capacity") and not found.get("allocatable"):
        return {**found, "allocatable": found["capacity"]}
    return found


def _namespace(_store: Store, _table: Table, obj: JSON) -> JSON:
    meta = obj["metadata"]
    labels = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta["name"]}
    spec = {"finalizers": ["kubernetes"], **(obj.get("spec") or {})}
    return {
        **obj,
        "metadata": {**meta, "labels": labels},
        "spec": spec,
        "status": {"phase": "Active"},
    }


def _replicated(first: JSON) -> Callable[[Store, Table, JSON], JSON]:
    def fill(_store: Store, _table: Table, obj: JSON) -> JSON:
        spec = {"replicas": 1, **(obj.get("spec") or {})}
        spec["template"] = _template(spec.get("template") or {})
        return {**obj, "spec": spec, "status": first}

    return fill


def _daemon_set(_store: Store, _table: Table, obj: JSON) -> JSON:
    spec = {**(obj.get("spec") or {})}
    spec["template"] = _template(spec.get("template") or {})
    first = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled")
    return {**obj, "spec": spec, "status": dict.fromkeys((*first, "numberReady"), 0)}


def _job(_store: Store, _table: Table, obj: JSON) -> JSON:
    meta = obj["metadata"]
    spec = {"parallelism": 1, "completions": 1, "backoffLimit": 6, **(obj.get("spec") or {})}
    spec["template"] = _template(spec.get("template") or {})
    uid = meta["uid"]
    marks = {"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid}
    if not spec.get("manualSelector"):
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        marks |= {"batch.kubernetes.io/job-name": meta["name"], "job-name": meta["name"]}
        template = spec["template"]
        inner = template.get("metadata") or {}
        labels = {**(inner.get("labels") or {}), **marks}
        spec["template"] = {**template, "metadata": {**inner, "labels": labels}}
        labels = {**marks, **(meta.get("labels") or {})}
        obj = {**obj, "metadata": {**meta, "labels": labels}}
    return {**obj, "spec": spec, "status": {}}


def _template(template: JSON) -> JSON:
    spec = {**_TEMPLATE_SPEC, **(template.get("spec") or {})}
    spec["containers"] = [_container(one) for one in spec.get("containers") or ()]
    return {**template, "spec": spec}


def _budget(_store: Store, _table: Table, obj: JSON) -> JSON:
    fields = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return {**obj, "status": dict.fromkeys(fields, 0)}


def _service(_store: Store, table: Table, obj: JSON) -> JSON:
    return {**services.allocated(table, obj), "status": {"loadBalancer": {}}}


def _with_status(first: JSON) -> Callable[[Store, Table, JSON], JSON]:
    def fill(_store: Store, _table: Table, obj: JSON) -> JSON:
        return {**obj, "status": first}

    return fill


_FILL: dict[str, Callable[[Store, Table, Any], JSON]] = {
    "Pod": _pod,
    "Node": _node,
    "Namespace": _namespace,
    "Deployment": _replicated({}),
    "ReplicaSet": _replicated({"replicas": 0}),
    "StatefulSet": _replicated({"replicas": 0, "availableReplicas": 0}),
    "DaemonSet": _daemon_set,
    "Job": _job,
    "PodDisruptionBudget": _budget,
    "Service": _service,
    "Ingress": _with_status({"loadBalancer": {}}),
    "ResourceQuota": _with_status({}),
    "PersistentVolume": _with_status({"phase": "Pending"}),
    "PersistentVolumeClaim": _with_status({"phase": "Pending"}),
    "VolumeAttachment": _with_status({"attached": False}),
}
