"""What is asked of many types at once is what is asked of each."""

from __future__ import annotations

import pytest

from tests.engine.pieces import instance_type, wants
from unmoor.engine.sites import all_sold, all_suiting, offerings_of, suits
from unmoor.model import names
from unmoor.model.requirement import NodeSelectorRequirement, Requirements

TYPES = (
    instance_type("small", cpu=2, labels={"example.org/disk": "fast"}),
    instance_type("large", cpu=8, labels={names.INSTANCE_CATEGORY: "c"}),
    instance_type("elsewhere", zones=("z3",)),
    instance_type("sold-out", is_available=False),
)


@pytest.mark.parametrize(
    "asked",
    [
        (),
        (wants(names.INSTANCE_TYPE, "NotIn", "small"),),
        (wants(names.INSTANCE_CATEGORY, "In", "c"), wants(names.ZONE, "In", "z1")),
        (wants(names.INSTANCE_GENERATION, "Gt", "4"), wants(names.ARCH, "In", "amd64")),
        (wants("example.org/disk", "In", "slow"),),
        (wants("example.org/disk", "DoesNotExist"),),
        (wants(names.ZONE, "NotIn", "z1", "z2"),),
        (wants(names.CAPACITY_TYPE, "In", names.SPOT), wants(names.ZONE, "In", "z2", "z3")),
        (wants(names.ZONE, "In", "z9"),),
        (wants(names.PROVISIONER_NAME, "In", "default"), wants(names.INSTANCE_CPU, "Exists")),
    ],
)
def test_many_are_asked_as_each_is(asked: tuple[NodeSelectorRequirement, ...]) -> None:
    requirements = Requirements.from_api(asked)

    assert list(all_suiting(TYPES, requirements)) == [o for o in TYPES if suits(o, requirements)]
    assert list(all_sold(TYPES, requirements)) == [
        o for o in TYPES if offerings_of(o, requirements)
    ]
