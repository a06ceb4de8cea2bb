"""What differs from kind to kind: one row each, for what the server must know of it.

Every row was read off a real API server: what a status write may touch, whether ``generation``
counts, what a deletion answers, which fields can be selected by.

Must not: hold behaviour; that a row can only say *which*, never *how*, keeps the list honest.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from unmoor.model.kinds import Resource

Fields: TypeAlias = dict[str, tuple[str, ...]]

META_FIELDS: Fields = {"metadata.name": ("metadata", "name")}
NAMESPACED_FIELDS: Fields = {**META_FIELDS, "metadata.namespace": ("metadata", "namespace")}
SCALE_VERSION = "autoscaling/v1"
"""Of what is behind the scale door, whatever kind it is of."""


class ScalePaths(msgspec.Struct, frozen=True, kw_only=True):
    """Where an object says how many replicas it wants, has, and by which selector it counts."""

    replicas: tuple[str, ...]
    found: tuple[str, ...]
    selector: tuple[str, ...] = ()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How the server treats one kind.

    ``fields``: what a field selector may name, and where it stands. ``absent``: what such a field
    is worth when it is not there. ``unwritten``: metadata that a status write leaves as it was.
    """

    has_status: bool = False
    """It has a status subresource, so that main and status writes do not touch each other."""
    has_generation: bool = False
    """The server counts changes of the spec; else ``generation`` stays what the creator wrote."""
    counts_annotations: bool = False
    """A change of annotations counts as one of the spec."""
    is_custom: bool = False
    """Defined by a CRD: no strategic merge patch, and only metadata is known to the server."""
    returns_deleted: bool = False
    """A finished deletion answers with the object, not with a Status."""
    needs_version: bool = False
    """A PUT without a resourceVersion is refused."""
    creates_on_update: bool = False
    """A PUT of an object that is not there creates it."""
    has_scale: bool = False
    scale: ScalePaths | None = None
    """For a custom kind with a scale: where it has its replicas."""
    keeps_metadata: bool = False
    """A status write leaves all metadata as it was."""
    has_path_names: bool = False
    """Its names are held to less: whatever can stand in a path, as ``system:node``."""
    unwritten: tuple[str, ...] = ()
    fields: Fields = msgspec.field(default_factory=lambda: META_FIELDS)
    absent: dict[str, str] = {}


WORKLOAD = Rules(has_status=True, has_generation=True, has_scale=True, fields=NAMESPACED_FIELDS)
CUSTOM = Rules(
    has_status=True, has_generation=True, is_custom=True, needs_version=True, keeps_metadata=True
)
PLAIN = Rules()

POD_FIELDS: Fields = {
    **NAMESPACED_FIELDS,
    "spec.nodeName": ("spec", "nodeName"),
    "spec.restartPolicy": ("spec", "restartPolicy"),
    "spec.schedulerName": ("spec", "schedulerName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.phase": ("status", "phase"),
    "status.podIP": ("status", "podIP"),
    "status.nominatedNodeName": ("status", "nominatedNodeName"),
}
EVENT_FIELDS: Fields = {
    **NAMESPACED_FIELDS,
    **{
        f"involvedObject.{name}": ("involvedObject", name)
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")
    },
    "involvedObject.fieldPath": ("involvedObject", "fieldPath"),
    "reason": ("reason",),
    "reportingComponent": ("reportingComponent",),
    "source": ("source", "component"),
    "type": ("type",),
}

_RULES: dict[str, Rules] = {
    "Node": Rules(
        has_status=True,
        fields={**META_FIELDS, "spec.unschedulable": ("spec", "unschedulable")},
        absent={"spec.unschedulable": "false"},
    ),
    "Pod": Rules(
        has_status=True,
        has_generation=True,
        returns_deleted=True,
        unwritten=("ownerReferences",),
        fields=POD_FIELDS,
    ),
    "Namespace": Rules(
        has_status=True,
        returns_deleted=True,
        fields={**META_FIELDS, "status.phase": ("status", "phase")},
    ),
    "Event": Rules(creates_on_update=True, fields=EVENT_FIELDS),
    "ReplicaSet": msgspec.structs.replace(
        WORKLOAD, fields={**NAMESPACED_FIELDS, "status.replicas": ("status", "replicas")}
    ),
    "Deployment": msgspec.structs.replace(WORKLOAD, unwritten=("labels",), counts_annotations=True),
    "StatefulSet": WORKLOAD,
    "DaemonSet": msgspec.structs.replace(WORKLOAD, has_scale=False),
    "Job": msgspec.structs.replace(
        WORKLOAD,
        has_scale=False,
        fields={**NAMESPACED_FIELDS, "status.successful": ("status", "succeeded")},
        absent={"status.successful": "0"},
    ),
    "PodDisruptionBudget": msgspec.structs.replace(WORKLOAD, has_scale=False, needs_version=True),
    "PersistentVolume": Rules(has_status=True, returns_deleted=True),
    "PersistentVolumeClaim": Rules(has_status=True, returns_deleted=True, fields=NAMESPACED_FIELDS),
    "VolumeAttachment": Rules(
        has_status=True,
        returns_deleted=True,
        keeps_metadata=True,
    ),
    "CSINode": Rules(returns_deleted=True),
    "ConfigMap": Rules(fields=NAMESPACED_FIELDS),
    "Lease": Rules(needs_version=True, creates_on_update=True, fields=NAMESPACED_FIELDS),
    "PriorityClass": Rules(has_generation=True),
    "ControllerRevision": Rules(fields=NAMESPACED_FIELDS),
    "Service": Rules(
        has_status=True,
        returns_deleted=True,
        creates_on_update=True,
        fields={
            **NAMESPACED_FIELDS,
            "spec.clusterIP": ("spec", "clusterIP"),
            "spec.type": ("spec", "type"),
        },
    ),
    "Secret": Rules(fields={**NAMESPACED_FIELDS, "type": ("type",)}),
    "ServiceAccount": Rules(returns_deleted=True, fields=NAMESPACED_FIELDS),
    "ResourceQuota": Rules(has_status=True, returns_deleted=True, fields=NAMESPACED_FIELDS),
    "LimitRange": Rules(creates_on_update=True, fields=NAMESPACED_FIELDS),
    **dict.fromkeys(
        ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
        Rules(creates_on_update=True, has_path_names=True, fields=NAMESPACED_FIELDS),
    ),
    "Ingress": Rules(has_status=True, has_generation=True, fields=NAMESPACED_FIELDS),
    "IngressClass": Rules(has_generation=True, fields=NAMESPACED_FIELDS),
    "NetworkPolicy": Rules(has_generation=True, fields=NAMESPACED_FIELDS),
    "RuntimeClass": Rules(creates_on_update=True),
    "CustomResourceDefinition": Rules(has_status=True, has_generation=True, returns_deleted=True),
}

_WITHOUT_STATUS: tuple[str, ...] = ()
"""Our custom kinds that have no status subresource."""


def rules_of(resource: Resource[Any]) -> Rules:
    """Find the row of a kind; what Kubernetes does not bring along is custom."""
    if resource.kind in _RULES:
        return _RULES[resource.kind]
    if resource.is_built_in:
        return PLAIN
    if resource.kind in _WITHOUT_STATUS:
        return msgspec.structs.replace(CUSTOM, has_status=False)
    return CUSTOM
