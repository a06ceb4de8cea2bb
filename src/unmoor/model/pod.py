"""Pods, and what kind of pod each one is.

Answers only what a pod *is* (DaemonSet-owned, static, terminal, ...). Which pods count, block or
are evicted is policy: ``unmoor.policy.pods``. What a pod asks of the node that it is to run on is
in ``model.scheduling``; what that means is the engine's.
"""

from __future__ import annotations

from datetime import datetime

from unmoor.model import names
from unmoor.model.base import ConditionState, Object, Struct, condition_of
from unmoor.model.moment import later
from unmoor.model.scheduling import (
    Affinity,
    Container,
    ContainerStatus,
    PodResourceClaim,
    ResourceRequirements,
    SchedulingGate,
    TopologySpreadConstraint,
    Volume,
)
from unmoor.model.taint import Toleration


class PodSpec(Struct):
    """API reference: v1.PodSpec."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: dict[str, str | int | float] = {}
    tolerations: tuple[Toleration, ...] = ()
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    termination_grace_period_seconds: int | None = None
    host_network: bool = False
    scheduler_name: str = ""


class PodStatus(Struct):
    """API reference: v1.PodStatus."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    conditions: tuple[ConditionState, ...] = ()
    start_time: datetime | None = None
    nominated_node_name: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, str | int | float] = {}


class Pod(Object):
    """API reference: v1.Pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def node_name(self) -> str:
        """The node that the pod is bound to, "" while it is pending."""
        return self.spec.node_name

    @property
    def is_gated(self) -> bool:
        """Somebody has said that it is not to be scheduled yet (``schedulingGates``)."""
        return bool(self.spec.scheduling_gates)

    @property
    def is_unschedulable(self) -> bool:
        """The scheduler has found no place for it, and has said so (spec 9.2)."""
        said = condition_of(self.status.conditions, "PodScheduled")
        return said is not None and said.status == "False" and said.reason == "Unschedulable"

    @property
    def is_resize_infeasible(self) -> bool:
        """Its node will never give it what it asks for by now."""
        said = condition_of(self.status.conditions, "PodResizePending")
        return said is not None and said.reason == "Infeasible"

    @property
    def nominated_to(self) -> str:
        """The node that the scheduler is making room on for this pod, "" once it is bound."""
        return "" if self.spec.node_name else self.status.nominated_node_name

    @property
    def is_daemon(self) -> bool:
        """Owned by a DaemonSet: every node has its own, so none has to move (001:28 as R1)."""
        owner = self.metadata.controller
        return owner is not None and owner.kind == "DaemonSet"

    @property
    def is_static(self) -> bool:
        """The mirror of a static pod: it lives in a file on the node, not in the API."""
        if names.MIRROR_POD in self.metadata.annotations:
            return True
        for owner in self.metadata.owner_references:  # noqa: SIM110 - asked of every pod
            if owner.kind == "Node":
                return True
        return False

    @property
    def is_of_its_node(self) -> bool:
        """A DaemonSet's or static: it is nowhere else, and goes with its node."""
        return self.is_daemon or self.is_static

    @property
    def is_terminal(self) -> bool:
        """Finished, whatever the outcome."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_naked(self) -> bool:
        """Nobody will make another one (001:66)."""
        return self.metadata.controller is None and not self.is_static

    @property
    def has_empty_dir(self) -> bool:
        """Data of it are lost with it."""
        return any(volume.empty_dir is not None for volume in self.spec.volumes)

    @property
    def is_ready(self) -> bool:
        """Its Ready condition is True."""
        ready = condition_of(self.status.conditions, "Ready")
        return ready is not None and ready.is_true

    @property
    def is_do_not_evict(self) -> bool:
        """Carries ``karpenter.sh/do-not-evict`` with exactly "true" (spec 1.6)."""
        return self.metadata.annotations.get(names.DO_NOT_EVICT) == names.TRUE

    @property
    def grace_s(self) -> int:
        """Seconds that the pod asks for between SIGTERM and SIGKILL; the API's default is 30."""
        grace = self.spec.termination_grace_period_seconds
        return 30 if grace is None else max(grace, 0)

    @property
    def gone_by(self) -> datetime | None:
        """When a terminating pod should be gone: the server adds the grace when it stamps it."""
        return self.metadata.deletion_timestamp

    @property
    def longest_grace_s(self) -> int:
        """How long it may take to stop at most: what it asks for, or what its deletion allows."""
        return max(self.grace_s, self.metadata.deletion_grace_period_seconds or 0)

    @property
    def stops_by(self) -> datetime | None:
        """When a terminating pod stops at the latest.

        A deletion whose grace is shortened is stamped as if it had been asked for like that from
        the start, but the kubelet counts the shorter grace from when it hears of it. What the pod
        asks for is never exceeded.
        """
        grace_s = self.metadata.deletion_grace_period_seconds
        if self.gone_by is None or grace_s is None or grace_s >= self.grace_s:
            return self.gone_by
        return later(self.gone_by, self.grace_s - grace_s)

    def is_stuck(self, now: datetime, tolerance_s: float) -> bool:
        """True when it is still there ``tolerance_s`` seconds after it should be gone (5.2)."""
        gone_by = self.stops_by
        return gone_by is not None and now > later(gone_by, tolerance_s)
