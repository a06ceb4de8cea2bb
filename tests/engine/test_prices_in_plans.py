"""Which types a planned machine names, and its price: special ones last, unknown is not free."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.engine.scenes import ZONES, instance_type, pod, scene, solve, template
from unmoor.engine import solving
from unmoor.model import names
from unmoor.model.instance import InstanceType, Offering

Z1, Z2 = ZONES[:2]


def sold(name: str, *prices: float | None, **more: Any) -> InstanceType:
    """On demand, the first price in zone 1, the second in zone 2."""
    made = instance_type(name, **more)
    offerings = tuple(
        Offering(zone=zone, capacity_type=names.ON_DEMAND, price_usd_per_h=price)
        for zone, price in zip(ZONES, prices, strict=False)
    )
    return InstanceType(
        name=name,
        arch=made.arch,
        capacity=made.capacity,
        allocatable=made.allocatable,
        offerings=offerings,
        labels=made.labels,
    )


CHEAP, DEAR = sold("cheap", 0.1), sold("dear", 0.9)
BLANK, BLANK_TOO = sold("a-blank", None), sold("b-blank", None)
SMALL_BLANK, BIG_BLANK = sold("z-small", None, cpu=1), sold("a-big", None, cpu=48)
ROOMY_BLANK = sold("a-roomy", None, memory_gib=32)
HALF = sold("half", None, 0.2)
METAL = sold("metal", 0.01, labels={names.INSTANCE_SIZE: "metal-24xl"})
GPU = sold("gpu", 0.02, extra={names.GPU: 1})
SMALL_AND_CHEAP = sold("small", 0.05, cpu=1)


@pytest.mark.parametrize(
    ("types", "asks", "named", "price"),
    [
        pytest.param([DEAR, CHEAP], {}, ["cheap", "dear"], 0.1, id="the cheapest first"),
        pytest.param([METAL, GPU, DEAR], {}, ["dear"], 0.9, id="no special one, however cheap"),
        pytest.param([METAL, GPU], {}, ["metal", "gpu"], 0.01, id="unless there is no other"),
        pytest.param(
            [METAL, GPU, DEAR], {"requests": {names.GPU: "1"}}, ["gpu"], 0.02, id="or it is needed"
        ),
        pytest.param(
            [GPU, SMALL_AND_CHEAP], {"cpu": "3"}, ["gpu"], 0.02, id="or the other has no room"
        ),
        pytest.param([BLANK, DEAR], {}, ["dear", "a-blank"], 0.9, id="unknown comes last"),
        pytest.param(
            [BLANK_TOO, BLANK], {}, ["a-blank", "b-blank"], None, id="unknown only: it costs what?"
        ),
        pytest.param(
            [BLANK, BIG_BLANK, SMALL_BLANK],
            {},
            ["z-small", "a-blank", "a-big"],
            None,
            id="unknown only: the smallest first",
        ),
        pytest.param(
            [BLANK, BIG_BLANK, SMALL_BLANK],
            {"cpu": "3"},
            ["a-blank", "a-big"],
            None,
            id="unknown only: the smallest that has room",
        ),
        pytest.param(
            [BIG_BLANK, SMALL_BLANK, BLANK, DEAR],
            {},
            ["dear", "z-small", "a-blank", "a-big"],
            0.9,
            id="some unknown: those after the known, by size",
        ),
        pytest.param(
            [ROOMY_BLANK, BLANK], {}, ["a-blank", "a-roomy"], None, id="as many cpu: by memory"
        ),
        pytest.param([BLANK, GPU], {}, ["a-blank"], None, id="unknown before special"),
        pytest.param([HALF, DEAR], {}, ["half", "dear"], 0.2, id="known in one zone"),
        pytest.param(
            [HALF, DEAR],
            {"nodeSelector": {names.ZONE: Z1}},
            ["dear", "half"],
            0.9,
            id="unknown in the zone that is wanted",
        ),
        pytest.param(
            [HALF], {"nodeSelector": {names.ZONE: Z1}}, ["half"], None, id="and nothing else there"
        ),
        pytest.param(
            [HALF], {"nodeSelector": {names.ZONE: Z2}}, ["half"], 0.2, id="known where it is wanted"
        ),
    ],
)
def test_what_a_machine_may_be_and_costs(
    types: list[InstanceType], asks: dict[str, Any], named: list[str], price: float | None
) -> None:
    plan = solve(scene(template(types=types)), [pod("p", **{"cpu": "100m", **asks})])
    [machine] = plan.machines

    assert list(machine.instance_types) == named
    assert machine.price_usd_per_h == price
    assert plan.price_usd_per_h == price


def test_special_ones_are_out_before_sixty_are_counted() -> None:
    metal = [
        sold(f"m{number:02}", 0.01, labels={names.INSTANCE_SIZE: "metal"}) for number in range(70)
    ]
    plan = solve(scene(template(types=[*metal, DEAR])), [pod("p")])

    assert plan.machines[0].instance_types == ("dear",)


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    types = [sold("a", 0.5), sold("b", None, cpu=16)]
    pods = [pod("small", cpu="3"), pod("large", cpu="13")]
    plan = solve(scene(template(types=types)), pods)

    assert [one.price_usd_per_h for one in plan.machines] == [None, 0.5]
    assert plan.price_usd_per_h is None


def test_nothing_is_exchanged_for_an_unknown_price() -> None:
    """Pods of equal machines may change places, but not so that nobody knows what it costs."""
    types = [sold("mid", 0.4, cpu=8), sold("blank", None, cpu=4), sold("large", 0.9, cpu=16)]
    pods = [pod(f"p{number}", cpu=cpu) for number, cpu in enumerate(("6", "6", "1", "1", "3", "3"))]
    on = scene(template(types=types))
    before, after = solve(on, pods), solving.solve(on, pods)

    assert before.price_usd_per_h is not None
    assert after.price_usd_per_h is not None
    assert after.price_usd_per_h <= before.price_usd_per_h


@pytest.mark.parametrize(
    ("spot", "on_demand", "book"),
    [(0.1, 0.2, "list, spot guessed"), (0.2, 0.1, "list"), (0.1, 0.1, "list")],
)
def test_the_book_is_that_of_the_offering_whose_price_it_is(
    spot: float, on_demand: float, book: str
) -> None:
    offered = [(names.SPOT, spot), (names.ON_DEMAND, on_demand)]
    offerings = tuple(
        Offering(zone=Z1, capacity_type=kind, price_usd_per_h=price) for kind, price in offered
    )
    one = msgspec.structs.replace(
        CHEAP, offerings=offerings, price_book="list", spot_book="list, spot guessed"
    )
    on, pods = scene(template(types=[one])), [pod("p")]

    for plan in (solve(on, pods), solving.solve(on, pods)):
        assert [new.price_book for new in plan.machines] == [book]
