"""Why a pod may not run somewhere: which constraint refuses, what about it, and by how much.

A refusal is a value. Events, verdicts and log lines render it; nothing else is said about why.

Must not: judge.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Constraint(StrEnum):
    """What can refuse a pod. Closed; the values are the words that people read."""

    UNSCHEDULABLE = "unschedulable"
    TAINT = "taint"
    NODE_SELECTOR = "node selector"
    NODE_AFFINITY = "node affinity"
    RESOURCES = "resources"
    HOST_PORT = "host port"
    VOLUME = "volume"
    """A claim, class or volume that is missing, not bound yet, in use, or elsewhere."""
    VOLUME_LIMIT = "volume limit"
    DISK = "disk"
    """A disk without a claim, that another pod on the node has."""
    DEVICE = "device"
    """A claim for devices; nobody here knows where there are any."""
    SPREAD = "topology spread"
    POD_AFFINITY = "pod affinity"
    POD_ANTI_AFFINITY = "pod anti-affinity"
    REQUIREMENTS = "requirements"
    """What the pod wants of a new node and what its provisioner allows do not go together."""
    INSTANCE_TYPE = "instance type"
    """No instance type is left that suits, is large enough and is to be had."""
    LIMITS = "limits"
    PROVISIONER = "provisioner"
    """It cannot be used at all, or there is none."""
    ON_HOLD = "provisioner on hold"
    """It could take the pod, and makes no machine for now."""
    GATE = "scheduling gate"
    INVALID = "invalid"
    """The pod asks for something that means nothing; field and value are named."""


NEVER = frozenset(
    (
        Constraint.UNSCHEDULABLE,
        Constraint.TAINT,
        Constraint.NODE_SELECTOR,
        Constraint.NODE_AFFINITY,
        Constraint.REQUIREMENTS,
        Constraint.PROVISIONER,
    )
)
"""What neither more room nor other pods would change: such a destination is none."""


class Refusal(msgspec.Struct, frozen=True):
    """One reason why not.

    ``subject``: the taint, label, resource, port, claim or topology key. ``short``: by how much, in
    the unit of its resource (``model.resources``) or in pods for spreading; 0 for all others.
    ``where``: the node, machine or provisioner that refuses, "" when it is the pod's own fault.
    """

    constraint: Constraint
    subject: str
    missing: str
    short: int = 0
    where: str = ""

    def __str__(self) -> str:
        """``resources: cpu: 500m short``; what is wrong with a provisioner names it itself."""
        if self.constraint is Constraint.PROVISIONER and self.missing.startswith("provisioner/"):
            return self.missing
        return f"{self.constraint}: {self.subject}: {self.missing}"
