import pytest

from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.ec2_capacity import GIB, MIB
from unmoor.model import names
from unmoor.model.instance import InstanceType

TYPES = {one.name: one for one in ec2_types()}


def test_it_is_sorted_and_read_once() -> None:
    assert [one.name for one in ec2_types()] == sorted(TYPES)
    assert len(TYPES) == 355
    assert ec2_types() is ec2_types()


@pytest.mark.parametrize(
    ("label", "values"),
    [
        (names.ARCH, {"amd64", "arm64"}),
        (names.INSTANCE_CATEGORY, {"c", "m", "r", "t", "g", "p", "inf", "trn"}),
        (
            f"{names.AWS_GROUP}/instance-gpu-name",
            {"t4", "t4g", "a10g", "l4", "l40s", "a100", "h100"},
        ),
        (f"{names.AWS_GROUP}/instance-gpu-count", {"1", "2", "4", "8"}),
        (f"{names.AWS_GROUP}/instance-accelerator-name", {"inferentia", "trainium"}),
    ],
)
def test_there_is_something_of_each_kind(label: str, values: set[str]) -> None:
    assert {one.labels[label] for one in ec2_types() if label in one.labels} == values


def test_some_are_bare_metal() -> None:
    assert sum(one.labels[names.INSTANCE_SIZE].startswith("metal") for one in ec2_types()) > 10


def test_devices_are_a_resource() -> None:
    assert TYPES["g5.12xlarge"].allocatable["nvidia.com/gpu"] == 4
    assert TYPES["inf2.24xlarge"].allocatable["aws.amazon.com/neuron"] == 6


def test_a_type_as_its_data_sheet_has_it() -> None:
    m5 = TYPES["m5.large"]

    assert m5.arch == "amd64"
    assert m5.capacity == {
        "cpu": 2000, "memory": (8192 - 615) * MIB, "pods": 29, "ephemeral-storage": 20 * GIB
    }  # fmt: skip
    assert {o.zone for o in m5.offerings} == {"us-east-1a", "us-east-1b", "us-east-1c"}
    assert {o.price_usd_per_h for o in m5.offerings if o.capacity_type == "on-demand"} == {0.096}


def test_what_is_left_for_pods() -> None:
    m5 = TYPES["m5.large"].allocatable

    assert m5["cpu"] == 1930
    assert m5["memory"] == (8192 - 615 - 255 - 11 * 29 - 100) * MIB
    assert m5["ephemeral-storage"] == 17 * GIB


@pytest.mark.parametrize(
    "family", sorted({one.labels[names.INSTANCE_FAMILY] for one in ec2_types()})
)
def test_every_type_of_a_family_is_sane(family: str) -> None:
    of_the_family = [one for one in ec2_types() if one.labels[names.INSTANCE_FAMILY] == family]

    assert of_the_family
    for one in of_the_family:
        check(one)


def check(one: InstanceType) -> None:
    assert all(0 < one.allocatable[name] <= amount for name, amount in one.capacity.items())
    on_demand = {
        o.zone: o.price_usd_per_h for o in one.offerings if o.capacity_type == names.ON_DEMAND
    }
    spot = {o.zone: o.price_usd_per_h for o in one.offerings if o.capacity_type == names.SPOT}
    assert len(on_demand) == 3
    for zone, price in spot.items():
        assert price is not None
        assert 0 < price < (on_demand[zone] or 0)
    category, generation = (
        one.labels[names.INSTANCE_CATEGORY],
        one.labels[names.INSTANCE_GENERATION],
    )
    assert one.labels[names.INSTANCE_FAMILY].startswith(category + generation)
    assert set(one.labels) <= names.WELL_KNOWN_LABELS
