"""Nodes, and the predicates that read one off.

Must not: decide anything. Whether a node may go is policy; what happens next is lifecycle.
"""

from __future__ import annotations

from msgspec import field

from unmoor.model import names
from unmoor.model.base import Condition, Object, Struct, condition_of
from unmoor.model.taint import Taint, is_going_soon


class NodeSpec(Struct):
    """API reference: v1.NodeSpec."""

    provider_id: str = field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Struct):
    """API reference: v1.NodeStatus; quantities as written."""

    capacity: dict[str, str | int | float] = {}
    allocatable: dict[str, str | int | float] = {}
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    """API reference: v1.Node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def provider_id(self) -> str:
        """The machine behind the node, as ``scheme://...``; "" until the cloud has said it."""
        return self.spec.provider_id

    @property
    def is_cordoned(self) -> bool:
        """No new pods: ``spec.unschedulable``."""
        return self.spec.unschedulable

    @property
    def is_ready(self) -> bool:
        """Its Ready condition is True; absent or Unknown is not ready."""
        ready = condition_of(self.status.conditions, "Ready")
        return ready is not None and ready.is_true

    @property
    def is_initialized(self) -> bool:
        """Labelled ``karpenter.sh/initialized=true`` (spec 2.1)."""
        return self.metadata.labels.get(names.INITIALIZED) == names.TRUE

    @property
    def provisioner_name(self) -> str:
        """Who launched it, "" for a node that no Provisioner owns."""
        return self.metadata.labels.get(names.PROVISIONER_NAME, "")

    @property
    def disruption(self) -> str:
        """The name of the Disruption that acts on the node, "" when none does."""
        return self.metadata.annotations.get(names.DISRUPTION, "")

    @property
    def is_going_soon(self) -> bool:
        """It bears our mark of those that are to go soon."""
        return any(map(is_going_soon, self.spec.taints))

    @property
    def is_cordoned_by_us(self) -> bool:
        """Its cordon came with its deletion, or with the command whose name it bears (R27).

        The annotation alone proves nothing: ``kubectl uncordon`` leaves it, and whoever cordons the
        node later is a person.
        """
        claim = self.metadata.annotations.get(names.CORDONED, "")
        is_under_way = self.is_deleting or claim == self.disruption
        return self.is_cordoned and bool(claim) and is_under_way
