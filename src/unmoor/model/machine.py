"""What a machine is: the promise of a node, from the launch of its instance to its end.

A Machine is created before the cloud is asked for anything and goes after the instance has gone, so
it is the one object that always says whether there is something to pay for (spec 1.2).

Must not: judge what a machine should do next (``lifecycle``).
"""

from __future__ import annotations

from datetime import datetime

from msgspec import field

from unmoor.model import names
from unmoor.model.base import Condition, Object, Struct, condition_of
from unmoor.model.kubelet import KubeletConfiguration
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.taint import Taint

MACHINE_LAUNCHED = "MachineLaunched"
MACHINE_REGISTERED = "MachineRegistered"
MACHINE_INITIALIZED = "MachineInitialized"
READY = "Ready"
"""True only when the three living conditions are."""
MACHINE_DRIFTED = "MachineDrifted"
MACHINE_EMPTY = "MachineEmpty"
"""R5: its lastTransitionTime is the emptiness clock, moved only when its status changes."""
MACHINE_EXPIRED = "MachineExpired"

LIVING_CONDITIONS = (MACHINE_LAUNCHED, MACHINE_REGISTERED, MACHINE_INITIALIZED)
"""In the order in which a machine comes to life."""
DISRUPTION_CONDITIONS = (MACHINE_DRIFTED, MACHINE_EMPTY, MACHINE_EXPIRED)
"""Independent of each other: set True, or absent."""


class ResourceRequirements(Struct):
    """What the pods that a machine is launched for ask together; quantities as written."""

    requests: dict[str, str | int | float] = field(default_factory=dict)


class TemplateRef(Struct):
    """A reference to the provider's node template (spec 1.1, 1.2)."""

    name: str = ""
    api_version: str = ""
    kind: str = ""


class MachineSpec(Struct):
    """What was asked for (spec 1.2)."""

    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    requirements: tuple[NodeSelectorRequirement, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    kubelet: KubeletConfiguration | None = None
    machine_template_ref: TemplateRef | None = None


class MachineStatus(Struct):
    """What has come of it (spec 1.2); quantities as written."""

    node_name: str = ""
    provider_id: str = field(default="", name="providerID")
    capacity: dict[str, str | int | float] = field(default_factory=dict)
    allocatable: dict[str, str | int | float] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class Machine(Object):
    """``karpenter.sh/v1alpha5`` Machine, cluster-scoped."""

    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of one type, None when nobody has reported it."""
        return condition_of(self.status.conditions, kind)

    def has(self, kind: str) -> bool:
        """True when the condition of this type is "True"."""
        condition = self.condition(kind)
        return condition is not None and condition.is_true

    def since(self, kind: str) -> datetime | None:
        """Return when the condition of this type became what it is; None when it is not True."""
        condition = self.condition(kind)
        return condition.last_transition_time if condition and condition.is_true else None

    @property
    def is_launched(self) -> bool:
        """The cloud has said which instance it is."""
        return self.has(MACHINE_LAUNCHED)

    @property
    def is_registered(self) -> bool:
        """Its node has joined the cluster."""
        return self.has(MACHINE_REGISTERED)

    @property
    def is_initialized(self) -> bool:
        """Its node is ready, with all resources and without startup taints."""
        return self.has(MACHINE_INITIALIZED)

    @property
    def is_empty(self) -> bool:
        """No workload pod is on its node."""
        return self.has(MACHINE_EMPTY)

    @property
    def provider_id(self) -> str:
        """The instance, ``scheme://...``; "" before the launch, which matches nothing (N15)."""
        return self.status.provider_id

    @property
    def linked_to(self) -> str:
        """The instance that a linked machine was made for, "" for all others."""
        return self.metadata.annotations.get(names.LINKED, "")

    @property
    def claims(self) -> tuple[str, ...]:
        """The instances that it stands for: one, normally."""
        return tuple(dict.fromkeys(one for one in (self.provider_id, self.linked_to) if one))

    @property
    def node_name(self) -> str:
        """The node that has joined for it, "" before."""
        return self.status.node_name

    @property
    def provisioner_name(self) -> str:
        """The provisioner it belongs to, "" when nobody has said."""
        return self.metadata.labels.get(names.PROVISIONER_NAME, "")

    @property
    def instance_type(self) -> str:
        """The machine's shape, "" before the launch."""
        return self.metadata.labels.get(names.INSTANCE_TYPE, "")

    @property
    def zone(self) -> str:
        """Where it runs, "" before the launch."""
        return self.metadata.labels.get(names.ZONE, "")

    @property
    def capacity_type(self) -> str:
        """``spot`` or ``on-demand``, "" before the launch."""
        return self.metadata.labels.get(names.CAPACITY_TYPE, "")

    @property
    def replacement_for(self) -> str:
        """The command that it was made for, "" when there is none or that is over."""
        return self.metadata.annotations.get(names.REPLACEMENT_FOR, "")

    @property
    def replaced_types(self) -> tuple[str, ...]:
        """The types of the nodes that it replaced, when consolidation made it for that."""
        written = self.metadata.annotations.get(names.REPLACED_TYPES, "").split(",")
        return tuple(name for name in map(str.strip, written) if name)

    @property
    def managed_by(self) -> str:
        """The cluster whose unmoor runs it; "" makes it someone else's (decisions, "Ours")."""
        return self.metadata.annotations.get(names.MANAGED_BY, "")
