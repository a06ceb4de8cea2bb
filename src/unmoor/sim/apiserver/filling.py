"""Which fields does the server fill in at every write? Defaults that follow from the kind alone.

They are what makes ``kubectl diff`` quiet and ``kubectl rollout status`` work, and without them
an applied list would have other owners. What is there stays, whatever it is; a value of a wrong
type is left to those who judge it. Rehearsals do without.

Must not: look at anything but the object; ``defaults`` has what depends on the rest of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from unmoor.model.base import JSON

FILE_MODE = 0o644
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""How often a DaemonSet's template has changed; the server counts, in an annotation."""
_PROBE: JSON = {
    "failureThreshold": 3,
    "periodSeconds": 10,
    "successThreshold": 1,
    "timeoutSeconds": 1,
}
TEMPLATE_SPEC: JSON = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_ROLLING: dict[str, JSON] = {
    "Deployment": {"maxSurge": "25%", "maxUnavailable": "25%"},
    "StatefulSet": {"partition": 0},
    "DaemonSet": {"maxSurge": 0, "maxUnavailable": 1},
}
_SPECS: dict[str, JSON] = {
    "Pod": {**TEMPLATE_SPEC, "enableServiceLinks": True},
    "Deployment": {"progressDeadlineSeconds": 600, "revisionHistoryLimit": 10, "replicas": 1},
    "ReplicaSet": {"replicas": 1},
    "StatefulSet": {
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "podManagementPolicy": "OrderedReady",
        "replicas": 1,
        "revisionHistoryLimit": 10,
    },
    "DaemonSet": {"revisionHistoryLimit": 10},
    "Job": {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
    },
    "PersistentVolume": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "PersistentVolumeClaim": {"volumeMode": "Filesystem"},
}
_ROOTS: dict[str, JSON] = {
    "StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
}
_STRATEGY = {
    "Deployment": "strategy",
    "StatefulSet": "updateStrategy",
    "DaemonSet": "updateStrategy",
}
_CONTAINER: JSON = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}


_NODE_STATUS: JSON = {
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
    "nodeInfo": dict.fromkeys(
        (
            "architecture",
            "bootID",
            "containerRuntimeVersion",
            "kernelVersion",
            "kubeProxyVersion",
            "kubeletVersion",
            "machineID",
            "operatingSystem",
            "osImage",
            "systemUUID",
        ),
        "",
    ),
}
"""What every node says, if only that it does not know."""
_CHANGED: JSON = {"lastTransitionTime": None}
_PROBED: JSON = {"lastProbeTime": None, **_CHANGED}
_TIMES: dict[str, JSON] = {
    **dict.fromkeys(("DaemonSet", "Namespace", "ReplicaSet", "StatefulSet"), _CHANGED),
    **dict.fromkeys(("Job", "PersistentVolumeClaim", "Pod"), _PROBED),
    "Deployment": {"lastUpdateTime": None, **_CHANGED},
    "Node": {"lastHeartbeatTime": None, **_CHANGED},
}
"""Times that every condition of a kind has, even if nobody knows them."""
_MAY_BE_ZERO: dict[str, tuple[str, ...]] = {
    "Deployment": (
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
    ),
    "ReplicaSet": ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "StatefulSet": ("readyReplicas", "currentReplicas", "updatedReplicas"),
    "DaemonSet": ("updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
    "Job": ("active", "succeeded", "failed"),
}
"""Counts that are left out of a status when there is nothing to count."""


def filled(kind: str, obj: JSON) -> JSON:
    """The object with its defaults; itself when nothing was missing."""
    absent: JSON | None = {} if kind == "Node" else None
    obj = _changed(obj, "status", lambda found: _status(kind, found), absent)
    if kind == "DaemonSet":
        obj = _changed(obj, "metadata", _counted)
    if kind in _ROOTS:
        whole: JSON = _with(obj, _ROOTS[kind])
        return whole
    spec = obj.get("spec")
    if not isinstance(spec, dict) or kind not in _SPECS:
        return obj
    new = _with(spec, _SPECS[kind])
    if kind == "Pod":
        new = _pod_spec(new)
    if kind in _STRATEGY:
        new = _changed(new, _STRATEGY[kind], lambda found: _strategy(kind, found), {})
    new = _changed(new, "template", _template)
    new = _changed(new, "volumeClaimTemplates", lambda found: _each(found, _claim))
    return obj if new is spec else {**obj, "spec": new}


def _with(found: Any, wanted: JSON) -> Any:
    """An object with what it lacks."""
    if not isinstance(found, dict):
        return found
    missing = {name: value for name, value in wanted.items() if found.get(name) is None}
    return {**found, **missing} if missing else found


def _changed(obj: Any, name: str, change: Callable[[Any], Any], absent: Any = None) -> Any:
    """An object with another value in one place; the same when the value is."""
    if not isinstance(obj, dict):
        return obj
    old = obj.get(name)
    if old is None:
        old = absent
        if old is None:
            return obj
    new = change(old)
    return obj if new is obj.get(name) else {**obj, name: new}


def _each(items: Any, change: Callable[[Any], Any]) -> Any:
    """A list of which each item is changed; the same when none is."""
    if not isinstance(items, list):
        return items
    new = [change(one) for one in items]
    return items if all(a is b for a, b in zip(new, items, strict=True)) else new


# ---------------------------------------------------------------------------------------- workloads


def _strategy(kind: str, found: Any) -> Any:
    found = _with(found, {"type": "RollingUpdate"})
    if not isinstance(found, dict) or found["type"] != "RollingUpdate":
        return found
    return _changed(found, "rollingUpdate", lambda given: _with(given, _ROLLING[kind]), {})


def _template(found: Any) -> Any:
    return _changed(found, "spec", lambda spec: _pod_spec(_with(spec, TEMPLATE_SPEC)), {})


def _claim(found: Any) -> Any:
    found = _with(found, {"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
    found = _changed(found, "spec", lambda spec: _with(spec, {"volumeMode": "Filesystem"}))
    return _with(found, {"status": {"phase": "Pending"}})


def _status(kind: str, found: Any) -> Any:
    if kind in _TIMES:
        found = _changed(
            found, "conditions", lambda items: _each(items, lambda one: _timed(kind, one))
        )
    if kind == "Pod":
        return _changed(found, "containerStatuses", lambda items: _each(items, _container_status))
    if kind == "Node":
        for name, value in _NODE_STATUS.items():
            found = _changed(found, name, partial(_with, wanted=value), {})
    names = _MAY_BE_ZERO.get(kind, ())
    if not isinstance(found, dict) or not any(found.get(name) == 0 for name in names):
        return found
    return {name: one for name, one in found.items() if not (one == 0 and name in names)}


def _timed(kind: str, found: Any) -> Any:
    if not isinstance(found, dict) or _TIMES[kind].keys() <= found.keys():
        return found
    return {**_TIMES[kind], **found}


def _counted(metadata: Any) -> Any:
    return _changed(
        metadata, "annotations", lambda given: _with(given, {TEMPLATE_GENERATION: "1"}), {}
    )


# --------------------------------------------------------------------------------------------- pods


def _container_status(found: Any) -> Any:
    return _with(found, {"state": {}, "lastState": {}})


def _pod_spec(spec: Any) -> Any:
    for name in ("containers", "initContainers"):
        spec = _changed(spec, name, lambda found: _each(found, _container))
    return _changed(spec, "volumes", lambda found: _each(found, _volume))


def _container(found: Any) -> Any:
    found = _with(found, _CONTAINER)
    if isinstance(found, dict) and found.get("imagePullPolicy") is None:
        found = {**found, "imagePullPolicy": pull_policy(found.get("image"))}
    found = _changed(found, "ports", lambda ports: _each(ports, _port))
    found = _changed(found, "env", lambda names: _each(names, _variable))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        found = _changed(found, name, _probe)
    return found


def pull_policy(image: Any) -> str:
    """When an image is pulled, if nobody says."""
    text = image if isinstance(image, str) else ""
    tag = text.rpartition(":")[2]
    return "Always" if tag in {text, "latest"} or "/" in tag else "IfNotPresent"


def _port(found: Any) -> Any:
    return _with(found, {"protocol": "TCP"})


def _variable(found: Any) -> Any:
    return _changed(found, "valueFrom", _value_source)


def _value_source(found: Any) -> Any:
    return _changed(found, "fieldRef", lambda given: _with(given, {"apiVersion": "v1"}))


def _probe(found: Any) -> Any:
    found = _with(found, _PROBE)
    return _changed(found, "httpGet", lambda given: _with(given, {"scheme": "HTTP", "path": "/"}))


def _volume(found: Any) -> Any:
    for name in ("configMap", "secret", "projected", "downwardAPI"):
        found = _changed(found, name, lambda given: _with(given, {"defaultMode": FILE_MODE}))
    return _changed(found, "hostPath", lambda given: _with(given, {"type": ""}))
