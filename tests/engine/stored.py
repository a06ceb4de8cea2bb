"""What random scenes find in the cluster besides nodes and pods: namespaces, claims, volumes."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.engine.scenes import ZONES, as_object
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.cluster import Namespace
from unmoor.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

NAMESPACES = ("default", "other")
DRIVER = "disks.example.com"
MADE_FOR = {
    **{f"p{owner}-0-v": f"uid-p{owner}-0" for owner in range(3)},
    "p0-1-v": "uid-of-an-earlier-pod",
}
"""Claims of pods' own volumes, and the uids of the pods that they were made for."""


def _claims() -> list[Object]:
    zonal = {"key": names.ZONE, "operator": "In", "values": [ZONES[1]]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [zonal]}]}}
    found: list[Object] = [
        as_object(Namespace, {"metadata": {"name": "default", "labels": {"team": "a"}}}),
        as_object(Namespace, {"metadata": {"name": "other", "labels": {"team": "b"}}}),
        as_object(
            PersistentVolume,
            {
                "metadata": {"name": "v"},
                "spec": {"csi": {"driver": DRIVER, "volumeHandle": "h"}, "nodeAffinity": affinity},
            },
        ),
        as_object(
            VolumeAttachment,
            {
                "metadata": {"name": "v"},
                "spec": {
                    "attacher": DRIVER,
                    "nodeName": "node-1",
                    "source": {"persistentVolumeName": "v"},
                },
            },
        ),
        as_object(StorageClass, {"metadata": {"name": "now"}, "provisioner": DRIVER}),
        as_object(
            StorageClass,
            {
                "metadata": {"name": "fast"},
                "provisioner": DRIVER,
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": names.ZONE, "values": list(ZONES[:2])}]}
                ],
            },
        ),
    ]
    specs: tuple[tuple[str, dict[str, Any]], ...] = (
        ("bound", {"volumeName": "v"}),
        ("waiting", {"storageClassName": "fast"}),
        ("second", {"storageClassName": "fast"}),
        ("unbound", {"storageClassName": "now"}),
        *((name, {"storageClassName": "fast"}) for name in MADE_FOR),
        ("mine", {"storageClassName": "fast", "accessModes": ["ReadWriteOncePod"]}),
    )
    for namespace, (name, spec) in product(NAMESPACES, specs):
        bound = {"annotations": {names.BIND_COMPLETED: "yes"}} if "volumeName" in spec else {}
        meta = {"name": name, "namespace": namespace, **bound, "ownerReferences": []}
        if name in MADE_FOR:
            owner = {"apiVersion": "v1", "kind": "Pod", "name": name[:-2], "uid": MADE_FOR[name]}
            meta["ownerReferences"] = [{**owner, "controller": True}]
        found.append(as_object(PersistentVolumeClaim, {"metadata": meta, "spec": spec}))
    return found


OBJECTS = _claims()
