import pytest

from unmoor.cloud.catalogue import GIB, MIB, ec2_types
from unmoor.model import names
from unmoor.model.instance import InstanceType

TYPES = {one.name: one for one in ec2_types()}


def test_it_is_small_sorted_and_read_once() -> None:
    assert [one.name for one in ec2_types()] == sorted(TYPES)
    assert 30 <= len(TYPES) <= 50
    assert ec2_types() is ec2_types()


def test_a_type_as_its_data_sheet_has_it() -> None:
    m5 = TYPES["m5.large"]

    assert m5.arch == "amd64"
    assert m5.capacity == {
        "cpu": 2000, "memory": 8 * GIB, "pods": 29, "ephemeral-storage": 20 * GIB
    }  # fmt: skip
    assert {o.zone for o in m5.offerings} == {"us-east-1a", "us-east-1b", "us-east-1c"}
    assert {o.price_usd_per_h for o in m5.offerings if o.capacity_type == "on-demand"} == {0.096}


def test_what_is_left_for_pods() -> None:
    m5 = TYPES["m5.large"].allocatable

    assert m5["cpu"] == 1930
    assert m5["memory"] == (8192 - 255 - 11 * 29 - 100) * MIB
    assert m5["ephemeral-storage"] == 17 * GIB


@pytest.mark.parametrize("one", TYPES.values(), ids=TYPES.keys())
def test_every_type_is_sane(one: InstanceType) -> None:
    assert all(0 < one.allocatable[name] <= amount for name, amount in one.capacity.items())
    on_demand = {
        o.zone: o.price_usd_per_h for o in one.offerings if o.capacity_type == names.ON_DEMAND
    }
    spot = {o.zone: o.price_usd_per_h for o in one.offerings if o.capacity_type == names.SPOT}
    assert len(on_demand) == 3
    for zone, price in spot.items():
        assert price is not None
        assert 0 < price < (on_demand[zone] or 0)
    family = one.labels[names.INSTANCE_FAMILY]
    assert family == one.labels[names.INSTANCE_CATEGORY] + family[1:]
    assert one.labels[names.INSTANCE_GENERATION] in family
