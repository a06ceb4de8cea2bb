"""Volumes: claims, volumes, classes, what a node can attach, and what is attached."""

from __future__ import annotations

from msgspec import field

from unmoor.model.base import Object, Struct
from unmoor.model.node_selector import NodeSelector


class PersistentVolumeClaimSpec(Struct):
    """API reference: v1.PersistentVolumeClaimSpec."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()


class PersistentVolumeClaim(Object):
    """API reference: v1.PersistentVolumeClaim."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class VolumeNodeAffinity(Struct):
    """Where a volume can be reached from."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct):
    """API reference: v1.PersistentVolumeSpec."""

    storage_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None


class PersistentVolume(Object):
    """API reference: v1.PersistentVolume."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class StorageClass(Object):
    """API reference: storage.k8s.io/v1 StorageClass."""

    provisioner: str = ""
    volume_binding_mode: str = "Immediate"


class CSINodeDriver(Struct):
    """One driver on a node."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")


class CSINodeSpec(Struct):
    """API reference: storage.k8s.io/v1 CSINodeSpec."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Object):
    """API reference: storage.k8s.io/v1 CSINode."""

    spec: CSINodeSpec = CSINodeSpec()


class VolumeAttachmentSource(Struct):
    """What is attached."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct):
    """API reference: storage.k8s.io/v1 VolumeAttachmentSpec."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(Struct):
    """API reference: storage.k8s.io/v1 VolumeAttachmentStatus."""

    attached: bool = False


class VolumeAttachment(Object):
    """API reference: storage.k8s.io/v1 VolumeAttachment."""

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
