"""What people of a simulated world write: manifests as plain JSON that a real API server accepts.

Names are given, never drawn.

Must not: send anything.
"""

from __future__ import annotations

from typing import Any

from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource

Manifest = tuple[Ref, JSON]


def make(
    resource: Resource[Any], name: str, spec: JSON | None = None, namespace: str = "", **meta: Any
) -> Manifest:
    """An object of any kind; ``meta`` is more of its metadata, left out where it is empty."""
    metadata: JSON = {"name": name, **{key: value for key, value in meta.items() if value}}
    if namespace:
        metadata["namespace"] = namespace
    body: JSON = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    if spec is not None:
        body["spec"] = spec
    return resource.ref(name, namespace), body


def provisioner(name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """A Provisioner; ``spec`` in the API's own words."""
    body = {"providerRef": {"name": "default"}, **spec}
    return make(kinds.PROVISIONERS, name, body, annotations=annotations)


def machine(name: str, provisioner: str, *, cluster: str, types: tuple[str, ...]) -> Manifest:
    """A Machine; ``cluster`` "" leaves out the annotation that makes it unmoor's."""
    spec = {
        "requirements": [
            {"key": names.INSTANCE_TYPE, "operator": "In", "values": list(types)},
            {"key": names.CAPACITY_TYPE, "operator": "In", "values": [names.ON_DEMAND]},
        ],
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}},
        "machineTemplateRef": {"name": "default"},
    }
    return make(
        kinds.MACHINES,
        name,
        spec,
        labels={names.PROVISIONER_NAME: provisioner},
        annotations={names.MANAGED_BY: cluster} if cluster else {},
    )


def pod_spec(**more: Any) -> JSON:
    """A small pod; ``more`` in the API's own words."""
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "200m", "memory": "128Mi"}},
    }
    return {"containers": [container], "terminationGracePeriodSeconds": 10, **more}


def template(app: str, annotations: dict[str, str], **more: Any) -> JSON:
    """A pod template of one application."""
    meta = {"labels": {"app": app}, "annotations": annotations}
    return {"metadata": meta, "spec": pod_spec(**more)}


def workload(resource: Resource[Any], app: str, namespace: str, pod: JSON, **spec: Any) -> Manifest:
    """A Deployment, StatefulSet or DaemonSet."""
    selector = {"matchLabels": {"app": app}}
    return make(resource, app, {"selector": selector, "template": pod, **spec}, namespace)


def job(name: str, namespace: str, pod: JSON, completions: int) -> Manifest:
    """A Job."""
    inner = {**pod, "spec": {**pod["spec"], "restartPolicy": "Never"}}
    spec = {"template": inner, "completions": completions, "parallelism": min(completions, 2)}
    return make(kinds.JOBS, name, spec, namespace)


def budget(name: str, namespace: str, app: str, **spec: Any) -> Manifest:
    """A PodDisruptionBudget over one application."""
    selector = {"matchLabels": {"app": app}}
    return make(kinds.BUDGETS, name, {"selector": selector, **spec}, namespace)


def pod(app: str, namespace: str, spec: JSON, **meta: Any) -> Manifest:
    """A pod without a controller."""
    return make(kinds.PODS, app, spec, namespace, labels={"app": app}, **meta)


def settings(name: str, namespace: str, data: dict[str, str]) -> Manifest:
    """The settings ConfigMap."""
    ref, body = make(kinds.CONFIG_MAPS, name, namespace=namespace)
    return ref, {**body, "data": data}
