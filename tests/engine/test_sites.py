"""Many types are asked as each is, and a node that is followed is as one that is new."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from tests.engine.pieces import instance_type, wants
from tests.engine.scenes import place, pod
from unmoor.engine.scene import Place
from unmoor.engine.sites import Standing, Tenants, all_sold, all_suiting, offerings_of, suits
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.model.requirement import NodeSelectorRequirement, Requirements
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View

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


REQUESTS: tuple[dict[str, Any], ...] = (
    {},
    {"cpu": "1"},
    {"cpu": "500m", "memory": "1Gi"},
    {"example.com/gpu": "1"},
    {"example.com/gpu": "0"},
    {"example.com/gpu": str(2**62)},
    {"cpu": str(2**61)},
    {"cpu": "a lot"},
)
RESERVED: tuple[Resources, ...] = ({}, {}, {"cpu": 100}, {"example.com/gpu": 1})


def somebody(dice: random.Random, number: int) -> Pod:
    """A pod that nearly never holds a port."""
    ports = [{"hostPort": 80}] if dice.random() < 0.05 else []
    made = pod(f"p{number}", node="a", requests=dice.choice(REQUESTS))
    main = msgspec.convert({"name": "main", "ports": ports}, type(made.spec.containers[0]))
    main = msgspec.structs.replace(main, resources=made.spec.containers[0].resources)
    return msgspec.structs.replace(
        made, spec=msgspec.structs.replace(made.spec, containers=(main,))
    )


def a_little_later(
    on: Place, dice: random.Random, number: int
) -> tuple[Place, list[Pod], list[Pod]]:
    """The same node, who has come, and who has gone."""
    gone = [one for one in on.pods if dice.random() < 0.3]
    come = [somebody(dice, 10 * number + at) for at in range(dice.randrange(3))]
    left = [one for one in on.pods if one not in gone]
    more: dict[str, Any] = {"reserved": dice.choice((on.reserved, *RESERVED))}
    if dice.random() < 0.2:
        more["allocatable"] = {**on.allocatable, "cpu": dice.randrange(9)}
    return msgspec.structs.replace(on, pods=(*left, *come), **more), come, gone


@pytest.mark.parametrize("seed", range(20))
def test_a_node_that_is_followed_is_as_one_that_is_new(seed: int) -> None:
    dice, view, known = random.Random(seed), View.of(), Tenants()
    on = place("a")
    site, times = Standing(on, view, known), 0
    for number in range(40):
        on, come, gone = a_little_later(on, dice, number)
        followed, new = site.followed(on, come, gone, known), Standing(on, view, known)
        site = followed or new
        times += followed is not None

        assert vars(site) == vars(new)
    assert times > 0
