"""Objects as one would write them down, so short that a row of facts can be read at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from unmoor.model.base import JSON

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
ROOM: Final = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def node(
    name: str,
    *,
    zone: str = "",
    labels: Mapping[str, str] = {},
    taints: str = "",
    room: Mapping[str, str] = {},
    **spec: object,
) -> JSON:
    """A node with 4 CPUs and its hostname; ``taints`` as ``key=value:Effect key:Effect``."""
    own = {HOSTNAME: name} | ({ZONE: zone} if zone else {})
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **labels}},
        "spec": {"taints": [_taint(one) for one in taints.split()], **spec},
        "status": {"allocatable": {**ROOM, **room}},
    }


def _taint(text: str) -> JSON:
    what, _, effect = text.rpartition(":")
    key, _, value = what.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(
    name: str = "new",
    *,
    on: str = "",
    labels: Mapping[str, str] = {},
    namespace: str = "default",
    cpu: str = "",
    **spec: object,
) -> JSON:
    """A pod to come, or one that runs ``on`` a node; the rest of its spec in the API's words."""
    where = {"nodeName": on} if on else {}
    containers = [container(cpu=cpu) if cpu else {}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {"containers": containers, **where, **spec},
    }


def ended(body: JSON) -> JSON:
    """The pod has done its work and stays as a record."""
    return {**body, "status": {"phase": "Succeeded"}}


def leaving(body: JSON) -> JSON:
    """The pod is being deleted and still there."""
    return {**body, "metadata": {**body["metadata"], "deletionTimestamp": "2024-05-01T12:00:00Z"}}


def container(*, limits: Mapping[str, str] = {}, always: bool = False, **requests: str) -> JSON:
    """A container; ``always`` makes a sidecar of an init container."""
    resources = {"requests": requests, "limits": dict(limits)}
    return {"resources": resources, **({"restartPolicy": "Always"} if always else {})}


def namespace(name: str, **labels: str) -> JSON:
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def tolerations(*all_of: Mapping[str, str]) -> JSON:
    return {"tolerations": list(all_of)}


def expression(key: str, operator: str, *values: str) -> JSON:
    """One expression of a selector."""
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def wants(*terms: Sequence[JSON]) -> JSON:
    """Required node affinity: one of the terms, each of which is a list of expressions."""
    selector = {"nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]}
    return {"affinity": {"nodeAffinity": {REQUIRED: selector}}}


REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def selecting(**labels: str) -> JSON:
    """A label selector."""
    return {"matchLabels": labels}


def spread(key: str = ZONE, selector: JSON | None = None, **more: object) -> JSON:
    """A hard spread constraint of skew 1 over pods with app=web."""
    return {
        "topologyKey": key,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selecting(app="web") if selector is None else selector,
        **more,
    }


def spreads(*constraints: JSON) -> JSON:
    return {"topologySpreadConstraints": list(constraints)}


def term(key: str = ZONE, selector: JSON | None = None, **more: object) -> JSON:
    """A pod affinity term that selects pods with app=db."""
    selector = selecting(app="db") if selector is None else selector
    return {"topologyKey": key, "labelSelector": selector, **more}


def near(*terms: JSON) -> JSON:
    """Required pod affinity."""
    return {"affinity": {"podAffinity": {REQUIRED: list(terms)}}}


def apart(*terms: JSON) -> JSON:
    """Required pod anti-affinity."""
    return {"affinity": {"podAntiAffinity": {REQUIRED: list(terms)}}}


def claim(name: str, *, volume: str = "", storage_class: str = "", **annotations: str) -> JSON:
    """A claim of the namespace default; with ``volume`` it is bound to that volume."""
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "annotations": {**bound, **annotations}},
        "spec": {**_asked(storage_class), **({"volumeName": volume} if volume else {})},
    }


def _asked(storage_class: str) -> JSON:
    return {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage_class,
    }


def volume(
    name: str,
    *,
    claimed: str = "",
    zone: str = "",
    storage_class: str = "",
    labels: Mapping[str, str] = {},
    driver: str = "disks.example.com",
) -> JSON:
    """A volume, ``claimed`` or free; with ``zone`` it can be reached from there only."""
    reach = {"nodeSelectorTerms": [{"matchExpressions": [expression(ZONE, "In", zone)]}]}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": driver, "volumeHandle": name},
            "storageClassName": storage_class,
            **({"nodeAffinity": {"required": reach}} if zone else {}),
            **({"claimRef": {"namespace": "default", "name": claimed}} if claimed else {}),
        },
        "status": {"phase": "Bound" if claimed else "Available"},
    }


def storage_class(
    name: str, *, waits: bool = True, provisioner: str = "disks.example.com", zones: str = ""
) -> JSON:
    """A class; ``zones``: where its volumes may be made, all of them in one term."""
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": zones.split()}]}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        **({"allowedTopologies": allowed} if zones else {}),
    }


def csi_node(name: str, *, count: int, driver: str = "disks.example.com") -> JSON:
    """How many volumes of a driver the node can have."""
    told = {"name": driver, "nodeID": name, "allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [told]},
    }


def attachment(volume: str, *, on: str, driver: str = "disks.example.com") -> JSON:
    """The volume is attached to the node, or is on its way off."""
    source = {"persistentVolumeName": volume}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"{volume}-{on}"},
        "spec": {"attacher": driver, "nodeName": on, "source": source},
    }


def mounts(*claims: str) -> JSON:
    """Volumes that are claims."""
    return {
        "volumes": [
            {"name": f"v{at}", "persistentVolumeClaim": {"claimName": name}}
            for at, name in enumerate(claims)
        ]
    }
