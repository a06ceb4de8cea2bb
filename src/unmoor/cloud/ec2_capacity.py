"""What does an EC2 machine have, and what of it is left for pods? (spec 9.10)

Pure: the type's data sheet, the Provisioner's kubelet configuration and the cluster's settings go
in; capacity and allocatable come out, in the units of ``model.resources``. Amounts are rounded
against us, so that what is promised to a pod is there (R35).

What a person wrote into the kubelet configuration may be anything. A value that the validation
refuses (``model.kubelet``) changes nothing: the default stays. What is left for pods is never below
zero, however much is reserved.

Must not: raise because of what a person wrote, or know any price.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, isfinite

import msgspec

from unmoor.model import quantity, resources
from unmoor.model.kubelet import PERCENT_MOST, KubeletConfiguration, is_percentage
from unmoor.model.node_template import DEFAULT_AMI_FAMILY
from unmoor.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Quantities
from unmoor.model.settings import AWSSettings

MIB = 2**20
GIB = 2**30
DISK_BYTES = 20 * GIB
"""Root volume of a machine whose node template maps none: the default size of the usual images."""
ARM64_KEEPS_MIB = 64
"""Memory that the firmware of arm64 machines keeps for contiguous allocation."""
PODS_WITHOUT_DENSITY = 110
"""The kubelet's own limit, in force where addresses do not bound the pods."""
PODS_ON_HOST_NETWORK = 2
"""Pods that need no address of their own: the network's and the proxy's DaemonSets."""

CPU_RESERVED_MICRO = (60_000, 10_000, 5_000, 5_000)
"""Reserved of the first, second, third and fourth core, in millionths of a core."""
CPU_RESERVED_BEYOND_MICRO = 2_500
MEMORY_RESERVED_MIB = 255
MEMORY_RESERVED_PER_POD_MIB = 11
DISK_RESERVED_BYTES = GIB
MEMORY_EVICTION_BYTES = 100 * MIB
DISK_EVICTION_PERCENT = 10
EVICTION_SIGNALS = {MEMORY: "memory.available", EPHEMERAL_STORAGE: "nodefs.available"}


class Interfaces(msgspec.Struct, frozen=True):
    """How many network interfaces a type may have, and IPv4 addresses on each."""

    count: int
    addresses_each: int

    def pods(self, reserved: int) -> int:
        """So many pods find an address; 0 when no interface is left for them."""
        left = max(self.count - max(reserved, 0), 0)
        return left * (self.addresses_each - 1) + PODS_ON_HOST_NETWORK if left else 0


class AddressablePods(msgspec.Struct, frozen=True):
    """The same where only the sum is known: reserved interfaces cannot be counted off, and are not.

    The vendor's own list of pods for each type is such a sum.
    """

    most: int

    def pods(self, reserved: int) -> int:
        """So many pods find an address."""
        del reserved
        return self.most


class DataSheet(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a type before anybody starts one."""

    arch: str
    vcpus: int
    memory_mib: int
    network: Interfaces | AddressablePods
    disk_bytes: int = DISK_BYTES
    devices: dict[str, int] = {}
    """GPUs and accelerators, by the name of their resource."""


class AmiFamily(msgspec.Struct, frozen=True, kw_only=True):
    """What the images of a family do differently."""

    limits_pods_by_addresses: bool = True
    reserves_memory_by_addresses: bool = True
    """kubeReserved counts the pods that have addresses, not those that maxPods allows."""
    has_pods_per_core: bool = True
    has_eviction_soft: bool = True


_AL2_LIKE = AmiFamily()
_WINDOWS = AmiFamily(limits_pods_by_addresses=False, reserves_memory_by_addresses=False)
AMI_FAMILIES: Mapping[str, AmiFamily] = {
    "AL2": _AL2_LIKE,
    "AL2023": AmiFamily(reserves_memory_by_addresses=False),
    "Bottlerocket": AmiFamily(
        reserves_memory_by_addresses=False, has_pods_per_core=False, has_eviction_soft=False
    ),
    "Ubuntu": _AL2_LIKE,
    "Windows2019": _WINDOWS,
    "Windows2022": _WINDOWS,
    "Custom": _AL2_LIKE,
}


class Amounts(msgspec.Struct, frozen=True):
    """What a machine has, and what is left of it for pods."""

    capacity: dict[str, int]
    allocatable: dict[str, int]


def amounts(
    sheet: DataSheet,
    kubelet: KubeletConfiguration = KubeletConfiguration(),
    settings: AWSSettings = AWSSettings(),
    *,
    ami_family: str = DEFAULT_AMI_FAMILY,
) -> Amounts:
    """Return what a machine of this type has with this configuration.

    An unknown AMI family is taken for the default one.
    """
    family = AMI_FAMILIES.get(ami_family, _AL2_LIKE)
    addressed = sheet.network.pods(settings.reserved_enis)
    capacity = {
        CPU: sheet.vcpus * 1000,
        MEMORY: _memory_mib(sheet, settings.vm_memory_overhead_percent) * MIB,
        PODS: _pods(sheet, addressed, kubelet, settings, family),
        EPHEMERAL_STORAGE: sheet.disk_bytes,
        **sheet.devices,
    }
    counted = addressed if family.reserves_memory_by_addresses else capacity[PODS]
    kube = _kube_reserved(sheet.vcpus, counted) | _given(kubelet.kube_reserved)
    taken = resources.add(
        kube, _given(kubelet.system_reserved), _eviction(capacity, kubelet, family)
    )
    left = {name: max(most - taken.get(name, 0), 0) for name, most in capacity.items()}
    return Amounts(capacity, left)


def _memory_mib(sheet: DataSheet, overhead_share: float) -> int:
    """What the machine's own system sees. The share counts exactly: 7.5 % of 8000 is 600."""
    has = sheet.memory_mib - (ARM64_KEEPS_MIB if sheet.arch == "arm64" else 0)
    share = Fraction(str(overhead_share)) if isfinite(overhead_share) else Fraction(0)
    return max(has - ceil(has * max(share, Fraction(0))), 0)


def _pods(
    sheet: DataSheet,
    addressed: int,
    kubelet: KubeletConfiguration,
    settings: AWSSettings,
    family: AmiFamily,
) -> int:
    if kubelet.max_pods is not None and kubelet.max_pods >= 0:
        most = kubelet.max_pods
    elif settings.enable_eni_limited_pod_density and family.limits_pods_by_addresses:
        most = addressed
    else:
        most = PODS_WITHOUT_DENSITY
    per_core = kubelet.pods_per_core or 0  # to the kubelet, 0 is no limit
    if per_core > 0 and family.has_pods_per_core:
        most = min(most, per_core * sheet.vcpus)
    return min(most, resources.AMOUNT_LIMIT)


def _kube_reserved(cores: int, pods: int) -> dict[str, int]:
    beyond = max(cores - len(CPU_RESERVED_MICRO), 0)
    micro = sum(CPU_RESERVED_MICRO[:cores]) + beyond * CPU_RESERVED_BEYOND_MICRO
    return {
        CPU: ceil(Fraction(micro, 1000)),
        MEMORY: (MEMORY_RESERVED_MIB + MEMORY_RESERVED_PER_POD_MIB * pods) * MIB,
        EPHEMERAL_STORAGE: DISK_RESERVED_BYTES,
    }


def _given(reserved: Quantities) -> dict[str, int]:
    """What a person reserved, without what nobody can read and what is negative."""
    found = {}
    for name, value in reserved.items():
        try:
            amount = resources.parse_amount(name, value)
        except quantity.QuantityError:
            continue
        if amount >= 0:
            found[name] = amount
    return found


def _eviction(
    capacity: Mapping[str, int], kubelet: KubeletConfiguration, family: AmiFamily
) -> dict[str, int]:
    """How much must stay free: below it, the kubelet evicts pods."""
    disk_bytes = ceil(Fraction(capacity[EPHEMERAL_STORAGE] * DISK_EVICTION_PERCENT, PERCENT_MOST))
    kept = {MEMORY: MEMORY_EVICTION_BYTES, EPHEMERAL_STORAGE: disk_bytes}
    written = [kubelet.eviction_hard, kubelet.eviction_soft if family.has_eviction_soft else {}]
    for name, signal in EVICTION_SIGNALS.items():
        thresholds = [_threshold(one.get(signal, ""), name, capacity[name]) for one in written]
        known = [amount for amount in thresholds if amount is not None]
        if known:
            kept[name] = max(known)
    return kept


def _threshold(text: str, name: str, capacity: int) -> int | None:
    """Read ``5%`` or ``100Mi``; None when nobody can. ``100%`` switches the threshold off."""
    if not text.endswith("%"):
        return _given({name: text}).get(name)
    if not is_percentage(text):
        return None
    share = Fraction(quantity.parse(text.removesuffix("%")), PERCENT_MOST * quantity.NANO)
    return 0 if share == 1 else ceil(capacity * share)
