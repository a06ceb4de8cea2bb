"""What a provisioner says: which nodes it may have, and when they may go.

Must not: count nodes, or compare a machine with it (``policy``).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec import field

from unmoor.model import kubelet as kubelets
from unmoor.model import names, node_template, requirement
from unmoor.model.base import Condition, Object, Struct
from unmoor.model.kubelet import KubeletConfiguration
from unmoor.model.machine import TemplateRef
from unmoor.model.requirement import NodeSelectorRequirement, Requirements
from unmoor.model.taint import Taint
from unmoor.model.validation import FieldError, Findings

ACTIVE = "Active"
"""The condition: it is in order and may be used; if it is False, nothing is launched for it."""
WEIGHT_LEAST = 1
WEIGHT_MOST = 100
TTL_MOST_S = 2**63 // 10**9
"""292 years: more than the API's durations can hold."""


class Policy(StrEnum):
    """When nodes that are worth less than they cost go, by themselves (spec 1.1)."""

    WHEN_UNDERUTILIZED = "WhenUnderutilized"
    WHEN_EMPTY = "WhenEmpty"
    NEVER = "Never"


class Limits(Struct):
    """How much capacity a provisioner may have in total; quantities as written."""

    resources: dict[str, str | int | float] = field(default_factory=dict)


class Consolidation(Struct):
    """Whether its nodes may be consolidated; unset is off (R6)."""

    enabled: bool | None = None


class ProvisionerSpec(Struct):
    """What a person wrote (spec 1.1). Nothing is defaulted here (R6)."""

    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    requirements: tuple[NodeSelectorRequirement, ...] = ()
    kubelet_configuration: KubeletConfiguration | None = None
    provider: dict[str, object] | None = None
    provider_ref: TemplateRef | None = None
    ttl_seconds_after_empty: int | None = None
    ttl_seconds_until_expired: int | None = None
    limits: Limits | None = None
    weight: int | None = None
    consolidation: Consolidation | None = None


class ProvisionerStatus(Struct):
    """What we report about it: summed capacity, its newest machine's creation, is it in order."""

    resources: dict[str, str | int | float] = field(default_factory=dict)
    last_scale_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()


class Provisioner(Object):
    """``karpenter.sh/v1alpha5`` Provisioner, cluster-scoped."""

    spec: ProvisionerSpec = ProvisionerSpec()
    status: ProvisionerStatus = ProvisionerStatus()

    @property
    def is_consolidation_enabled(self) -> bool:
        """Only an explicit true switches it on (R6)."""
        return self.spec.consolidation is not None and self.spec.consolidation.enabled is True

    @property
    def policy(self) -> Policy:
        """The one deprovisioning policy that follows from the fields (spec 1.1)."""
        if self.is_consolidation_enabled:
            return Policy.WHEN_UNDERUTILIZED
        if self.spec.ttl_seconds_after_empty is not None:
            return Policy.WHEN_EMPTY
        return Policy.NEVER

    @property
    def ttl_after_empty_s(self) -> int | None:
        """How long an empty node stays, None when emptiness makes no node go."""
        return self.spec.ttl_seconds_after_empty if self.policy is Policy.WHEN_EMPTY else None

    @property
    def weight(self) -> int:
        """Provisioners with a higher weight are tried first."""
        return self.spec.weight or 0

    @property
    def limits(self) -> dict[str, str | int | float]:
        """Its limits as written, {} when it has none."""
        return self.spec.limits.resources if self.spec.limits is not None else {}

    @property
    def is_aws(self) -> bool:
        """True when its nodes are described in the terms of the AWS provider."""
        if self.spec.provider is not None:
            return True
        ref = self.spec.provider_ref
        return ref is not None and ref.kind in {"", "AWSNodeTemplate"}

    @property
    def requirements(self) -> tuple[NodeSelectorRequirement, ...]:
        """What its nodes must be: as written, completed by the provider's defaults (R28)."""
        if not self.is_aws:
            return self.spec.requirements
        return with_aws_defaults(self.spec.requirements, self.spec.labels)

    @property
    def defaults(self) -> frozenset[str]:
        """The labels that it says nothing of, and that have a default."""
        written = len(self.spec.requirements)
        return frozenset(one.key for one in self.requirements[written:])


def requirements_of(provisioner: Provisioner) -> Requirements:
    """Return all that a node of this provisioner is bound to: requirements, labels, its name.

    Raises RequirementError when one means nothing; an object without errors in :func:`validate`
    never does.
    """
    labels = {**provisioner.spec.labels, names.PROVISIONER_NAME: provisioner.name}
    written = Requirements.from_api(provisioner.requirements)
    return written.intersection(Requirements.from_labels(labels))


def with_aws_defaults(
    requirements: Iterable[NodeSelectorRequirement], labels: dict[str, str]
) -> tuple[NodeSelectorRequirement, ...]:
    """Append what the AWS webhook used to write for labels that nobody constrains (T417).

    Linux on amd64, on demand; and, if nothing narrows the types down, categories c, m and r from
    generation 3 on. A key in ``labels`` counts as constrained: the label is a requirement, too.
    """
    written = tuple(requirements)
    constrained = {names.normalised(one.key) for one in written}
    constrained |= {names.normalised(key) for key in labels}
    defaults = []
    for key, value in _AWS_DEFAULTS:
        if key not in constrained:
            defaults.append(NodeSelectorRequirement(key=key, operator="In", values=(value,)))
    if not constrained & NARROWS_TYPES:
        defaults += [
            NodeSelectorRequirement(
                key=names.INSTANCE_CATEGORY, operator="In", values=("c", "m", "r")
            ),
            NodeSelectorRequirement(key=names.INSTANCE_GENERATION, operator="Gt", values=("2",)),
        ]
    return (*written, *defaults)


_AWS_DEFAULTS = (
    (names.OS, "linux"),
    (names.ARCH, "amd64"),
    (names.CAPACITY_TYPE, names.ON_DEMAND),
)
NARROWS_TYPES = {
    names.INSTANCE_TYPE,
    names.INSTANCE_FAMILY,
    names.INSTANCE_CATEGORY,
    names.INSTANCE_GENERATION,
}


def validate(provisioner: Provisioner) -> tuple[FieldError, ...]:
    """Return everything that is wrong with it (spec 1.1, T370); () when it may be used."""
    findings, spec = Findings(f"provisioner/{provisioner.name}"), provisioner.spec
    _check_deprovisioning(findings, spec)
    _check_provider(findings, provisioner)
    findings.labels("spec.labels", spec.labels)
    findings.taints({"spec.taints": spec.taints, "spec.startupTaints": spec.startup_taints})
    findings.requirements("spec.requirements", spec.requirements, operators=requirement.OPERATORS)
    if spec.kubelet_configuration is not None:
        kubelets.check(findings, "spec.kubeletConfiguration", spec.kubelet_configuration)
    findings.amounts("spec.limits.resources", provisioner.limits)
    findings.between("spec.weight", spec.weight, WEIGHT_LEAST, WEIGHT_MOST)
    return findings.errors


_LESS = f"use at most {TTL_MOST_S}, or remove it to switch this off"


def _check_deprovisioning(findings: Findings, spec: ProvisionerSpec) -> None:
    remedy = "use zero or more, or remove it to switch this off"
    expired, empty = spec.ttl_seconds_until_expired, spec.ttl_seconds_after_empty
    findings.at_least("spec.ttlSecondsUntilExpired", expired, 0, remedy)
    findings.at_least("spec.ttlSecondsAfterEmpty", empty, 0, remedy)
    for where, ttl_s in (
        ("spec.ttlSecondsUntilExpired", expired),
        ("spec.ttlSecondsAfterEmpty", empty),
    ):
        if ttl_s is not None and ttl_s > TTL_MOST_S:
            findings.add(where, ttl_s, "it is longer than 292 years", _LESS)
    is_consolidated = spec.consolidation is not None and spec.consolidation.enabled
    if empty is not None and is_consolidated:
        problem = "consolidation.enabled is true as well, and consolidation removes empty nodes"
        remedy = "remove ttlSecondsAfterEmpty, or set consolidation.enabled to false"
        findings.add(
            "spec.ttlSecondsAfterEmpty, spec.consolidation.enabled", empty, problem, remedy
        )


def _check_provider(findings: Findings, provisioner: Provisioner) -> None:
    spec = provisioner.spec
    if spec.provider is not None and spec.provider_ref is not None:
        problem = "expected exactly one of them, got both"
        findings.add("spec.provider, spec.providerRef", "", problem, "remove spec.provider")
    elif spec.provider is None and spec.provider_ref is None:
        problem = "missing one of them"
        findings.add("spec.provider, spec.providerRef", "", problem, "name a node template")
    if spec.provider_ref is not None and not spec.provider_ref.name:
        findings.add("spec.providerRef.name", "", "it is empty", "name a node template")
    if spec.provider is not None:
        try:
            inline = msgspec.convert(spec.provider, node_template.AWSNodeTemplateSpec)
        except msgspec.ValidationError as error:
            findings.add("spec.provider", "", str(error), "write it as in an AWSNodeTemplate")
        else:
            node_template.check(findings, "spec.provider", inline)
