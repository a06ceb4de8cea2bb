"""Which volumes do pods have, how far have their claims come, and where can they be reached from?

A claim is bound to a volume in one zone when its pod runs, and for VOLUME_BOUND in any case.

Must not: place pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model import kinds, names
from unmoor.model.base import JSON
from unmoor.sim.clusters import bodies
from unmoor.sim.clusters.apps import App, Constrain, Scene, Volume
from unmoor.sim.clusters.mix import Kind
from unmoor.sim.clusters.nodes import DRIVER
from unmoor.sim.manifests import Manifest

STANDARD = "standard"
IMMEDIATE = "immediate"
ZONAL = "zonal"
"""May be in the first two zones only."""
GIB_OF_VOLUME = 8


def _give(app: App, kind: Kind, storage_class: str) -> None:
    volume = Volume(f"data-{len(app.volumes)}", kind, storage_class)
    app.volumes = (*app.volumes, volume)
    if kind is Kind.VOLUME_EPHEMERAL:
        template = {"metadata": {"labels": {"app": app.name}}, "spec": _claim_spec(volume)}
        source = {"ephemeral": {"volumeClaimTemplate": template}}
        app.spec.setdefault("volumes", []).append({"name": volume.name, **source})
    mounts = app.main.setdefault("volumeMounts", [])
    mounts.append({"name": volume.name, "mountPath": f"/{volume.name}"})


def bound(app: App, turn: int, scene: Scene) -> None:
    """In some zone since long."""
    del turn, scene
    _give(app, Kind.VOLUME_BOUND, STANDARD)


def immediate(app: App, turn: int, scene: Scene) -> None:
    """Should have been made at once, and has not been."""
    del turn, scene
    _give(app, Kind.VOLUME_IMMEDIATE, IMMEDIATE)


def waiting(app: App, turn: int, scene: Scene) -> None:
    """Made where the pod goes, in one class in some zones only."""
    del scene
    _give(app, Kind.VOLUME_WAITING, (ZONAL, STANDARD)[turn % 2])


def ephemeral(app: App, turn: int, scene: Scene) -> None:
    """The same, and gone with the pod."""
    del scene
    _give(app, Kind.VOLUME_EPHEMERAL, (STANDARD, ZONAL)[turn % 2])


HOW: dict[Kind, Constrain] = {
    Kind.VOLUME_BOUND: bound,
    Kind.VOLUME_IMMEDIATE: immediate,
    Kind.VOLUME_WAITING: waiting,
    Kind.VOLUME_EPHEMERAL: ephemeral,
}


def zones_for(app: App, ordinal: int, zones: tuple[str, ...]) -> tuple[str, ...]:
    """The zones from which all volumes of a pod can be reached."""
    allowed = zones
    for one in app.volumes:
        if one.kind is Kind.VOLUME_BOUND:
            home = home_of(app, ordinal, zones)
            allowed = tuple(zone for zone in allowed if zone == home)
        elif one.storage_class == ZONAL:
            allowed = tuple(zone for zone in allowed if zone in _zonal(zones))
    return allowed


def home_of(app: App, ordinal: int, zones: tuple[str, ...]) -> str:
    """The zone of volumes that are there already: in turns."""
    return zones[(app.number + ordinal) % len(zones)]


def _zonal(zones: tuple[str, ...]) -> tuple[str, ...]:
    return zones[:2]


# Objects.


def classes(zones: tuple[str, ...]) -> Iterator[Manifest]:
    """The StorageClasses; the first is the default."""
    for name, mode in (
        (STANDARD, "WaitForFirstConsumer"),
        (IMMEDIATE, "Immediate"),
        (ZONAL, "WaitForFirstConsumer"),
    ):
        is_default = {names.DEFAULT_STORAGE_CLASS: names.TRUE} if name == STANDARD else {}
        ref, body = bodies.made(kinds.STORAGE_CLASSES, name, annotations=is_default)
        body |= {"provisioner": DRIVER, "volumeBindingMode": mode, "reclaimPolicy": "Delete"}
        if name == ZONAL:
            term = {"key": names.ZONE, "values": list(_zonal(zones))}
            body["allowedTopologies"] = [{"matchLabelExpressions": [term]}]
        yield ref, body


def claim_name(volume: Volume, pod: str) -> str:
    """As a StatefulSet calls it, or as the ephemeral-volume controller does."""
    parts = (pod, volume.name) if volume.kind is Kind.VOLUME_EPHEMERAL else (volume.name, pod)
    return "-".join(parts)


def volumes_of(app: App, pod: str) -> list[JSON]:
    """The volumes in the spec of a pod."""
    own = [
        {"name": one.name, "persistentVolumeClaim": {"claimName": claim_name(one, pod)}}
        for one in app.volumes
        if one.kind is not Kind.VOLUME_EPHEMERAL
    ]
    return [*app.spec.get("volumes", ()), *own]


def templates_of(app: App) -> list[JSON]:
    """The claim templates of its StatefulSet."""
    return [
        {"metadata": {"name": one.name}, "spec": _claim_spec(one)}
        for one in app.volumes
        if one.kind is not Kind.VOLUME_EPHEMERAL
    ]


def _claim_spec(volume: Volume) -> JSON:
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": volume.storage_class,
        "resources": {"requests": {"storage": f"{GIB_OF_VOLUME}Gi"}},
    }


def claims_of(app: App, pod: JSON, zone: str, home: str) -> Iterator[Manifest]:
    """The claims of a pod, and their volumes.

    ``zone`` "": it does not run. ``home``: where its VOLUME_BOUND ones are all the same.
    """
    for volume in app.volumes:
        where = home if volume.kind is Kind.VOLUME_BOUND else zone
        name = claim_name(volume, pod["metadata"]["name"])
        meta: JSON = {"labels": {"app": app.name}}
        if volume.kind is Kind.VOLUME_EPHEMERAL:
            meta |= {"ownerReferences": [bodies.owner(pod)]}
        spec = _claim_spec(volume)
        if not where:
            ref, body = bodies.made(kinds.CLAIMS, name, spec, app.namespace, **meta)
            yield ref, {**body, "status": {"phase": "Pending"}}
            continue
        bound_to = f"pv-{bodies.uid_of(kinds.CLAIMS, name, app.namespace)}"
        spec["volumeName"] = bound_to
        meta |= {"annotations": {names.BIND_COMPLETED: "yes"}}
        ref, body = bodies.made(kinds.CLAIMS, name, spec, app.namespace, **meta)
        capacity = {"storage": f"{GIB_OF_VOLUME}Gi"}
        yield _volume(bound_to, body, where)
        status = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": capacity}
        yield ref, {**body, "status": status}


def _volume(name: str, claim: JSON, zone: str) -> Manifest:
    term = {"matchExpressions": [bodies.expression(names.ZONE, "In", zone)]}
    meta = claim["metadata"]
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": f"{GIB_OF_VOLUME}Gi"},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
        },
        "csi": {"driver": DRIVER, "volumeHandle": f"vol-{meta['uid']}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": claim["spec"]["storageClassName"],
    }
    ref, body = bodies.made(kinds.VOLUMES, name, spec)
    return ref, {**body, "status": {"phase": "Bound"}}
