"""What does a pod of a real cluster look like on the wire? Templates, one for each owner.

A template is the JSON of a pod, cut at the places where the pods of one owner differ. Filling one
in costs some microseconds, so that 150,000 pods are made in seconds. Sizes and shapes are those of
ordinary pods: two containers with probes and environment, conditions, the managedFields of
controller and kubelet. Managed fields are about two fifths of the whole, as in real clusters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unmoor.model.base import JSON

CUT = "\x1a"
"""Stands before and after the name of a gap."""
_WIRE_CUT = b"\\u001a"


def gap(name: str) -> str:
    """A place that ``Template.fill`` fills in."""
    return f"{CUT}{name}{CUT}"


class Template:
    """One JSON text with gaps."""

    def __init__(self, body: JSON) -> None:
        """Cut the text at the gaps."""
        text = json.dumps(body, separators=(",", ":")).encode()
        self._parts: list[bytes] = text.split(_WIRE_CUT)
        self._names = [part.decode() for part in self._parts[1::2]]

    def fill(self, values: Mapping[str, bytes]) -> bytes:
        """The text with these values in its gaps."""
        parts = self._parts.copy()
        parts[1::2] = [values[name] for name in self._names]
        return b"".join(parts)


def pod_template(owner: JSON, app: str, namespace: str, *, is_daemon: bool = False) -> Template:
    """Pods of one owner.

    Gaps are name, uid, version, node, ip, token, born, up, digest, owner, ready and phase.
    """
    labels = _labels(owner, app)
    body = {
        "metadata": {
            "name": gap("name"),
            "generateName": f"{owner['name']}-",
            "namespace": namespace,
            "uid": gap("uid"),
            "resourceVersion": gap("version"),
            "generation": 1,
            "creationTimestamp": gap("born"),
            "labels": labels,
            "annotations": {
                "checksum/config": f"{hash_of(app)}",
                "prometheus.io/port": "9090",
                "prometheus.io/scrape": "true",
            },
            "ownerReferences": [owner],
            "managedFields": _managed_fields(app, labels),
        },
        "spec": _spec(app, is_daemon=is_daemon),
        "status": _status(app),
    }
    return Template(body)


def hash_of(text: str) -> str:
    """A hash as deployments put one in names and labels, the same in every process."""
    number = 5381
    for letter in text:
        number = (number * 33 + ord(letter)) % 2**40
    return f"{number:010x}"


def _labels(owner: JSON, app: str) -> dict[str, str]:
    labels = {
        "app.kubernetes.io/component": "server",
        "app.kubernetes.io/instance": app,
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/version": "1.27.3",
    }
    match owner["kind"]:
        case "ReplicaSet":
            own = {"pod-template-hash": hash_of(owner["name"])}
        case "StatefulSet":
            own = {"statefulset.kubernetes.io/pod-name": gap("name")}
        case "Job":
            own = {"batch.kubernetes.io/job-name": owner["name"]}
        case _:
            own = {"controller-revision-hash": hash_of(owner["name"])}
    return labels | own


def _managed_fields(app: str, labels: Mapping[str, str]) -> list[JSON]:
    """Who owns which field: the controller the spec, the kubelet the status."""
    plain: JSON = {
        ".": {},
        "f:image": {},
        "f:imagePullPolicy": {},
        "f:name": {},
        "f:resources": {".": {}, "f:limits": {"f:memory": {}}, "f:requests": {"f:cpu": {}}},
    }
    variables: JSON = {
        f'k:{{"name":"{one["name"]}"}}': {".": {}, "f:name": {}, "f:value": {}} for one in _ENV
    }
    main = plain | {"f:env": variables, "f:readinessProbe": _PROBE_FIELDS}
    containers = {f'k:{{"name":"{app}"}}': main, 'k:{"name":"proxy"}': plain}
    spec = {
        "f:containers": containers,
        "f:dnsPolicy": {},
        "f:restartPolicy": {},
        "f:schedulerName": {},
        "f:securityContext": {},
        "f:terminationGracePeriodSeconds": {},
    }
    meta: JSON = {
        "f:annotations": {".": {}, "f:checksum/config": {}, "f:prometheus.io/port": {}},
        "f:generateName": {},
        "f:labels": {".": {}} | {f"f:{name}": {} for name in labels},
        "f:ownerReferences": {".": {}, f'k:{{"uid":"{gap("owner")}"}}': {}},
    }
    condition: JSON = {".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}
    status = {
        "f:conditions": {f'k:{{"type":"{kind}"}}': condition for kind in _CONDITIONS},
        "f:containerStatuses": {},
        "f:hostIP": {},
        "f:phase": {},
        "f:podIP": {},
        "f:podIPs": {".": {}, f'k:{{"ip":"{gap("ip")}"}}': {".": {}, "f:ip": {}}},
        "f:startTime": {},
    }
    return [
        _entry("kube-controller-manager", "born", {"f:metadata": meta, "f:spec": spec}),
        _entry("kubelet", "up", {"f:status": status}) | {"subresource": "status"},
    ]


def _entry(manager: str, when: str, fields: JSON) -> JSON:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": gap(when),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


_PROBE_FIELDS: JSON = {
    ".": {},
    "f:failureThreshold": {},
    "f:httpGet": {".": {}, "f:path": {}, "f:port": {}, "f:scheme": {}},
    "f:periodSeconds": {},
}
_PROBE: JSON = {
    "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_ENV = (
    {"name": "LISTEN_ADDRESS", "value": "0.0.0.0:8080"},
    {"name": "LOG_LEVEL", "value": "info"},
)
_CONDITIONS = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


def _spec(app: str, *, is_daemon: bool) -> JSON:
    volume = f"kube-api-access-{gap('token')}"
    missing = ("not-ready", "unreachable")
    tolerations: list[JSON] = [
        {
            "key": f"node.kubernetes.io/{what}",
            "operator": "Exists",
            "effect": "NoExecute",
            **({} if is_daemon else {"tolerationSeconds": 300}),
        }
        for what in missing
    ]
    if is_daemon:
        tolerations += [
            {"key": f"node.kubernetes.io/{what}-pressure", "operator": "Exists"}
            for what in ("disk", "memory", "pid")
        ]
    return {
        "volumes": [
            {"name": "config", "configMap": {"name": f"{app}-config", "defaultMode": 420}},
            {
                "name": volume,
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt"}},
                    ],
                    "defaultMode": 420,
                },
            },
        ],
        "containers": [_container(app, name, volume) for name in (app, "proxy")],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": app,
        "nodeName": gap("node"),
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": tolerations,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _container(app: str, name: str, volume: str) -> JSON:
    is_main = name == app
    return {
        "name": name,
        "image": _image(app, name),
        **({"env": _ENV, "readinessProbe": _PROBE} if is_main else {}),
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "limits": {"memory": "512Mi" if is_main else "128Mi"},
            "requests": {"cpu": f"{50 + int(hash_of(app), 16) % 200 * 10}m", "memory": "128Mi"},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app"},
            {
                "name": volume,
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            },
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _image(app: str, name: str) -> str:
    return f"registry.example.com/{app}/{name}:1.27.3"


def _status(app: str) -> JSON:
    when = {
        "PodReadyToStartContainers": "up",
        "Initialized": "born",
        "Ready": "up",
        "ContainersReady": "up",
        "PodScheduled": "born",
    }
    running: JSON = {"running": {"startedAt": gap("up")}}
    return {
        "phase": gap("phase"),
        "conditions": [
            {
                "type": kind,
                "status": gap("ready") if kind == "Ready" else "True",
                "lastProbeTime": None,
                "lastTransitionTime": gap(when[kind]),
            }
            for kind in _CONDITIONS
        ],
        "hostIP": "10.0.17.4",
        "podIP": gap("ip"),
        "podIPs": [{"ip": gap("ip")}],
        "startTime": gap("born"),
        "containerStatuses": [
            {
                "name": name,
                "state": running,
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": _image(app, name),
                "imageID": f"sha256:{gap('digest')}",
                "containerID": f"containerd://{gap('digest')}",
                "started": True,
            }
            for name in (app, "proxy")
        ],
        "qosClass": "Burstable",
    }


def any_of(values: Mapping[str, Any]) -> Mapping[str, bytes]:
    """Values of gaps as they are filled in."""
    return {name: str(value).encode() for name, value in values.items()}
