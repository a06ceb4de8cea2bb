"""What is on sale, and what was sold out a moment ago? (spec 8.3)"""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import moment
from unmoor.model.instance import InstanceType, Offering, OfferingName
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind
from unmoor.model.snapshot import View
from unmoor.policy import stock

Answers = dict[tuple[Asked, str], Answer[Any]]
Types = Answer[tuple[InstanceType, ...]]
SPOT = Offering(zone="z1", capacity_type="spot", price_usd_per_h=0.1)
ON_DEMAND = Offering(zone="z1", capacity_type="on-demand", price_usd_per_h=0.3)
SMALL = InstanceType(
    name="small", arch="amd64", capacity={}, allocatable={}, offerings=(SPOT, ON_DEMAND)
)
LARGE = InstanceType(name="large", arch="amd64", capacity={}, allocatable={}, offerings=(SPOT,))
NONE_LEFT = Problem(ProblemKind.INSUFFICIENT_CAPACITY, "none left")


def sold_out(*names: OfferingName) -> View:
    answers: Answers = {
        (Asked.STOCK_OUT, str(one)): Answer(moment(), None, NONE_LEFT) for one in names
    }
    return View.of(answers=answers)


def to_be_had(view: View, after_s: float) -> dict[str, list[str]]:
    found = stock.in_stock(view, (SMALL, LARGE), moment(after_s))
    return {one.name: [o.capacity_type for o in one.offerings if o.is_available] for one in found}


@pytest.mark.parametrize(
    ("after_s", "left"), [(0, ["on-demand"]), (179.9, ["on-demand"]), (180, ["spot", "on-demand"])]
)
def test_what_was_sold_out_is_not_tried_for_three_minutes(after_s: float, left: list[str]) -> None:
    view = sold_out(OfferingName("small", "z1", "spot"))

    assert to_be_had(view, after_s) == {"small": left, "large": ["spot"]}


def test_its_price_stays_known() -> None:
    view = sold_out(OfferingName("small", "z1", "spot"))
    small, large = stock.in_stock(view, (SMALL, LARGE), moment())

    assert [one.price_usd_per_h for one in small.offerings] == [0.1, 0.3]
    assert large is LARGE


def test_a_type_whose_name_begins_another_one_is_not_taken_for_it() -> None:
    view = sold_out(OfferingName("smaller", "z1", "spot"))

    assert to_be_had(view, 0) == {"small": ["spot", "on-demand"], "large": ["spot"]}


def test_when_nothing_is_sold_out_the_list_is_the_clouds() -> None:
    types = (SMALL, LARGE)

    assert stock.in_stock(sold_out(), types, moment()) is types


@pytest.mark.parametrize(
    ("problem", "pause_s"), [(None, 300), (Problem(ProblemKind.UNKNOWN, "timeout"), 10)]
)
def test_when_the_cloud_is_asked_again(problem: Problem | None, pause_s: float) -> None:
    answer: Types = Answer(moment(), None if problem else (SMALL,), problem)
    asked: Answers = {(Asked.INSTANCE_TYPES, builders.SCHEME): answer}
    view = View.of(answers=asked, identity=builders.IDENTITY)

    assert stock.types_of(view) == answer
    assert stock.ask_again_at(view, answer) == moment().after(pause_s)


def test_a_cloud_that_was_not_asked_has_said_nothing() -> None:
    assert stock.types_of(View.of(identity=builders.IDENTITY)) is None
