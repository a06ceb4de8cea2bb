"""The small kinds: namespaces, config maps, leases, events, priority classes, instances."""

from __future__ import annotations

from datetime import datetime

from msgspec import field

from unmoor.model.base import Object, Ref, Struct


class Namespace(Object):
    """API reference: v1.Namespace."""


class ConfigMap(Object):
    """API reference: v1.ConfigMap."""

    data: dict[str, str] = {}


class PriorityClass(Object):
    """API reference: scheduling.k8s.io/v1 PriorityClass."""

    value: int = 0
    global_default: bool = False


class LeaseSpec(Struct):
    """API reference: coordination.k8s.io/v1 LeaseSpec; times in whole microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(Object):
    """API reference: coordination.k8s.io/v1 Lease."""

    spec: LeaseSpec = LeaseSpec()


class ObjectReference(Struct):
    """API reference: v1.ObjectReference."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""


class EventSource(Struct):
    """Which component spoke."""

    component: str = ""


class Event(Object):
    """API reference: v1.Event, the kind that ``kubectl describe`` shows."""

    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    type: str = "Normal"
    count: int = 0
    source: EventSource = EventSource()
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None


SIMULATED_SCHEME = "sim"
"""Of the provider ids of simulated machines: ``sim:///zone/name``."""
SIMULATED_SHELF = Ref("ConfigMap", "unmoor-sim-cloud", namespace="kube-system")
"""Where the simulated cloud reads what it has none of."""
UNAVAILABLE = "unavailable"
"""Its key: one stock-out a line."""


class InstanceSpec(Struct):
    """A simulated machine as asked for (``sim.unmoor.dev/v1alpha1``)."""

    cluster: str = ""
    token: str = ""
    machine: str = ""
    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""
    image: str = ""
    subnet: str = ""
    security_groups: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    taints: tuple[dict[str, str], ...] = ()
    tags: dict[str, str] = {}
    is_terminating: bool = field(default=False, name="terminate")


class InstanceStatus(Struct):
    """What became of it: phase Pending, Running, ShuttingDown or Terminated."""

    phase: str = "Pending"
    node_name: str = ""
    launched_at: datetime | None = None
    running_at: datetime | None = None


class Instance(Object):
    """A machine of the simulated cloud, so that a real control plane can hold a pretended fleet."""

    spec: InstanceSpec = InstanceSpec()
    status: InstanceStatus = InstanceStatus()

    @property
    def provider_id(self) -> str:
        """What its Node carries in ``spec.providerID``."""
        return f"{SIMULATED_SCHEME}:///{self.spec.zone}/{self.name}"
