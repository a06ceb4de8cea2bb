"""Objects that only the engine's tests need: types, DaemonSets, pods with requests."""

from __future__ import annotations

from typing import Any

import msgspec

from tests import builders
from unmoor.model import names
from unmoor.model.base import ObjectMeta
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.machine import MACHINE_LAUNCHED, Machine
from unmoor.model.node import Node
from unmoor.model.node_selector import NodeSelector, NodeSelectorTerm
from unmoor.model.pod import Pod, PodSpec
from unmoor.model.provisioner import Limits, Provisioner
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.scheduling import Affinity, Container, NodeAffinity, ResourceRequirements
from unmoor.model.snapshot import View
from unmoor.model.storage import CSINode, CSINodeDriver, CSINodeSpec, DriverRoom
from unmoor.model.workload import DaemonSet, DaemonSetSpec, PodTemplate

GIB = 2**30
_LABELS = {names.OS: "linux", names.INSTANCE_CATEGORY: "m", names.INSTANCE_GENERATION: "5"}


def instance_type(
    name: str = "m.large",
    *,
    cpu: int = 4,
    zones: tuple[str, ...] = ("z1", "z2"),
    is_available: bool = True,
    labels: dict[str, str] | None = None,
    more: dict[str, int] | None = None,
) -> InstanceType:
    """A type of ``cpu`` cores and twice as many GiB, that keeps a tenth of a core for itself."""
    capacity = {"cpu": cpu * 1000, "memory": 2 * cpu * GIB, "pods": 110, **(more or {})}
    return InstanceType(
        name=name,
        arch="amd64",
        capacity=capacity,
        allocatable={**capacity, "cpu": cpu * 1000 - 100},
        offerings=tuple(
            Offering(
                zone=zone, capacity_type=kind, price_usd_per_h=cpu / 10, is_available=is_available
            )
            for zone in zones
            for kind in (names.ON_DEMAND, names.SPOT)
        ),
        labels={**_LABELS, **(labels or {})},
    )


def wants(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    """One requirement as the API writes it."""
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def affinity(*terms: tuple[NodeSelectorRequirement, ...]) -> Affinity:
    """Required node affinity with these terms."""
    selector = NodeSelector(
        node_selector_terms=tuple(NodeSelectorTerm(match_expressions=term) for term in terms)
    )
    return Affinity(node_affinity=NodeAffinity(required=selector))


def spec_of(requests: dict[str, str | int | float], **fields: Any) -> PodSpec:
    """One container that asks for this."""
    container = Container(resources=ResourceRequirements(requests=requests))
    return PodSpec(containers=(container,), **fields)


def asking(pod: Pod, **requests: str | float) -> Pod:
    """The same pod with one container that asks for this."""
    container = Container(resources=ResourceRequirements(requests=requests))
    return builders.changed(pod, spec__containers=(container,))


def daemon_set(name: str = "agent", spec: PodSpec | None = None) -> DaemonSet:
    """A DaemonSet that asks for a core on every node."""
    return DaemonSet(
        metadata=ObjectMeta(
            name=name,
            namespace="kube-system",
            uid=f"uid-DaemonSet-{name}",
            resource_version="1",
        ),
        spec=DaemonSetSpec(template=PodTemplate(spec=spec or spec_of({"cpu": "1"}))),
    )


def daemon_pod(name: str, *, on: str = "a", owner: str = "agent", cpu: str = "1") -> Pod:
    """A pod of the DaemonSet called ``owner``."""
    made = builders.pod(
        name, on=on, namespace="kube-system", owners=(builders.owner("DaemonSet", owner),)
    )
    return asking(made, cpu=cpu)


def csi_node(name: str = "a", **counts: int | None) -> CSINode:
    """What a node says of how many volumes it takes, by driver; None: it does not say."""
    drivers = tuple(
        CSINodeDriver(name=driver, allocatable=DriverRoom(count=count))
        for driver, count in counts.items()
    )
    return CSINode(
        metadata=ObjectMeta(name=name, resource_version="1"), spec=CSINodeSpec(drivers=drivers)
    )


def in_flight(name: str = "m-a", **given: Any) -> Machine:
    """A machine that is launched, and whose node has not joined."""
    launched = (builders.condition(MACHINE_LAUNCHED),)
    return builders.machine(name, node_name="", conditions=launched, **given)


def unregistered(name: str = "a", **given: Any) -> Node:
    """A node as its kubelet has made it."""
    return builders.node(name, is_joined=False, **given)


def uninitialized(name: str = "a", **given: Any) -> Node:
    """A node that is registered and not ready for pods yet."""
    made = builders.node(name, **given)
    labels = {**made.metadata.labels}
    del labels[names.INITIALIZED]
    return builders.changed(made, metadata__labels=labels)


def with_spec(provisioner: Provisioner, **fields: Any) -> Provisioner:
    """The same provisioner with some fields of its spec changed."""
    if "limits" in fields:
        fields["limits"] = Limits(resources=fields["limits"])
    spec = msgspec.structs.replace(provisioner.spec, **fields)
    return msgspec.structs.replace(provisioner, spec=spec)


def view_of(*objects: Any) -> View:
    """A view of these objects."""
    return View.of(*objects, identity=builders.IDENTITY)
