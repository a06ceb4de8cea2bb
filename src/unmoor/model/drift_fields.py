"""Which field drifts, and how? The drift design's table (002), as ruled (R12, R13), as data.

*Static*: what stands in the object is what its machines were made from. They drift when it changes,
and never because somebody changed a node or an instance. *Dynamic*: it may mean several values, so
what a machine has is compared with what would do now. *Behavioural*: it tells unmoor what to do,
not how machines are, and is never drift.

Must not: compare anything.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

PROVISIONER = "Provisioner"
NODE_TEMPLATE = "AWSNodeTemplate"


class Way(StrEnum):
    """How a field drifts."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    BEHAVIOURAL = "behavioural"


class DriftField(msgspec.Struct, frozen=True):
    """A field below ``spec``."""

    kind: str
    name: str
    way: Way


class Reason(StrEnum):
    """Why a machine has drifted, in the words of the API (spec 7.2), in their order."""

    PROVISIONER = "ProvisionerDrifted"
    REQUIREMENTS = "RequirementsDrifted"
    IMAGE = "AMIDrift"
    SECURITY_GROUPS = "SecurityGroupDrift"
    SUBNET = "SubnetDrift"
    NODE_TEMPLATE = "NodeTemplateDrift"


_S, _D, _B = Way.STATIC, Way.DYNAMIC, Way.BEHAVIOURAL

FIELDS: tuple[DriftField, ...] = (
    DriftField(PROVISIONER, "annotations", _S),
    DriftField(PROVISIONER, "labels", _S),
    DriftField(PROVISIONER, "taints", _S),
    DriftField(PROVISIONER, "startupTaints", _S),
    DriftField(PROVISIONER, "kubeletConfiguration", _S),
    DriftField(PROVISIONER, "requirements", _D),
    DriftField(PROVISIONER, "weight", _B),
    DriftField(PROVISIONER, "limits", _B),
    DriftField(PROVISIONER, "consolidation", _B),
    DriftField(PROVISIONER, "ttlSecondsUntilExpired", _B),
    DriftField(PROVISIONER, "ttlSecondsAfterEmpty", _B),
    DriftField(PROVISIONER, "provider", _B),
    DriftField(PROVISIONER, "providerRef", _B),
    DriftField(NODE_TEMPLATE, "subnetSelector", _D),
    DriftField(NODE_TEMPLATE, "securityGroupSelector", _D),
    DriftField(NODE_TEMPLATE, "amiSelector", _D),
    DriftField(NODE_TEMPLATE, "amiFamily", _S),
    DriftField(NODE_TEMPLATE, "instanceProfile", _S),
    DriftField(NODE_TEMPLATE, "userData", _S),
    DriftField(NODE_TEMPLATE, "context", _S),
    DriftField(NODE_TEMPLATE, "tags", _S),
    DriftField(NODE_TEMPLATE, "metadataOptions", _S),
    DriftField(NODE_TEMPLATE, "blockDeviceMappings", _S),
    DriftField(NODE_TEMPLATE, "detailedMonitoring", _S),
    DriftField(NODE_TEMPLATE, "launchTemplate", _B),
)
"""Every field of the two objects."""


def names_of(kind: str, way: Way) -> tuple[str, ...]:
    """Return the fields of one kind that drift in one way, in the order of the table."""
    return tuple(one.name for one in FIELDS if (one.kind, one.way) == (kind, way))
