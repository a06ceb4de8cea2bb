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
    """A field below ``spec``, and an example of what it does."""

    kind: str
    name: str
    way: Way
    example: str


class Reason(StrEnum):
    """Why a machine has drifted, in the words of the API (spec 7.2), in their order."""

    PROVISIONER = "ProvisionerDrifted"
    REQUIREMENTS = "RequirementsDrifted"
    IMAGE = "AMIDrift"
    SECURITY_GROUPS = "SecurityGroupDrift"
    SUBNET = "SubnetDrift"
    NODE_TEMPLATE = "NodeTemplateDrift"


_S, _D, _B = Way.STATIC, Way.DYNAMIC, Way.BEHAVIOURAL
_NEVER = "any change: no machine drifts"

FIELDS: tuple[DriftField, ...] = (
    DriftField(PROVISIONER, "annotations", _S, "an annotation is added: its machines drift"),
    DriftField(PROVISIONER, "labels", _S, "`team: shop` becomes `team: web`: its machines drift"),
    DriftField(PROVISIONER, "taints", _S, "a taint is removed: its machines drift"),
    DriftField(PROVISIONER, "startupTaints", _S, "a startup taint is added: its machines drift"),
    DriftField(
        PROVISIONER,
        "kubeletConfiguration",
        _S,
        "`kubeReserved.memory` from 1Gi to 2Gi: drift; from 1Gi to 1024Mi: none, it is the same",
    ),
    DriftField(
        PROVISIONER,
        "requirements",
        _D,
        "instance type In [m5.large] becomes In [m5.xlarge]: an m5.large drifts; "
        "becomes In [m5.large, m5.xlarge]: it does not",
    ),
    DriftField(PROVISIONER, "weight", _B, _NEVER),
    DriftField(PROVISIONER, "limits", _B, _NEVER),
    DriftField(PROVISIONER, "consolidation", _B, _NEVER),
    DriftField(PROVISIONER, "ttlSecondsUntilExpired", _B, _NEVER),
    DriftField(PROVISIONER, "ttlSecondsAfterEmpty", _B, _NEVER),
    DriftField(PROVISIONER, "provider", _B, "the old inline form: no machine drifts"),
    DriftField(PROVISIONER, "providerRef", _B, "another template is named: no machine drifts"),
    DriftField(
        NODE_TEMPLATE,
        "subnetSelector",
        _D,
        "it selects other subnets than that of an instance: its machine drifts",
    ),
    DriftField(
        NODE_TEMPLATE,
        "securityGroupSelector",
        _D,
        "it selects one group more than an instance has: its machine drifts",
    ),
    DriftField(
        NODE_TEMPLATE,
        "amiSelector",
        _D,
        "a newer image appears that it selects: machines with the older one drift",
    ),
    DriftField(NODE_TEMPLATE, "instanceProfile", _S, "another profile: its machines drift"),
    DriftField(
        NODE_TEMPLATE,
        "amiFamily",
        _S,
        "AL2 becomes AL2023: its machines drift, and the image is looked at as well (R13)",
    ),
    DriftField(NODE_TEMPLATE, "userData", _S, "another line in it: its machines drift"),
    DriftField(NODE_TEMPLATE, "context", _S, "another context: its machines drift (R13)"),
    DriftField(NODE_TEMPLATE, "tags", _S, "a tag is added: its machines drift"),
    DriftField(
        NODE_TEMPLATE,
        "metadataOptions",
        _S,
        "`httpTokens` becomes optional: drift; the defaults are written down: none",
    ),
    DriftField(
        NODE_TEMPLATE,
        "blockDeviceMappings",
        _S,
        "a volume from 20Gi to 30Gi: drift; mappings in another order: none",
    ),
    DriftField(NODE_TEMPLATE, "detailedMonitoring", _S, "it is switched on: its machines drift"),
    DriftField(NODE_TEMPLATE, "launchTemplate", _B, "another one is named: no machine drifts"),
)
"""Every field of the two objects."""


def names_of(kind: str, way: Way) -> tuple[str, ...]:
    """Return the fields of one kind that drift in one way, in the order of the table."""
    return tuple(one.name for one in FIELDS if (one.kind, one.way) == (kind, way))
