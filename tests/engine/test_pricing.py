"""Which types a new machine may be, and in which order."""

from itertools import product
from math import inf, nan

import msgspec
import pytest

from tests.builders import changed, instance
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine import pricing
from unmoor.engine.pricing import Choice, cheapest_first
from unmoor.model import names, resources
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.requirement import Requirement, Requirements

GIB = 2**30
SPOT, ON_DEMAND = names.SPOT, names.ON_DEMAND
GPU_NAME = f"{names.INSTANCE_LABEL_PREFIX}gpu-name"
Asked = tuple[str, str, str]
"""Key, operator, and values, which are separated by blanks."""


def shape(
    name: str,
    *offerings: str,
    arch: str = "amd64",
    os: str = "linux",
    size: str = "large",
    devices: dict[str, int] | None = None,
) -> InstanceType:
    """An offering is ``zone capacity-type price``; ``?`` is unknown, ``-`` before it: sold out."""
    amounts = {"cpu": 4000, "memory": 8 * GIB, "pods": 20, **(devices or {})}
    sold = []
    for zone, capacity_type, price in (one.split() for one in offerings):
        sold.append(
            Offering(
                zone=zone,
                capacity_type=capacity_type,
                price_usd_per_h=None if price.endswith("?") else float(price.removeprefix("-")),
                is_available=not price.startswith("-"),
            )
        )
    return InstanceType(
        name=name,
        arch=arch,
        capacity=amounts,
        allocatable=amounts,
        offerings=tuple(sold),
        labels={names.OS: os, names.INSTANCE_SIZE: size} | ({GPU_NAME: "t4"} if devices else {}),
    )


def wanted(*asked: Asked) -> Requirements:
    return Requirements.all_of(Requirement.of(key, op, text.split()) for key, op, text in asked)


def shown(ranked: tuple[Choice, ...]) -> list[str]:
    return [f"{one.type.name} {one.offering.zone} {one.offering.capacity_type}" for one in ranked]


CHEAP = shape("cheap", "a on-demand 0.1", "b on-demand 0.2")
DEAR = shape("dear", "a on-demand 0.4", "a spot 0.05")
TWIN = shape("a-twin", "a on-demand 0.1")
UNKNOWN = shape("a-unknown", "a on-demand ?")
LARGE_UNKNOWN = msgspec.structs.replace(
    shape("a-12xlarge", "a on-demand ?"), capacity={"cpu": 48_000, "memory": 96 * GIB}
)
METAL = shape("metal", "a on-demand 0.01", size="metal-24xl")
GPU = shape("gpu", "a on-demand 0.02", devices={names.GPU: 1})
NEURON = shape("neuron", "a on-demand 0.03", devices={names.NEURON: 1})


@pytest.mark.parametrize(
    ("types", "asked", "expected"),
    [
        pytest.param([DEAR, CHEAP], [], ["dear a spot", "cheap a on-demand"], id="by the cheapest"),
        pytest.param(
            [DEAR, CHEAP],
            [(names.CAPACITY_TYPE, "In", ON_DEMAND)],
            ["cheap a on-demand", "dear a on-demand"],
            id="by the cheapest that is allowed",
        ),
        pytest.param(
            [DEAR, CHEAP],
            [(names.CAPACITY_TYPE, "In", SPOT)],
            ["dear a spot"],
            id="only what is sold as that",
        ),
        pytest.param(
            [CHEAP, TWIN], [], ["a-twin a on-demand", "cheap a on-demand"], id="equal: by name"
        ),
        pytest.param(
            [CHEAP, TWIN], [(names.ZONE, "In", "b")], ["cheap b on-demand"], id="only that zone"
        ),
        pytest.param(
            [CHEAP, TWIN],
            [("topology.ebs.csi.aws.com/zone", "In", "b")],
            ["cheap b on-demand"],
            id="the zone by another name",
        ),
        pytest.param([CHEAP], [(names.ZONE, "In", "z")], [], id="no such zone"),
        pytest.param([CHEAP], [(names.ZONE, "DoesNotExist", "")], [], id="every machine has one"),
        pytest.param(
            [UNKNOWN, CHEAP], [], ["cheap a on-demand", "a-unknown a on-demand"], id="unknown: last"
        ),
        pytest.param([UNKNOWN], [], ["a-unknown a on-demand"], id="unknown: if there is no other"),
        pytest.param(
            [UNKNOWN, LARGE_UNKNOWN, CHEAP],
            [],
            ["cheap a on-demand", "a-unknown a on-demand", "a-12xlarge a on-demand"],
            id="unknown: the smallest first",
        ),
        pytest.param(
            [shape("half", "a on-demand ?", "b on-demand 9"), CHEAP],
            [],
            ["cheap a on-demand", "half b on-demand"],
            id="of a type's offerings the known one counts",
        ),
        pytest.param(
            [shape("out", "a on-demand -0.01", "b on-demand 0.3"), CHEAP],
            [],
            ["cheap a on-demand", "out b on-demand"],
            id="what is sold out does not count",
        ),
        pytest.param([shape("out", "a on-demand -0.01")], [], [], id="all of it sold out"),
        pytest.param([shape("none")], [], [], id="no offering at all"),
    ],
)
def test_order(types: list[InstanceType], asked: list[Asked], expected: list[str]) -> None:
    assert shown(cheapest_first(types, wanted(*asked))) == expected


@pytest.mark.parametrize(
    ("types", "asked", "expected"),
    [
        pytest.param([METAL, GPU, NEURON, CHEAP], [], ["cheap"], id="all special ones go"),
        pytest.param([METAL, GPU, NEURON], [], ["metal", "gpu", "neuron"], id="no other is left"),
        pytest.param(
            [METAL, GPU, CHEAP], [(GPU_NAME, "In", "t4")], ["gpu"], id="a GPU is asked for"
        ),
        pytest.param(
            [METAL, CHEAP], [(names.INSTANCE_SIZE, "In", "metal-24xl")], ["metal"], id="metal is"
        ),
        pytest.param(
            [GPU, shape("out", "a on-demand -0.5")], [], ["gpu"], id="the other is sold out"
        ),
        pytest.param([GPU, CHEAP], [(GPU_NAME, "DoesNotExist", "")], ["cheap"], id="absence"),
    ],
)
def test_special_types_only_if_nothing_else_would_do(
    types: list[InstanceType], asked: list[Asked], expected: list[str]
) -> None:
    assert [one.type.name for one in cheapest_first(types, wanted(*asked))] == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param((names.INSTANCE_TYPE, "In", "cheap"), ["cheap"], id="name"),
        pytest.param((names.ARCH, "In", "arm64"), [], id="architecture"),
        pytest.param((names.OS, "NotIn", "linux"), [], id="os"),
        pytest.param((names.REGION, "In", "here"), [], id="a region that no type has"),
        pytest.param((names.INSTANCE_CPU, "Gt", "1"), [], id="a number that no type has"),
        pytest.param(("team", "In", "shop"), ["cheap"], id="a label that the machine gets"),
        pytest.param((names.PROVISIONER_NAME, "In", "p"), ["cheap"], id="its provisioner"),
        pytest.param((names.INSTANCE_SIZE, "Exists", ""), ["cheap"], id="any size"),
    ],
)
def test_which_types_suit(asked: Asked, expected: list[str]) -> None:
    assert [one.type.name for one in cheapest_first([CHEAP], wanted(asked))] == expected


def test_no_more_than_sixty() -> None:
    many = [shape(f"t{index:02}", f"a on-demand {1 + index}") for index in range(70)]
    ranked = cheapest_first(reversed(many), wanted())

    assert [one.type.name for one in ranked] == [f"t{index:02}" for index in range(60)]
    assert pricing.TYPES_PER_MACHINE_MAX == 60


def test_the_sixty_are_counted_after_the_special_ones_are_out() -> None:
    many = [shape(f"m{i:02}", "a on-demand 0.01", size="metal") for i in range(70)]

    assert shown(cheapest_first([*many, CHEAP], wanted())) == ["cheap a on-demand"]


# Upstream's cases, on the types that upstream's cases have: each system in each zone.

SYSTEMS = tuple(product(("amd64", "arm64"), ("linux", "windows")))
ASSORTED = [
    shape(
        f"{arch}-{os}-{index}",
        *(
            f"{zone} {kind} {(number * 7 + index * 5) % 23 + 1}"
            for number, (zone, kind) in enumerate(product("abc", (SPOT, ON_DEMAND)), start=index)
        ),
        arch=arch,
        os=os,
    )
    for index in range(3)
    for arch, os in SYSTEMS
]
CHOICES = {
    names.ARCH: (None, "amd64", "arm64"),
    names.OS: (None, "linux", "windows"),
    names.ZONE: (None, "a", "b"),
    names.CAPACITY_TYPE: (None, SPOT, ON_DEMAND),
}


@pytest.mark.parametrize("zone", CHOICES[names.ZONE])
@pytest.mark.parametrize("kind", CHOICES[names.CAPACITY_TYPE])
@pytest.mark.parametrize("os", CHOICES[names.OS])
@pytest.mark.parametrize("arch", CHOICES[names.ARCH])
def test_t366_the_cheapest_under_every_combination(
    arch: str | None, os: str | None, zone: str | None, kind: str | None
) -> None:
    chosen = dict(zip(CHOICES, (arch, os, zone, kind), strict=True))
    asked = [(key, "In", value) for key, value in chosen.items() if value]
    (first, *_) = cheapest_first(ASSORTED, wanted(*asked))
    prices = [
        offering.price_usd_per_h
        for one in ASSORTED
        if arch in {None, one.arch} and os in {None, one.labels[names.OS]}
        for offering in one.offerings
        if zone in {None, offering.zone} and kind in {None, offering.capacity_type}
    ]

    assert first.offering.price_usd_per_h == min(price for price in prices if price is not None)
    assert arch in {None, first.type.arch}
    assert os in {None, first.type.labels[names.OS]}
    assert zone in {None, first.offering.zone}
    assert kind in {None, first.offering.capacity_type}


ONLY_ON_DEMAND = (names.CAPACITY_TYPE, "In", ON_DEMAND)


def test_t368_the_cheapest_that_has_room() -> None:
    """Real types, each step of the sweep on its own; metal and GPUs are for those who ask."""
    ordinary = [one for one in ec2_types() if not pricing.is_special(one)]
    for cpu, gib in product((500, 1000, 4000, 16000, 60000), (1, 4, 30, 100, 500)):
        requests = {"cpu": cpu, "memory": gib * GIB, "pods": 1}
        (first, *_) = cheapest_first(ec2_types(), wanted(ONLY_ON_DEMAND), requests)
        prices = [
            offering.price_usd_per_h or 0
            for one in ordinary
            if all(one.allocatable[name] >= amount for name, amount in requests.items())
            for offering in one.offerings
            if offering.capacity_type == ON_DEMAND
        ]
        assert resources.fits(requests, first.type.allocatable)
        assert first.offering.price_usd_per_h == min(prices)


def test_t369_the_price_of_spot_means_nothing_to_who_wants_on_demand() -> None:
    lure = shape("lure", "a on-demand 0.9", "a spot 0.001")
    fair = shape("fair", "a on-demand 0.5", "a spot 0.4")

    assert shown(cheapest_first([lure, fair], wanted(ONLY_ON_DEMAND))) == [
        "fair a on-demand",
        "lure a on-demand",
    ]


def test_a_request_for_devices_finds_what_has_them() -> None:
    requests = {names.GPU: 1, "cpu": 1000}

    assert shown(cheapest_first([CHEAP, GPU, METAL], wanted(), requests)) == ["gpu a on-demand"]


def test_what_fits_nowhere_is_nothing() -> None:
    assert cheapest_first([CHEAP], wanted(), {"cpu": 5000}) == ()


@pytest.mark.parametrize("price", [nan, inf, -inf, -0.01, 1e308, 1.1e9, 1e-300])
def test_what_is_no_amount_of_money_is_no_known_price(price: float) -> None:
    offering = Offering(zone="a", capacity_type="spot", price_usd_per_h=price)

    assert offering.price_usd_per_h is None
    assert changed(instance(), price_usd_per_h=price).price_usd_per_h is None
    assert msgspec.structs.replace(offering, price_usd_per_h=0.0).price_usd_per_h == 0.0
