"""How the kubelet of a node is set up: the part of a Provisioner and a Machine that says so.

Must not: compute what is left of a machine for pods (that is the cloud's own model, spec 9.10).
"""

from __future__ import annotations

from msgspec import field

from unmoor.model import quantity
from unmoor.model.base import Struct
from unmoor.model.resources import Quantities
from unmoor.model.validation import Findings

RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
"""What kubeReserved and systemReserved may name (spec 1.1)."""
EVICTION_SIGNALS = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
"""What evictionHard and evictionSoft may name (spec 1.1)."""
PERCENT_MOST = 100


class KubeletConfiguration(Struct):
    """Kubelet arguments (spec 1.3). Quantities, percentages and durations are kept as written."""

    cluster_dns: tuple[str, ...] = field(default=(), name="clusterDNS")
    container_runtime: str | None = None
    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: dict[str, str | int | float] = field(default_factory=dict)
    kube_reserved: dict[str, str | int | float] = field(default_factory=dict)
    eviction_hard: dict[str, str] = field(default_factory=dict)
    eviction_soft: dict[str, str] = field(default_factory=dict)
    eviction_soft_grace_period: dict[str, str] = field(default_factory=dict)
    eviction_max_pod_grace_period: int | None = None
    image_gc_high_threshold_percent: int | None = field(
        default=None, name="imageGCHighThresholdPercent"
    )
    image_gc_low_threshold_percent: int | None = field(
        default=None, name="imageGCLowThresholdPercent"
    )
    cpu_cfs_quota: bool | None = field(default=None, name="cpuCFSQuota")


def check(findings: Findings, path: str, kubelet: KubeletConfiguration) -> None:
    """Add everything that is wrong with a kubelet configuration (spec 1.1)."""
    zero = "use zero or more"
    findings.at_least(f"{path}.maxPods", kubelet.max_pods, 0, zero)
    findings.at_least(f"{path}.podsPerCore", kubelet.pods_per_core, 0, zero)
    grace_s = kubelet.eviction_max_pod_grace_period
    findings.at_least(f"{path}.evictionMaxPodGracePeriod", grace_s, 0, zero)
    _check_reserved(findings, f"{path}.kubeReserved", kubelet.kube_reserved)
    _check_reserved(findings, f"{path}.systemReserved", kubelet.system_reserved)
    _check_thresholds(findings, f"{path}.evictionHard", kubelet.eviction_hard)
    _check_thresholds(findings, f"{path}.evictionSoft", kubelet.eviction_soft)
    _check_soft_eviction(findings, path, kubelet)
    _check_image_gc(findings, path, kubelet)


def _check_reserved(findings: Findings, path: str, reserved: Quantities) -> None:
    for name, value in reserved.items():
        if name in RESERVABLE:
            findings.amount(f"{path}.{name}", name, value)
        else:
            remedy = f"use only {', '.join(RESERVABLE)}"
            findings.add(f"{path}.{name}", value, "this resource cannot be reserved", remedy)


def _check_thresholds(findings: Findings, path: str, thresholds: dict[str, str]) -> None:
    for signal, value in thresholds.items():
        _check_signal(findings, path, signal, value)
        if value.endswith("%"):
            if not is_percentage(value):
                findings.add(f"{path}.{signal}", value, "it is no percentage", "use 0% to 100%")
        elif not quantity.is_quantity(value):
            remedy = "write a percentage or a quantity, as in 5% or 100Mi"
            findings.add(f"{path}.{signal}", value, "it is no threshold", remedy)
        elif quantity.parse(value) < 0:
            findings.add(f"{path}.{signal}", value, "it is negative", "use zero or more")


def _check_signal(findings: Findings, path: str, signal: str, value: str) -> None:
    if signal not in EVICTION_SIGNALS:
        remedy = f"use only {', '.join(EVICTION_SIGNALS)}"
        findings.add(f"{path}.{signal}", value, "the kubelet knows no such signal", remedy)


def is_percentage(value: str) -> bool:
    """True for a decimal number from 0 to 100, followed by "%"."""
    try:
        nano = quantity.parse(value.removesuffix("%"))
    except quantity.QuantityError:
        return False
    is_plain = all(letter in "0123456789." for letter in value.removesuffix("%"))
    return is_plain and nano <= PERCENT_MOST * quantity.NANO


def _check_soft_eviction(findings: Findings, path: str, kubelet: KubeletConfiguration) -> None:
    """A soft threshold without a grace period, or the reverse, means nothing to the kubelet."""
    soft, grace = kubelet.eviction_soft, kubelet.eviction_soft_grace_period
    for signal, value in grace.items():
        where = f"{path}.evictionSoftGracePeriod"
        _check_signal(findings, where, signal, value)
        findings.duration(f"{where}.{signal}", value)
        if signal not in soft:
            remedy = "set both, or remove this"
            findings.add(f"{where}.{signal}", value, "evictionSoft has no such signal", remedy)
    for signal, value in soft.items():
        if signal not in grace:
            problem = "evictionSoftGracePeriod has no such signal"
            findings.add(
                f"{path}.evictionSoft.{signal}", value, problem, "set both, or remove this"
            )


def _check_image_gc(findings: Findings, path: str, kubelet: KubeletConfiguration) -> None:
    high, low = kubelet.image_gc_high_threshold_percent, kubelet.image_gc_low_threshold_percent
    findings.between(f"{path}.imageGCHighThresholdPercent", high, 0, PERCENT_MOST)
    findings.between(f"{path}.imageGCLowThresholdPercent", low, 0, PERCENT_MOST)
    if high is not None and low is not None and high < low:
        problem = f"it is below imageGCLowThresholdPercent ({low})"
        findings.add(
            f"{path}.imageGCHighThresholdPercent", high, problem, "raise it, or lower that"
        )
