"""Which machines the simulated cloud sells: forty real EC2 types, in three zones, with prices.

The file ``data/ec2-types.json`` holds facts (made by ``hack/catalogue.py``) and one assumption, the
spot shares, which it names as such. On-demand prices are the same in every zone, as on AWS.

What is left for pods (``allocatable``) follows the usual reservations of a kubelet on EC2: cpu 6 %
of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest; memory 255 MiB and
11 MiB for each pod, and 100 MiB at which eviction begins; disk 1 GiB and a tenth. What the
hypervisor keeps is not modelled: capacity is what the type's data sheet says.

Must not: be read before somebody asks, so that no other command pays for it.
"""

from __future__ import annotations

from functools import cache
from importlib import resources as files

import msgspec

from unmoor.model import names
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

MIB = 2**20
GIB = 2**30
DISK_BYTES = 20 * GIB
"""Root volume of every simulated machine: the default size of the usual images."""
MEMORY_RESERVED_MIB = 255
MEMORY_RESERVED_PER_POD_MIB = 11
MEMORY_EVICTION_MIB = 100
CPU_RESERVED_MICRO = (60_000, 10_000, 5_000, 5_000)
"""Reserved of the first, second, third and fourth core, in millionths of a core."""
CPU_RESERVED_BEYOND_MICRO = 2_500


class _Row(msgspec.Struct, frozen=True):
    name: str
    arch: str
    vcpus: int
    memory_mib: int
    max_pods: int
    on_demand_usd_per_h: float
    has_spot: bool = False


class _Catalogue(msgspec.Struct, frozen=True):
    region: str
    as_of: str
    zones: tuple[str, ...]
    spot_share: dict[str, float] = msgspec.field(name="spot_share_of_on_demand_assumed")
    types: tuple[_Row, ...]


@cache
def ec2_types() -> tuple[InstanceType, ...]:
    """Return every type of the catalogue, sorted by name."""
    text = files.files("unmoor.cloud").joinpath("data/ec2-types.json").read_bytes()
    catalogue = msgspec.json.decode(text, type=_Catalogue)
    made = (_instance_type(row, catalogue) for row in catalogue.types)
    return tuple(sorted(made, key=lambda one: one.name))


def _instance_type(row: _Row, catalogue: _Catalogue) -> InstanceType:
    return InstanceType(
        name=row.name,
        arch=row.arch,
        capacity=_capacity(row),
        allocatable=_allocatable(row),
        offerings=_offerings(row, catalogue),
        labels=_labels(row, catalogue.region),
    )


def _capacity(row: _Row) -> dict[str, int]:
    return {
        CPU: row.vcpus * 1000,
        MEMORY: row.memory_mib * MIB,
        PODS: row.max_pods,
        EPHEMERAL_STORAGE: DISK_BYTES,
    }


def _allocatable(row: _Row) -> dict[str, int]:
    reserved_mib = MEMORY_RESERVED_MIB + MEMORY_RESERVED_PER_POD_MIB * row.max_pods
    reserved_mib += MEMORY_EVICTION_MIB
    return {
        CPU: row.vcpus * 1000 - _cpu_reserved_milli(row.vcpus),
        MEMORY: max(row.memory_mib - reserved_mib, 0) * MIB,
        PODS: row.max_pods,
        EPHEMERAL_STORAGE: DISK_BYTES - DISK_BYTES // 10 - GIB,
    }


def _cpu_reserved_milli(cores: int) -> int:
    """Rounded up, so that what is promised to pods is really there."""
    beyond = max(cores - len(CPU_RESERVED_MICRO), 0)
    micro = sum(CPU_RESERVED_MICRO[:cores]) + beyond * CPU_RESERVED_BEYOND_MICRO
    return -(-micro // 1000)


def _offerings(row: _Row, catalogue: _Catalogue) -> tuple[Offering, ...]:
    sold = []
    for zone in catalogue.zones:
        price = row.on_demand_usd_per_h
        sold.append(Offering(zone=zone, capacity_type=names.ON_DEMAND, price_usd_per_h=price))
        if row.has_spot:
            share = catalogue.spot_share.get(zone)
            spot = None if share is None else round(price * share, 5)
            sold.append(Offering(zone=zone, capacity_type=names.SPOT, price_usd_per_h=spot))
    return tuple(sold)


def _labels(row: _Row, region: str) -> dict[str, str]:
    family, _, size = row.name.partition(".")
    category = family.rstrip("abcdefghijklmnopqrstuvwxyz-").rstrip("0123456789")
    generation = "".join(char for char in family if char.isdigit())
    return {
        names.ARCH: row.arch,
        names.INSTANCE_TYPE: row.name,
        names.OS: "linux",
        names.REGION: region,
        names.INSTANCE_CATEGORY: category,
        names.INSTANCE_CPU: str(row.vcpus),
        names.INSTANCE_FAMILY: family,
        names.INSTANCE_GENERATION: generation,
        names.INSTANCE_MEMORY: str(row.memory_mib),
        names.INSTANCE_SIZE: size,
    }
