"""What a pod asks of the node that it is to run on, as the API writes it.

Requests, ports, volumes, affinity and spreading (API reference: core/v1). Structs only: any text
decodes, and what it means, or that it means nothing, is the engine's to say.

Must not: evaluate anything.
"""

from __future__ import annotations

from msgspec import field

from unmoor.model.base import Struct
from unmoor.model.node_selector import NodeSelector, NodeSelectorTerm
from unmoor.model.selector import LabelSelector

DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"
HONOR = "Honor"
IGNORE = "Ignore"


class ResourceRequirements(Struct):
    """Requests and limits as written: resource name to quantity."""

    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class ContainerPort(Struct):
    """A port of a container; only ``host_port`` makes pods get in each other's way."""

    host_port: int = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")
    container_port: int = 0


class Container(Struct):
    """One container; ``restart_policy`` "Always" on an init container makes it a sidecar."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None


class ContainerStatus(Struct):
    """What a container has been given, which may not be what it asks for any more.

    ``resources``: what it runs with; ``allocated_resources``: the requests that its kubelet has
    granted.
    """

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, str | int | float] = {}


class PreferredSchedulingTerm(Struct):
    """A node that would be better, by ``weight`` (1 to 100)."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Struct):
    """Which nodes, by their labels."""

    required: NodeSelector | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredSchedulingTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Struct):
    """Which other pods, and how near: in the same domain of ``topology_key``."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Struct):
    """Other pods that it would be better to be near to, or far from, by ``weight`` (1 to 100)."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Struct):
    """Which other pods to be near to; as anti-affinity: to keep away from."""

    required: tuple[PodAffinityTerm, ...] = field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Struct):
    """Node affinity, pod affinity and pod anti-affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Struct):
    """How evenly pods are to be spread over the domains of ``topology_key``.

    The policies are None where the API server's default holds: Honor for node affinity, Ignore for
    taints.
    """

    topology_key: str = ""
    max_skew: int = 1
    when_unsatisfiable: str = DO_NOT_SCHEDULE
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    match_label_keys: tuple[str, ...] = ()
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class SchedulingGate(Struct):
    """Who has not yet agreed that the pod may be scheduled."""

    name: str = ""


class ClaimSource(Struct):
    """Which PersistentVolumeClaim a volume is."""

    claim_name: str = ""


class EmptyDirSource(Struct):
    """A directory that lives and dies with the pod; what it is made of does not matter here."""


class ClaimSpec(Struct):
    """API reference: v1.PersistentVolumeClaimSpec, as far as it decides where a pod may run."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()


class ClaimTemplate(Struct):
    """The claim that is made for a pod's own volume."""

    spec: ClaimSpec = ClaimSpec()


class EphemeralSource(Struct):
    """A volume with a claim of its own, called ``<pod>-<volume>``."""

    volume_claim_template: ClaimTemplate | None = None


class CSIVolumeSource(Struct):
    """A volume that a CSI driver makes inline, without a claim."""

    driver: str = ""


class EBSDisk(Struct):
    """API reference: v1.AWSElasticBlockStoreVolumeSource."""

    volume_id: str = field(default="", name="volumeID")


class GCEDisk(Struct):
    """API reference: v1.GCEPersistentDiskVolumeSource."""

    pd_name: str = ""
    read_only: bool = False


class ISCSIDisk(Struct):
    """API reference: v1.ISCSIVolumeSource."""

    iqn: str = ""
    read_only: bool = False


class RBDDisk(Struct):
    """API reference: v1.RBDVolumeSource."""

    monitors: tuple[str, ...] = ()
    pool: str = ""
    image: str = ""
    read_only: bool = False


class PodResourceClaim(Struct):
    """Devices that a pod asks for by a ResourceClaim; which they are, the claim says."""

    name: str = ""


class Volume(Struct):
    """One volume of a pod; only claims tie a pod to something that must be detached."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None
    csi: CSIVolumeSource | None = None
    empty_dir: EmptyDirSource | None = None
    aws_elastic_block_store: EBSDisk | None = None
    gce_persistent_disk: GCEDisk | None = None
    iscsi: ISCSIDisk | None = None
    rbd: RBDDisk | None = None
