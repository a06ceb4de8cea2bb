"""Volumes: claims, volumes, classes, what a node can attach, and what is attached."""

from __future__ import annotations

from msgspec import field

from unmoor.model import names
from unmoor.model.base import Object, Struct
from unmoor.model.node_selector import NodeSelector
from unmoor.model.scheduling import ClaimSpec


class PersistentVolumeClaim(Object):
    """API reference: v1.PersistentVolumeClaim."""

    spec: ClaimSpec = ClaimSpec()

    @property
    def is_bound(self) -> bool:
        """It names its volume, and its controller has agreed: before that, nobody may use it."""
        return bool(self.spec.volume_name) and names.BIND_COMPLETED in self.metadata.annotations


class VolumeNodeAffinity(Struct):
    """Where a volume can be reached from."""

    required: NodeSelector | None = None


class CSIVolume(Struct):
    """A volume of a CSI driver; the handle says whether two are the same."""

    driver: str = ""
    volume_handle: str = ""


class DiskSource(Struct):
    """A volume of one of the plugins that Kubernetes once had built in."""

    volume_id: str = field(default="", name="volumeID")


class PersistentVolumeSpec(Struct):
    """API reference: v1.PersistentVolumeSpec."""

    storage_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolume | None = None
    aws_elastic_block_store: DiskSource | None = None


class PersistentVolume(Object):
    """API reference: v1.PersistentVolume."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class TopologyLabelRequirement(Struct):
    """One label, and the values that it may have (API reference: v1.TopologySelectorTerm)."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(Struct):
    """All of the labels; a StorageClass has several such terms, of which one must hold."""

    match_label_expressions: tuple[TopologyLabelRequirement, ...] = ()


class StorageClass(Object):
    """API reference: storage.k8s.io/v1 StorageClass."""

    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()

    @property
    def is_default(self) -> bool:
        """Claims that name no class get this one, or the newest of several that say so."""
        return self.metadata.annotations.get(names.DEFAULT_STORAGE_CLASS) == names.TRUE

    @property
    def is_waiting(self) -> bool:
        """A volume is made only when a pod that uses it has been given a node."""
        return self.volume_binding_mode == "WaitForFirstConsumer"


class DriverRoom(Struct):
    """How many volumes of one driver a node can have; None: as many as one likes."""

    count: int | None = None


class CSINodeDriver(Struct):
    """One driver on a node."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    allocatable: DriverRoom | None = None


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
