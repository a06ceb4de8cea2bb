"""What a kubelet without containers writes: the bodies of nodes, leases and pod statuses.

Pure functions from what is there to what the kubelet says about it, in a form that a real API
server accepts.

Must not: send anything, or decide when.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from unmoor.model import names, resources
from unmoor.model.base import JSON
from unmoor.model.cluster import Instance
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import LEASES, NODES
from unmoor.model.moment import rfc3339, rfc3339_micro
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.taint import NO_SCHEDULE

LEASE_DURATION_S = 40
"""How long a kubelet's lease is good for (kubelet default)."""
KUBELET_VERSION = "v1.36.3"

STARTING = "container runtime network not ready"
"""The message of a Ready condition that becomes true by itself."""
KILLED_CODE = 137
"""The exit code of a container that did not stop in time."""
INTERRUPTED_CODE = 143
"""The exit code of a container whose work was not done when it was told to stop."""

_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


def node(instance: Instance, kind: InstanceType | None) -> JSON:
    """The Node that the kubelet on ``instance`` registers: not ready, so nothing comes yet."""
    spec = instance.spec
    labels = {
        names.OS: "linux",
        **spec.labels,
        **(kind.labels if kind else {}),
        names.HOSTNAME: instance.name,
        names.INSTANCE_TYPE: spec.instance_type,
        names.ZONE: spec.zone,
        names.CAPACITY_TYPE: spec.capacity_type,
    }
    not_ready = {"key": names.NOT_READY, "effect": NO_SCHEDULE}
    return {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {"name": instance.name, "labels": labels},
        "spec": {
            "providerID": instance.provider_id,
            "taints": [*(dict(one) for one in spec.taints), not_ready],
        },
    }


def first_status(name: str, kind: InstanceType | None, now: datetime) -> JSON:
    """What a kubelet says first: what the machine has, and that it is not ready."""
    arch = kind.arch if kind else "amd64"
    amounts: dict[str, Any] = {}
    if kind is not None:
        amounts["capacity"] = resources.render(kind.capacity)
        amounts["allocatable"] = resources.render(kind.allocatable)
    conditions = [ready_condition(now, is_ready=False)]
    conditions += [_condition(kind, "False", "Kubelet", now) for kind in _PRESSURES]
    info = {
        "architecture": arch,
        "operatingSystem": "linux",
        "kubeletVersion": KUBELET_VERSION,
        "containerRuntimeVersion": "hollow://1",
        "osImage": "unmoor hollow node",
    }
    addresses = [{"type": "Hostname", "address": name}]
    return {
        "status": {
            **amounts,
            "conditions": conditions,
            "addresses": addresses,
            "nodeInfo": {"bootID": "", "kernelVersion": "", "kubeProxyVersion": "", **info}
            | {"machineID": "", "systemUUID": ""},
        }
    }


def ready_condition(now: datetime, *, is_ready: bool) -> JSON:
    """The Ready condition at its transition."""
    if not is_ready:
        condition = _condition("Ready", "False", "KubeletNotReady", now)
        return {**condition, "message": STARTING}
    condition = _condition("Ready", "True", "KubeletReady", now)
    return {**condition, "message": "kubelet is posting ready status"}


def heartbeat(now: datetime) -> JSON:
    """The status of a node about which there is nothing new."""
    return {"status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": rfc3339(now)}]}}


def lease(owner: Node, now: datetime) -> JSON:
    """A node's lease. It goes with its node."""
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {
            "name": owner.name,
            "namespace": names.NODE_LEASES,
            "ownerReferences": [
                {
                    "apiVersion": NODES.api_version,
                    "kind": NODES.kind,
                    "name": owner.name,
                    "uid": owner.uid,
                }
            ],
        },
        "spec": {
            "holderIdentity": owner.name,
            "leaseDurationSeconds": LEASE_DURATION_S,
            "renewTime": rfc3339_micro(now),
        },
    }


def renewal(now: datetime) -> JSON:
    """What changes when a lease is renewed."""
    return {"spec": {"renewTime": rfc3339_micro(now)}}


def started(pod: Pod, address: str, now: datetime, *, is_ready: bool) -> JSON:
    """A pod whose containers run."""
    state = {"running": {"startedAt": rfc3339(now)}}
    word = "True" if is_ready else "False"
    conditions = [
        _pod_condition("Initialized", "True", now),
        _pod_condition("Ready", word, now),
        _pod_condition("ContainersReady", word, now),
    ]
    statuses = [_container(one.name, state, is_ready=is_ready) for one in pod.spec.containers]
    return {
        "status": {
            "phase": "Running",
            "startTime": rfc3339(now),
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": conditions,
            "containerStatuses": statuses,
        }
    }


def ready_again(now: datetime) -> JSON:
    """A running pod that somebody else had declared not ready."""
    return {"status": {"conditions": [_pod_condition("Ready", "True", now)]}}


def ended(pod: Pod, exit_code: int, now: datetime) -> JSON:
    """A pod whose containers have ended."""
    reason = "Completed" if exit_code == 0 else "Error"
    terminated = {
        "exitCode": exit_code,
        "reason": reason,
        "finishedAt": rfc3339(now),
        "startedAt": rfc3339(pod.status.start_time or now),
    }
    state = {"terminated": terminated}
    statuses = [_container(one.name, state, is_ready=False) for one in pod.spec.containers]
    why = {"reason": "PodCompleted"} if exit_code == 0 else {"reason": "PodFailed"}
    conditions = [
        {**_pod_condition(kind, "False", now), **why} for kind in ("Ready", "ContainersReady")
    ]
    return {
        "status": {
            "phase": "Succeeded" if exit_code == 0 else "Failed",
            "conditions": conditions,
            "containerStatuses": statuses,
        }
    }


def stopped_code(run_s: float | None) -> int:
    """The exit code of a container that stops when told: a server is done, a task is not."""
    return 0 if run_s is None else INTERRUPTED_CODE


def address_of(pod: Pod) -> str:
    """An address for the pod: made up, the same for the same pod."""
    number = int.from_bytes(msgspec.json.encode(pod.uid)[-9:-1], "big")
    return f"10.{number % 251}.{number // 251 % 251}.{1 + number // 63001 % 250}"


def _condition(kind: str, status: str, reason: str, now: datetime) -> JSON:
    stamp = rfc3339(now)
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }


def _pod_condition(kind: str, status: str, now: datetime) -> JSON:
    return {"type": kind, "status": status, "lastTransitionTime": rfc3339(now)}


def _container(name: str, state: JSON, *, is_ready: bool) -> JSON:
    return {
        "name": name,
        "image": "hollow",
        "imageID": "",
        "ready": is_ready,
        "restartCount": 0,
        "state": state,
    }
