"""Objects for tests: keyword-only, sensible defaults, fixed names and times.

Whatever a test does not name is ordinary: a node that is ready and ours, a pod that a ReplicaSet
owns and that runs, a machine that has come to life. ``moment(30)`` is thirty seconds later.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict, TypeVar, Unpack

import msgspec

from unmoor.model import disruption as disruptions
from unmoor.model import names
from unmoor.model.base import Condition, ObjectMeta, OwnerReference
from unmoor.model.disruption_budget import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from unmoor.model.instance import CloudInstance, InstanceState
from unmoor.model.machine import (
    LIVING_CONDITIONS,
    READY,
    Machine,
    MachineSpec,
    MachineStatus,
    ResourceRequirements,
    TemplateRef,
)
from unmoor.model.moment import Moment
from unmoor.model.node import Node, NodeSpec, NodeStatus
from unmoor.model.pod import Pod, PodSpec, PodStatus
from unmoor.model.provisioner import Consolidation, Provisioner, ProvisionerSpec
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.selector import LabelSelector
from unmoor.model.snapshot import Identity
from unmoor.model.taint import Taint, Toleration

T = TypeVar("T", bound=msgspec.Struct)
NOW = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=1)
CLUSTER = "harbour"
SCHEME = "sim"
IDENTITY = Identity(cluster=CLUSTER, scheme=SCHEME)
CAPACITY: dict[str, str | int | float] = {"cpu": "4", "memory": "8Gi", "pods": "110"}
TOLERATES_CORDON = Toleration(key=names.UNSCHEDULABLE, operator="Exists", effect="NoSchedule")


def moment(after_s: float = 0.0) -> Moment:
    """``after_s`` seconds after NOW, on both clocks."""
    return Moment(NOW + timedelta(seconds=after_s), 1000.0 + after_s)


def at(after_s: float) -> datetime:
    """The wall time ``after_s`` seconds after NOW."""
    return NOW + timedelta(seconds=after_s)


def condition(
    kind: str, status: str = "True", *, since: datetime = LONG_AGO, reason: str = ""
) -> Condition:
    """One condition."""
    return Condition(type=kind, status=status, reason=reason, last_transition_time=since)


def owner(kind: str, name: str, uid: str = "") -> OwnerReference:
    """A controlling owner reference."""
    return OwnerReference(kind=kind, name=name, uid=uid or f"uid-{kind}-{name}", controller=True)


REPLICA_SET = owner("ReplicaSet", "web")
DAEMON_SET = owner("DaemonSet", "agent")


class NodeFields(TypedDict, total=False):
    """What a test may say about a node."""

    provider_id: str
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[Taint, ...]
    deleted_at: datetime | None
    created_at: datetime
    finalizers: tuple[str, ...]
    owners: tuple[OwnerReference, ...]
    is_cordoned: bool
    is_ready: bool
    is_ours: bool
    is_joined: bool
    disruption: str
    allocatable: dict[str, str | int | float]
    capacity: dict[str, str | int | float]


def node(name: str = "a", **given: Unpack[NodeFields]) -> Node:
    """A node of ours. ``is_joined`` False: as the kubelet alone makes it."""
    is_joined, disruption = given.get("is_joined", True), given.get("disruption", "")
    ours = {names.MANAGED_BY: CLUSTER} if given.get("is_ours", True) and is_joined else {}
    marked = {names.DISRUPTION: disruption, names.CORDONED: disruption} if disruption else {}
    joined = _labels(name) | {names.REGISTERED: "true", names.INITIALIZED: "true"}
    return Node(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-node-{name}",
            resource_version="1",
            creation_timestamp=given.get("created_at", LONG_AGO),
            deletion_timestamp=given.get("deleted_at"),
            labels=(joined if is_joined else {names.HOSTNAME: name}) | given.get("labels", {}),
            annotations=ours | marked | given.get("annotations", {}),
            finalizers=given.get("finalizers", (names.TERMINATION_FINALIZER,)) if is_joined else (),
            owner_references=given.get("owners", ()),
        ),
        spec=NodeSpec(
            provider_id=given.get("provider_id", f"{SCHEME}:///{name}"),
            unschedulable=given.get("is_cordoned", False) or bool(disruption),
            taints=given.get("taints", ()),
        ),
        status=NodeStatus(
            capacity=given.get("capacity", CAPACITY),
            allocatable=given.get("allocatable", CAPACITY),
            conditions=(condition("Ready", "True" if given.get("is_ready", True) else "False"),),
        ),
    )


def _labels(name: str) -> dict[str, str]:
    return {
        names.HOSTNAME: name,
        names.PROVISIONER_NAME: "default",
        names.CAPACITY_TYPE: names.ON_DEMAND,
        names.ZONE: "z1",
        names.INSTANCE_TYPE: "m.large",
    }


class PodFields(TypedDict, total=False):
    """What a test may say about a pod."""

    on: str
    namespace: str
    uid: str
    owners: tuple[OwnerReference, ...]
    labels: dict[str, str]
    annotations: dict[str, str]
    phase: str
    is_ready: bool
    priority_class: str
    grace_s: int | None
    gone_by: datetime | None
    tolerations: tuple[Toleration, ...]
    nominated_to: str
    conditions: tuple[Condition, ...]
    volumes: tuple[Any, ...]
    created_at: datetime


def pod(name: str = "web-1", **given: Unpack[PodFields]) -> Pod:
    """A running pod of a ReplicaSet. ``gone_by`` makes it terminate."""
    ready = (condition("Ready", "True" if given.get("is_ready", True) else "False"),)
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=given.get("namespace", "shop"),
            uid=given.get("uid", "") or f"uid-pod-{given.get('namespace', 'shop')}-{name}",
            resource_version="1",
            creation_timestamp=given.get("created_at", LONG_AGO),
            deletion_timestamp=given.get("gone_by"),
            deletion_grace_period_seconds=None
            if given.get("gone_by") is None
            else given.get("grace_s", 30),
            labels=given.get("labels", {"app": "web"}),
            annotations=given.get("annotations", {}),
            owner_references=given.get("owners", (REPLICA_SET,)),
        ),
        spec=PodSpec(
            node_name=given.get("on", "a"),
            priority_class_name=given.get("priority_class", ""),
            termination_grace_period_seconds=given.get("grace_s", 30),
            tolerations=given.get("tolerations", ()),
            volumes=given.get("volumes", ()),
        ),
        status=PodStatus(
            phase=given.get("phase", "Running"),
            conditions=given.get("conditions", ready),
            nominated_node_name=given.get("nominated_to", ""),
        ),
    )


def daemon_pod(name: str = "agent-1", *, on: str = "a") -> Pod:
    """A pod that every node has."""
    return pod(
        name, on=on, namespace="kube-system", owners=(DAEMON_SET,), tolerations=(TOLERATES_CORDON,)
    )


def mirror_pod(name: str = "proxy-1", *, on: str = "a") -> Pod:
    """The mirror of a static pod: its owner is the Node."""
    return pod(name, on=on, namespace="kube-system", owners=(owner("Node", on),))


class MachineFields(TypedDict, total=False):
    """What a test may say about a machine."""

    provider_id: str
    provisioner: str
    node_name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    conditions: tuple[Condition, ...]
    created_at: datetime
    deleted_at: datetime | None
    finalizers: tuple[str, ...]
    owners: tuple[OwnerReference, ...]
    taints: tuple[Taint, ...]
    startup_taints: tuple[Taint, ...]
    requests: dict[str, str | int | float]
    requirements: tuple[NodeSelectorRequirement, ...]
    capacity: dict[str, str | int | float]
    is_ours: bool
    is_new: bool


def machine(name: str = "m-a", **given: Unpack[MachineFields]) -> Machine:
    """A machine of ours that is up; ``is_new`` makes it one that nobody has looked at yet."""
    is_new = given.get("is_new", False)
    ours = {names.MANAGED_BY: CLUSTER} if given.get("is_ours", True) else {}
    living = tuple(condition(kind) for kind in (*LIVING_CONDITIONS, READY))
    known = f"{SCHEME}:///{name.removeprefix('m-')}"
    return Machine(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-machine-{name}",
            resource_version="1",
            creation_timestamp=given.get("created_at", LONG_AGO),
            deletion_timestamp=given.get("deleted_at"),
            labels=({} if is_new else _labels(given.get("node_name", "a")))
            | {names.PROVISIONER_NAME: given.get("provisioner", "default")}
            | given.get("labels", {}),
            annotations=ours | given.get("annotations", {}),
            finalizers=() if is_new else given.get("finalizers", (names.TERMINATION_FINALIZER,)),
            owner_references=given.get("owners", ()),
        ),
        spec=MachineSpec(
            taints=given.get("taints", ()),
            startup_taints=given.get("startup_taints", ()),
            resources=ResourceRequirements(requests=given.get("requests", {})),
            requirements=given.get("requirements", ()),
        ),
        status=MachineStatus(
            node_name="" if is_new else given.get("node_name", "a"),
            provider_id=given.get("provider_id", "" if is_new else known),
            capacity={} if is_new else (given.get("capacity", CAPACITY)),
            allocatable={} if is_new else CAPACITY,
            conditions=given.get("conditions", () if is_new else living),
        ),
    )


def provisioner(
    name: str = "default",
    *,
    ttl_after_empty_s: int | None = None,
    is_consolidated: bool | None = None,
    annotations: dict[str, str] | None = None,
    deleted_at: datetime | None = None,
    weight: int | None = None,
) -> Provisioner:
    """A valid provisioner with nothing switched on."""
    consolidation = None if is_consolidated is None else Consolidation(enabled=is_consolidated)
    return Provisioner(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-provisioner-{name}",
            resource_version="1",
            creation_timestamp=LONG_AGO,
            deletion_timestamp=deleted_at,
            annotations=annotations or {},
        ),
        spec=ProvisionerSpec(
            provider_ref=TemplateRef(name="default"),
            ttl_seconds_after_empty=ttl_after_empty_s,
            consolidation=consolidation,
            weight=weight,
        ),
    )


class BudgetFields(TypedDict, total=False):
    """What a test may say about a budget."""

    namespace: str
    allowed: int
    selector: dict[str, str]
    min_available: int | str | None
    max_unavailable: int | str | None
    healthy: int
    needed: int
    policy: str


def budget(name: str = "web", **given: Unpack[BudgetFields]) -> PodDisruptionBudget:
    """A budget over the pods labelled app=web that allows nothing."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(
            name=name,
            namespace=given.get("namespace", "shop"),
            uid=f"uid-budget-{name}",
            resource_version="1",
        ),
        spec=PodDisruptionBudgetSpec(
            min_available=given.get("min_available", 1),
            max_unavailable=given.get("max_unavailable"),
            selector=LabelSelector(match_labels=given.get("selector", {"app": "web"})),
            unhealthy_pod_eviction_policy=given.get("policy", "IfHealthyBudget"),
        ),
        status=PodDisruptionBudgetStatus(
            disruptions_allowed=given.get("allowed", 0),
            current_healthy=given.get("healthy", 1),
            desired_healthy=given.get("needed", 1),
            expected_pods=given.get("healthy", 1),
        ),
    )


def disruption(
    name: str = "emptiness-1",
    *,
    nodes: tuple[str, ...] = ("a",),
    method: str = "emptiness",
    phase: disruptions.DisruptionPhase = disruptions.DisruptionPhase.PENDING,
    created_at: datetime = NOW,
    **status: Any,
) -> disruptions.Disruption:
    """A command about nodes of these names."""
    return disruptions.Disruption(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-disruption-{name}",
            resource_version="1",
            creation_timestamp=created_at,
        ),
        spec=disruptions.DisruptionSpec(
            method=method,
            nodes=tuple(
                disruptions.DisruptedNode(
                    name=one,
                    uid=f"uid-node-{one}",
                    machine=f"m-{one}",
                    machine_uid=f"uid-machine-m-{one}",
                )
                for one in nodes
            ),
        ),
        status=disruptions.DisruptionStatus(phase=phase, **status),
    )


class InstanceFields(TypedDict, total=False):
    """What a test may say about an instance."""

    state: InstanceState
    cluster: str
    token: str
    machine_name: str
    launched_at: datetime
    labels: dict[str, str]


def instance(name: str = "a", **given: Unpack[InstanceFields]) -> CloudInstance:
    """A running instance of this cluster."""
    return CloudInstance(
        provider_id=f"{SCHEME}:///{name}",
        state=given.get("state", InstanceState.RUNNING),
        instance_type="m.large",
        zone="z1",
        capacity_type=names.ON_DEMAND,
        cluster=given.get("cluster", CLUSTER),
        token=given.get("token", ""),
        machine=given.get("machine_name", "") or f"m-{name}",
        launched_at=given.get("launched_at", LONG_AGO),
        labels=given.get("labels", {}),
        capacity={"cpu": 4000, "memory": 8 * 2**30, "pods": 110},
        allocatable={"cpu": 3900, "memory": 7 * 2**30, "pods": 110},
    )


def changed(obj: T, **fields: Any) -> T:
    """The same object with some fields changed; ``metadata__labels`` reaches one level down."""
    direct: dict[str, Any] = {}
    for name, value in fields.items():
        part, deeper, attribute = name.partition("__")
        if deeper:
            held = direct.get(part, getattr(obj, part))
            direct[part] = msgspec.structs.replace(held, **{attribute: value})
        else:
            direct[part] = value
    return msgspec.structs.replace(obj, **direct)
