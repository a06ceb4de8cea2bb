"""Manifests that scenarios apply: plain JSON that a real API server accepts.

Names are given, never drawn, so that a scenario reads the same in virtual time and in real time.
"""

from __future__ import annotations

from typing import Any

from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref

CLUSTER = "rehearsal"
"""The cluster's name in every scenario: whose machines are ours."""
DRIVER = "csi.scenario.unmoor.dev"
"""A storage driver that does not exist: scenarios attach and detach for it."""
HOLD = "scenario.unmoor.dev/hold"
"""A finalizer of somebody else."""
FIELD = "scenario.unmoor.dev/name"
"""A label that keeps the pods of a scenario on the nodes of that scenario."""


def provisioner(
    name: str, *, annotations: dict[str, str] | None = None, **spec: Any
) -> tuple[Ref, JSON]:
    """A Provisioner; ``spec`` in the API's own words."""
    body = {"providerRef": {"name": "default"}, **spec}
    return _object(kinds.PROVISIONERS, name, annotations=annotations, spec=body)


def machine(
    name: str,
    *,
    provisioner: str,
    field: str = "",
    annotations: dict[str, str] | None = None,
    types: tuple[str, ...] = ("m5.large",),
    **spec: Any,
) -> tuple[Ref, JSON]:
    """A Machine of ours, of one of ``types``, on demand."""
    body = {
        "requirements": [
            {"key": names.INSTANCE_TYPE, "operator": "In", "values": list(types)},
            {"key": names.CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]},
        ],
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}},
        "machineTemplateRef": {"name": "default"},
        **spec,
    }
    labels = {names.PROVISIONER_NAME: provisioner, **({FIELD: field} if field else {})}
    return _object(
        kinds.MACHINES,
        name,
        labels=labels,
        annotations={names.MANAGED_BY: CLUSTER, **(annotations or {})},
        spec=body,
    )


def pod_template(field: str, app: str, **spec: Any) -> JSON:
    """A small pod that runs only on the nodes of its scenario."""
    annotations = spec.pop("annotations", {})
    return {
        "metadata": {"labels": {"app": app}, "annotations": annotations},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/app:1",
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                }
            ],
            "nodeSelector": {FIELD: field},
            "terminationGracePeriodSeconds": 2,
            **spec,
        },
    }


def deployment(name: str, *, namespace: str, replicas: int, **pod: Any) -> tuple[Ref, JSON]:
    """A Deployment in the namespace of its scenario; ``pod`` extends the pod's spec."""
    return _object(
        kinds.DEPLOYMENTS,
        name,
        namespace=namespace,
        spec={
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": pod_template(namespace, name, **pod),
        },
    )


def daemon_set(name: str, *, namespace: str) -> tuple[Ref, JSON]:
    """A DaemonSet on the nodes of its scenario."""
    return _object(
        kinds.DAEMON_SETS,
        name,
        namespace=namespace,
        spec={
            "selector": {"matchLabels": {"app": name}},
            "template": pod_template(namespace, name),
        },
    )


def stateful_set(name: str, *, namespace: str, replicas: int, **pod: Any) -> tuple[Ref, JSON]:
    """A StatefulSet without volumes."""
    return _object(
        kinds.STATEFUL_SETS,
        name,
        namespace=namespace,
        spec={
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": pod_template(namespace, name, **pod),
        },
    )


def budget(name: str, *, namespace: str, app: str, **spec: Any) -> tuple[Ref, JSON]:
    """A PodDisruptionBudget over one application."""
    return _object(
        kinds.BUDGETS,
        name,
        namespace=namespace,
        spec={"selector": {"matchLabels": {"app": app}}, **spec},
    )


def pod(
    name: str,
    *,
    namespace: str,
    annotations: dict[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
    owners: tuple[JSON, ...] = (),
    **spec: Any,
) -> tuple[Ref, JSON]:
    """A pod without a controller."""
    ref, body = _object(kinds.PODS, name, namespace=namespace, annotations=annotations)
    template = pod_template(namespace, name, **spec)
    body["metadata"]["labels"] = template["metadata"]["labels"]
    if finalizers:
        body["metadata"]["finalizers"] = list(finalizers)
    if owners:
        body["metadata"]["ownerReferences"] = list(owners)
    body["spec"] = template["spec"]
    return ref, body


def claimed_volume(name: str, *, namespace: str, node: str) -> tuple[tuple[Ref, JSON], ...]:
    """A volume that one node may mount at a time, its claim, and its attachment to a node."""
    size, modes = {"storage": "1Gi"}, ["ReadWriteOnce"]
    driver = {"driver": DRIVER, "volumeHandle": name}
    claim = {"volumeName": name, "storageClassName": "", "accessModes": modes}
    return (
        _object(
            kinds.VOLUMES,
            name,
            spec={"capacity": size, "accessModes": modes, "csi": driver},
        ),
        _object(
            kinds.CLAIMS,
            name,
            namespace=namespace,
            spec={**claim, "resources": {"requests": size}},
        ),
        _object(
            kinds.ATTACHMENTS,
            name,
            spec={
                "attacher": DRIVER,
                "nodeName": node,
                "source": {"persistentVolumeName": name},
            },
        ),
    )


def namespace(name: str) -> tuple[Ref, JSON]:
    """A Namespace."""
    return _object(kinds.NAMESPACES, name)


def settings(namespace: str, **data: str) -> tuple[Ref, JSON]:
    """The settings ConfigMap. Keys are given with "__" for "."."""
    ref, body = _object(kinds.CONFIG_MAPS, "karpenter-global-settings", namespace=namespace)
    body["data"] = {"aws.clusterName": CLUSTER} | {k.replace("__", "."): v for k, v in data.items()}
    return ref, body


def _object(
    resource: kinds.Resource[Any],
    name: str,
    *,
    namespace: str = "",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    spec: JSON | None = None,
) -> tuple[Ref, JSON]:
    metadata: JSON = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    body: JSON = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
    }
    if spec is not None:
        body["spec"] = spec
    return resource.ref(name, namespace), body
