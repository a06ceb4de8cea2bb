"""What scripts create: manifests as plain JSON, and nodes that are ready for pods."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.kubectl import Kubectl

HOLLOW = {"sim.unmoor.dev/hollow": "true", "node.kubernetes.io/instance-type": "m5.large"}
READY = '{.status.conditions[?(@.type=="Ready")].status}'
QUICK = {"terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False}
"""Pods that stop soon; the embedded cluster has no accounts whose tokens could be mounted."""


def manifest(kind: str, name: str, version: str = "v1", **parts: Any) -> dict[str, Any]:
    meta = {"name": name, **parts.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **parts}


def text(*manifests: dict[str, Any]) -> str:
    return "\n---\n".join(json.dumps(one) for one in manifests)


def listed(*manifests: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})


def config(name: str, **data: str) -> dict[str, Any]:
    return manifest("ConfigMap", name, metadata={"labels": {"tier": "web"}}, data=data)


def node(name: str, **meta: Any) -> dict[str, Any]:
    return manifest("Node", name, metadata={"labels": HOLLOW, **meta})


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "img:1"}]
    meta = {"labels": {"app": "one"}}
    return manifest("Pod", name, metadata=meta, spec={"containers": containers, **QUICK, **spec})


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    inner = {"containers": [{"name": "main", "image": "img:1"}], **QUICK}
    template = {"metadata": {"labels": labels}, "spec": inner}
    wanted = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return manifest(kind, name, "apps/v1", metadata={"labels": labels}, spec=wanted)


def budget(name: str, **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    return manifest("PodDisruptionBudget", name, "policy/v1", spec={"selector": selector, **spec})


def job(name: str, run_s: float) -> dict[str, Any]:
    inner = {"containers": [{"name": "main", "image": "img:1"}], "restartPolicy": "Never", **QUICK}
    ends = {"annotations": {"sim.unmoor.dev/run-seconds": str(run_s)}}
    return manifest("Job", name, "batch/v1", spec={"template": {"metadata": ends, "spec": inner}})


def machine(name: str, **spec: Any) -> dict[str, Any]:
    wanted = {
        "requirements": [{"key": "a", "operator": "In", "values": ["b"]}],
        "machineTemplateRef": {"name": "t"},
        **spec,
    }
    meta = {"labels": {"topology.kubernetes.io/zone": "z1"}}
    return manifest("Machine", name, "karpenter.sh/v1alpha5", metadata=meta, spec=wanted)


def provisioner(name: str) -> dict[str, Any]:
    spec = {"providerRef": {"name": "t"}, "ttlSecondsAfterEmpty": 30, "labels": {"team": "a"}}
    return manifest("Provisioner", name, "karpenter.sh/v1alpha5", spec=spec)


def disruption(name: str) -> dict[str, Any]:
    nodes = [{"name": one, "uid": one} for one in ("x", "y")]
    spec = {"method": "emptiness", "nodes": nodes}
    return manifest("Disruption", name, "unmoor.dev/v1alpha1", spec=spec)


async def fleet(k: Kubectl, *names: str) -> None:
    """Nodes that are ready. Each script has names of its own: pods may outlive their script."""
    await k.quietly("create -f -", given=text(*(node(name) for name in names)))
    for name in names:
        await k.until("True", f"get node {name} -o=jsonpath='{READY}'")
        await k.until("[]", f"get node {name} -o=jsonpath=[{{.spec.taints}}]")


async def counted(k: Kubectl, what: str, field: str, count: int) -> None:
    """Wait for a number in an object's status."""
    await k.until(f"[{count}]", f"get {what} -o=jsonpath=[{{.status.{field}}}]")
