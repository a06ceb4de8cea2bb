"""Which machines the simulated cloud sells: 355 real EC2 types, in three zones, with prices.

The file ``data/ec2-types.json`` holds facts (made by ``hack/catalogue.py``) and one assumption, the
spot shares, which it names as such. On-demand prices are the same in every zone, as on AWS. Of its
network interfaces a type has only their sum, the pods that find an address. What a machine has, and
what of it is left for pods, is what ``ec2_capacity`` says without any kubelet configuration.

Must not: be read before somebody asks, so that no other command pays for it.
"""

from __future__ import annotations

from functools import cache
from importlib import resources as files

import msgspec

from unmoor.cloud import ec2_capacity
from unmoor.cloud.ec2_capacity import AddressablePods, DataSheet
from unmoor.model import names
from unmoor.model.instance import InstanceType, Offering

DEVICE_RESOURCES = {"gpu": names.GPU, "accelerator": names.NEURON}
"""Under which name a node offers its devices."""
DEVICE_MAKERS = {"gpu": "nvidia", "accelerator": "aws"}


class _Row(msgspec.Struct, frozen=True, array_like=True):
    size: str
    vcpus: int
    memory_mib: int
    max_pods: int
    on_demand_usd_per_h: float
    devices: int = 0


class _Family(msgspec.Struct, frozen=True):
    arch: str
    types: tuple[_Row, ...]
    device: str = ""
    device_name: str = ""


class _Catalogue(msgspec.Struct, frozen=True):
    region: str
    as_of: str
    zones: tuple[str, ...]
    spot_share: dict[str, float] = msgspec.field(name="spot_share_of_on_demand_assumed")
    families: dict[str, _Family]


SPOT_NOTE = "spot assumed"
"""Beside every figure that may be of a spot price: those of the catalogue are no market's."""


def list_name() -> str:
    """Return what the prices of the catalogue are called: of where, and of when."""
    catalogue = _catalogue()
    return f"catalogue {catalogue.region} {catalogue.as_of}"


@cache
def ec2_types() -> tuple[InstanceType, ...]:
    """Return every type of the catalogue, sorted by name."""
    catalogue = _catalogue()
    made = (
        _instance_type(name, family, row, catalogue)
        for name, family in catalogue.families.items()
        for row in family.types
    )
    return tuple(sorted(made, key=lambda one: one.name))


@cache
def _catalogue() -> _Catalogue:
    text = files.files("unmoor.cloud").joinpath("data/ec2-types.json").read_bytes()
    return msgspec.json.decode(text, type=_Catalogue)


def _instance_type(name: str, family: _Family, row: _Row, catalogue: _Catalogue) -> InstanceType:
    sheet = DataSheet(
        arch=family.arch,
        vcpus=row.vcpus,
        memory_mib=row.memory_mib,
        network=AddressablePods(row.max_pods),
        devices={DEVICE_RESOURCES[family.device]: row.devices} if row.devices else {},
    )
    amounts = ec2_capacity.amounts(sheet)
    return InstanceType(
        name=f"{name}.{row.size}",
        arch=family.arch,
        capacity=amounts.capacity,
        allocatable=amounts.allocatable,
        offerings=_offerings(row, catalogue),
        labels=_labels(name, row, family.arch, catalogue.region) | _device_labels(family, row),
        price_book=list_name(),
        spot_book=f"{list_name()}, {SPOT_NOTE}",
    )


def _offerings(row: _Row, catalogue: _Catalogue) -> tuple[Offering, ...]:
    sold = []
    for zone in catalogue.zones:
        price = row.on_demand_usd_per_h
        spot = round(price * catalogue.spot_share[zone], 5)
        sold.append(Offering(zone=zone, capacity_type=names.ON_DEMAND, price_usd_per_h=price))
        sold.append(Offering(zone=zone, capacity_type=names.SPOT, price_usd_per_h=spot))
    return tuple(sold)


def _labels(family: str, row: _Row, arch: str, region: str) -> dict[str, str]:
    category = family.partition("-")[0].rstrip("abcdefghijklmnopqrstuvwxyz").rstrip("0123456789")
    return {
        names.ARCH: arch,
        names.INSTANCE_TYPE: f"{family}.{row.size}",
        names.OS: "linux",
        names.REGION: region,
        names.INSTANCE_CATEGORY: category,
        names.INSTANCE_CPU: str(row.vcpus),
        names.INSTANCE_FAMILY: family,
        names.INSTANCE_GENERATION: "".join(char for char in family if char.isdigit()),
        names.INSTANCE_MEMORY: str(row.memory_mib),
        names.INSTANCE_SIZE: row.size,
    }


def _device_labels(family: _Family, row: _Row) -> dict[str, str]:
    if not row.devices:
        return {}
    prefix = f"{names.INSTANCE_LABEL_PREFIX}{family.device}"
    return {
        f"{prefix}-name": family.device_name,
        f"{prefix}-manufacturer": DEVICE_MAKERS[family.device],
        f"{prefix}-count": str(row.devices),
    }
