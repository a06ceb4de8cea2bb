"""Why a pod may not run somewhere: which constraint refuses, what about it, and by how much.

A refusal is a value. Events, verdicts and log lines render it; nothing else is said about why.

Must not: judge.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self, TypeAlias

import msgspec

from unmoor.model.wording import joined


class Constraint(StrEnum):
    """What can refuse a pod. Closed; the values are the words that people read.

    ``said``: what kube-scheduler says of a node that refuses for this; "" where no node does, or
    where what it says names the resource.
    """

    said: str

    def __new__(cls, value: str, said: str = "") -> Self:
        """One kind: our words, and kube-scheduler's."""
        found = str.__new__(cls, value)
        found._value_ = value
        found.said = said
        return found

    UNSCHEDULABLE = "unschedulable", "node(s) were unschedulable"
    TAINT = "taint", "node(s) had untolerated taint(s)"
    NODE_SELECTOR = "node selector", "node(s) didn't match Pod's node affinity/selector"
    NODE_AFFINITY = "node affinity", "node(s) didn't match Pod's node affinity/selector"
    RESOURCES = "resources"
    HOST_PORT = "host port", "node(s) didn't have free ports for the requested pod ports"
    VOLUME = "volume", "node(s) didn't match PersistentVolume's node affinity"
    """A claim, class or volume that is missing, not bound yet, in use, or elsewhere."""
    VOLUME_LIMIT = "volume limit", "node(s) exceed max volume count"
    DISK = "disk", "node(s) had no available disk"
    """A disk without a claim, that another pod on the node has."""
    DEVICE = "device"
    """A claim for devices; nobody here knows where there are any."""
    SPREAD = "topology spread", "node(s) didn't match pod topology spread constraints"
    POD_AFFINITY = "pod affinity", "node(s) didn't match pod affinity rules"
    POD_ANTI_AFFINITY = "pod anti-affinity", "node(s) didn't match pod anti-affinity rules"
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
        return f"{self.constraint}: {joined((self.subject,))}: {self.missing}"


STOCK = "stock"
"""The subject where a provisioner is in order, and the cloud has nothing for it now."""


Refusals: TypeAlias = tuple[Refusal, ...]
"""Why not, of one destination."""


def distance(refusals: Refusals) -> tuple[int, int]:
    """How far a destination is from taking the pod; what is only on hold is the nearest."""
    others = [one.constraint for one in refusals if one.constraint is not Constraint.ON_HOLD]
    return (sum(one in NEVER for one in others), len(others))


def distance_of_offer(refusals: Refusals) -> tuple[bool, tuple[int, int]]:
    """Who minds nothing but its taint was made for such pods: to tolerate it is the remedy."""
    is_for_others = any(one.constraint is not Constraint.TAINT for one in refusals)
    return (is_for_others, distance(refusals))


def excess(refusals: Refusals) -> tuple[int, int]:
    """How far a type is from what limits leave."""
    return (len(refusals), sum(one.short for one in refusals))


def at_place(where: str, refusals: Refusals) -> Refusals:
    """Return them as said by the place, or provisioner, of this name."""
    return tuple(msgspec.structs.replace(one, where=where) for one in refusals)
