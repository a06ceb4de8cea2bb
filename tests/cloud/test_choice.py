import msgspec
import pytest

from unmoor.cloud import choice
from unmoor.cloud.choice import NoneSuits, SoldOut, StockOut
from unmoor.engine.pricing import Choice
from unmoor.model import names
from unmoor.model.instance import InstanceType, LaunchRequest, Offering, OfferingName
from unmoor.model.requirement import RequirementError

Prices = dict[tuple[str, str], float | None]


def instance_type(name: str, cpu: int, prices: Prices, arch: str = "amd64") -> InstanceType:
    return InstanceType(
        name=name,
        arch=arch,
        capacity={"cpu": cpu, "pods": 10},
        allocatable={"cpu": cpu, "pods": 10},
        offerings=tuple(
            Offering(zone=zone, capacity_type=kind, price_usd_per_h=price)
            for (zone, kind), price in prices.items()
        ),
        labels={names.INSTANCE_TYPE: name, names.ARCH: arch},
    )


SMALL = instance_type(
    "small", 2000, {("a", "on-demand"): 0.2, ("b", "on-demand"): 0.2, ("b", "spot"): 0.1}
)
LARGE = instance_type("large", 8000, {("a", "on-demand"): 0.8, ("a", "spot"): 0.3})
ARM = instance_type("arm", 2000, {("a", "on-demand"): 0.15, ("b", "spot"): None}, arch="arm64")
ALL = (SMALL, LARGE, ARM)


def request(*requirements: tuple[str, str, tuple[str, ...]], cpu: int = 1000) -> LaunchRequest:
    return LaunchRequest(
        token="t",
        cluster="c",
        machine="m",
        requirements=requirements,
        requests={"cpu": cpu, "pods": 3},
        labels={"team": "shop"},
    )


def avoiding(wanted: LaunchRequest, *parts: tuple[str, str, str]) -> LaunchRequest:
    return msgspec.structs.replace(wanted, avoid=tuple(OfferingName(*one) for one in parts))


def chosen(wanted: LaunchRequest, *stock_outs: StockOut) -> tuple[str, str, str]:
    made = choice.choose(ALL, wanted, stock_outs)
    assert isinstance(made, Choice)
    return made.type.name, made.offering.zone, made.offering.capacity_type


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(request(), ("small", "b", "spot"), id="the cheapest"),
        pytest.param(request(cpu=4000), ("large", "a", "spot"), id="that is large enough"),
        pytest.param(
            request((names.CAPACITY_TYPE, "In", ("on-demand",)), (names.ARCH, "In", ("amd64",))),
            ("small", "a", "on-demand"),
            id="equal prices: the first by name",
        ),
        pytest.param(request((names.ZONE, "NotIn", ("b",))), ("arm", "a", "on-demand"), id="zone"),
        pytest.param(
            request((names.ARCH, "In", ("arm64",)), (names.ZONE, "In", ("b",))),
            ("arm", "b", "spot"),
            id="an unknown price, when nothing else suits",
        ),
        pytest.param(
            request((names.ARCH, "In", ("arm64",))),
            ("arm", "a", "on-demand"),
            id="an unknown price is not free",
        ),
        pytest.param(
            request(("team", "In", ("shop",))), ("small", "b", "spot"), id="labels it will get"
        ),
        pytest.param(
            avoiding(request(), ("small", "b", "spot")),
            ("arm", "a", "on-demand"),
            id="what is avoided comes last",
        ),
        pytest.param(
            avoiding(request(cpu=4000), ("large", "a", "spot"), ("large", "a", "on-demand")),
            ("large", "a", "spot"),
            id="and is taken when there is nothing else",
        ),
    ],
)
def test_choice(wanted: LaunchRequest, expected: tuple[str, str, str]) -> None:
    assert chosen(wanted) == expected


def test_what_is_out_of_stock_is_passed_over() -> None:
    assert chosen(request(), StockOut("small", "*", "spot")) == ("arm", "a", "on-demand")


GPU = msgspec.structs.replace(
    instance_type("gpu", 8000, {("a", "spot"): 0.01}), capacity={"cpu": 8000, names.GPU: 1}
)


@pytest.mark.parametrize(
    ("stock_outs", "expected"),
    [
        pytest.param([], "large", id="a GPU is not for who did not ask"),
        pytest.param([StockOut("large")], "gpu", id="unless nothing else is to be had"),
    ],
)
def test_special_machines_are_spared(stock_outs: list[StockOut], expected: str) -> None:
    made = choice.choose((*ALL, GPU), request(cpu=4000), stock_outs)

    assert isinstance(made, Choice)
    assert made.type.name == expected


def test_all_sold_out_names_what_would_have_suited() -> None:
    made = choice.choose(ALL, request(cpu=4000), [StockOut()])

    assert isinstance(made, SoldOut)
    assert made.message == "no capacity for large a on-demand, large a spot"


@pytest.mark.parametrize(
    "wanted", [request(cpu=9000), request(("team", "In", ("other",))), request(("x", "Exists", ()))]
)
def test_nothing_suits(wanted: LaunchRequest) -> None:
    assert isinstance(choice.choose(ALL, wanted), NoneSuits)


def test_a_requirement_that_means_nothing_is_an_error() -> None:
    with pytest.raises(RequirementError, match="Sounds"):
        choice.choose(ALL, request(("x", "Sounds", ())))


def test_stock_outs_are_read_from_text() -> None:
    text = "m5.* us-east-1a spot # since Monday\n\n  # nothing\nc6i.large\n"

    assert choice.parse_stock_outs(text) == (
        StockOut("m5.*", "us-east-1a", "spot"),
        StockOut("c6i.large", "*", "*"),
    )


@pytest.mark.parametrize(("cpu", "expected"), [(1000, "x.small"), (3000, "x.2xlarge")])
def test_where_nobody_knows_a_price_the_smallest_with_room_is_launched(
    cpu: int, expected: str
) -> None:
    unknown: Prices = {("a", "on-demand"): None}
    sizes = {"x.12xlarge": 48_000, "x.2xlarge": 8_000, "x.small": 2_000}
    types = [instance_type(name, size, unknown) for name, size in sizes.items()]

    made = choice.choose(types, request(cpu=cpu))

    assert isinstance(made, Choice)
    assert made.type.name == expected
