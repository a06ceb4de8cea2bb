"""Where nothing on sale meets the requirements, the one that is to blame is named."""

from __future__ import annotations

import pytest

from tests.engine.scenes import ZONES, instance_type
from unmoor.engine import blame
from unmoor.engine.blame import nearest, words_of
from unmoor.model import names
from unmoor.model.instance import OfferingName
from unmoor.model.requirement import Requirement, Requirements

CPU = names.INSTANCE_CPU
TYPES = (
    instance_type("m5.large", cpu=2, labels={CPU: "2"}, zones=ZONES[:2]),
    instance_type("m6g.large", cpu=4, arch="arm64", labels={CPU: "4"}, capacity_types=("spot",)),
    instance_type("m6g.xlarge", cpu=16, arch="arm64", labels={CPU: "16"}),
)


def required(*parts: tuple[str, str, str]) -> Requirements:
    """Requirements of one value each."""
    return Requirements.all_of(Requirement.of(key, how, [value]) for key, how, value in parts)


@pytest.mark.parametrize(
    ("parts", "defaults", "words"),
    [
        pytest.param([(names.ZONE, "In", ZONES[1])], (), "", id="something is sold"),
        pytest.param(
            [(names.ZONE, "In", "us-east-1x")],
            (),
            f"nothing is sold with {names.ZONE} In [us-east-1x]; there is {', '.join(ZONES)}",
            id="a zone that is not there",
        ),
        pytest.param(
            [(names.CAPACITY_TYPE, "In", "spott")],
            (),
            f"nothing is sold with {names.CAPACITY_TYPE} In [spott]; did you mean spot?",
            id="a slip of the pen",
        ),
        pytest.param(
            [(names.INSTANCE_TYPE, "In", "m5.larg"), (names.ARCH, "In", "mips")],
            (),
            f"nothing is sold with {names.ARCH} In [mips]; there is amd64, arm64; "
            f"nothing is sold with {names.INSTANCE_TYPE} In [m5.larg]; did you mean m5.large?",
            id="two at once",
        ),
        pytest.param(
            [(names.ARCH, "In", "amd64"), (CPU, "Gt", "3")],
            (names.ARCH,),
            "no type that suits the others goes with kubernetes.io/arch In [amd64] (a "
            "default: add a requirement on it); there is arm64",
            id="a default",
        ),
        pytest.param(
            [(names.OS, "In", "linux"), ("team", "In", "blue"), (CPU, "Gt", "16")],
            (),
            f"no type that suits the others goes with {CPU} > 16; there is 2, 4, 16",
            id="one of three, and numbers by size",
        ),
        pytest.param(
            [(names.INSTANCE_TYPE, "In", "m5.large"), (names.ZONE, "In", ZONES[2])],
            (),
            f"no type that suits the others goes with {names.INSTANCE_TYPE} In [m5.large]; "
            "there is m6g.xlarge",
            id="a zone where this type is not sold",
        ),
        pytest.param(
            [
                (names.INSTANCE_TYPE, "In", "m5.large"),
                (names.ARCH, "In", "arm64"),
                (CPU, "In", "16"),
            ],
            (),
            f"no type that suits the others goes with {names.INSTANCE_TYPE} In [m5.large]; "
            "there is m6g.xlarge",
            id="one that contradicts two",
        ),
    ],
)
def test_who_is_to_blame(
    parts: list[tuple[str, str, str]], defaults: tuple[str, ...], words: str
) -> None:
    assert words_of(required(*parts), TYPES, defaults) == words


def test_two_that_only_together_leave_something() -> None:
    parts = [
        (names.INSTANCE_TYPE, "In", "m6g.large"),
        (CPU, "In", "16"),
        (names.ARCH, "In", "amd64"),
    ]

    said = words_of(required(*parts), TYPES, ())

    assert said == (
        f"no type that suits the others goes with {CPU} In [16] and {names.ARCH} In [amd64]; "
        "change one of them"
    )


def test_out_of_stock_is_on_sale_and_nothing_at_all_is_nobodys_fault() -> None:
    sold = TYPES[0].offerings
    names_of = (OfferingName("m5.large", one.zone, one.capacity_type) for one in sold)
    gone = TYPES[0].without({str(one): "" for one in names_of})
    assert not any(offering.is_available for offering in gone.offerings)

    assert words_of(required((names.ARCH, "In", "amd64")), (gone,), ()) == ""
    assert words_of(required((names.ARCH, "In", "mips")), (), ()) == ""


def test_of_very_many_requirements_no_pairs_are_tried() -> None:
    own = [(f"label-{number}", "In", "x") for number in range(20)]
    parts = [
        (names.INSTANCE_TYPE, "In", "m6g.large"),
        (CPU, "In", "16"),
        (names.ARCH, "In", "amd64"),
    ]

    assert words_of(required(*parts, *own), TYPES, ()) == "no instance type suits all of them"


@pytest.mark.parametrize(
    ("value", "found"), [("m5.larg", "m5.large"), ("zzzzz", ""), ("", ""), ("m" * 100_000, "")]
)
def test_the_nearest_value(value: str, found: str) -> None:
    assert nearest(value, {"m5.large", "c5.large"}) == found


@pytest.mark.parametrize(
    ("value", "meant"),
    [("us-east-1", ""), ("us-east-1x", ""), ("us-west-2c", "us-west-2a"), ("m5.larg", "m5.large")],
)
def test_what_several_are_equally_like_is_none_of_them(value: str, meant: str) -> None:
    known = ("us-east-1a", "us-east-1b", "us-west-2a", "m5.large", "m5a.large")

    assert nearest(value, known) == meant


def test_of_thousands_of_values_a_few_are_compared() -> None:
    """The slip that comes after them is not looked at; all are named, as far as there is room."""
    others = [f"a{at:04}" for at in range(5_000)]
    few, many = (
        Requirements.all_of([Requirement.of(names.INSTANCE_TYPE, "In", [*those, "m5.larg"])])
        for those in (others[: blame.ASKED_MAX - 1], others)
    )

    assert words_of(few, TYPES, ()).endswith("; did you mean m5.large?")
    assert words_of(many, TYPES, ()).endswith("; there is m5.large, m6g.large, m6g.xlarge")
    assert len(words_of(many, TYPES, ())) < 600
