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


def sold_out(*names: OfferingName, times: int = 1) -> View:
    answers: Answers = {(Asked.STOCK_OUT, str(one)): Answer(moment(), times) for one in names}
    return View.of(answers=answers)


def to_be_had(view: View, after_s: float) -> dict[str, list[str]]:
    found = stock.in_stock((SMALL, LARGE), stock.sold_out(view, moment(after_s)))
    return {one.name: [o.capacity_type for o in one.offerings if o.is_available] for one in found}


@pytest.mark.parametrize(
    ("after_s", "left"), [(0, ["on-demand"]), (179.9, ["on-demand"]), (180, ["spot", "on-demand"])]
)
def test_what_was_sold_out_is_not_tried_for_three_minutes(after_s: float, left: list[str]) -> None:
    view = sold_out(OfferingName("small", "z1", "spot"))

    assert to_be_had(view, after_s) == {"small": left, "large": ["spot"]}


@pytest.mark.parametrize(
    ("times", "memory_s"),
    [
        pytest.param(1, 180, id="the first"),
        pytest.param(2, 360, id="the second"),
        pytest.param(3, 720, id="the third"),
        pytest.param(4, 900, id="the fourth: a quarter of an hour is the most"),
        pytest.param(99, 900, id="very often"),
    ],
)
def test_what_is_sold_out_again_and_again_is_tried_less_often(times: int, memory_s: float) -> None:
    view = sold_out(OfferingName("small", "z1", "spot"), times=times)

    assert to_be_had(view, memory_s - 0.1)["small"] == ["on-demand"]
    assert to_be_had(view, memory_s)["small"] == ["spot", "on-demand"]


@pytest.mark.parametrize(
    ("before", "after_s", "times"),
    [
        pytest.param(0, 0, 1, id="the first"),
        pytest.param(1, 179, 1, id="of a machine that was on its way"),
        pytest.param(1, 180, 2, id="again, as soon as it was tried again"),
        pytest.param(1, 359, 2, id="again, a little later"),
        pytest.param(1, 360, 1, id="again, long after"),
        pytest.param(2, 359, 2, id="on its way, the second time"),
        pytest.param(2, 360, 3, id="the third"),
        pytest.param(9, 900, 10, id="the tenth"),
    ],
)
def test_in_a_row(before: int, after_s: float, times: int) -> None:
    spot = OfferingName("small", "z1", "spot")
    view = sold_out(spot, times=before) if before else sold_out()

    assert stock.times_refused(view, str(spot), moment(after_s)) == times


@pytest.mark.parametrize(
    ("answer", "after_s", "is_short"),
    [
        pytest.param(Answer(moment(), None, NONE_LEFT), 0, True, id="just now"),
        pytest.param(Answer(moment(), None, NONE_LEFT), 1_079, True, id="a while ago"),
        pytest.param(Answer(moment(), None, NONE_LEFT), 1_080, False, id="long ago"),
        pytest.param(Answer(moment(), True), 0, False, id="there was some"),
        pytest.param(None, 0, False, id="nobody has asked"),
    ],
)
def test_whether_the_last_machine_found_no_capacity(
    answer: Answer[bool] | None, after_s: float, *, is_short: bool
) -> None:
    one = builders.provisioner()
    answers: Answers = {(Asked.CAPACITY, one.uid): answer} if answer is not None else {}
    found = stock.shortage_of(View.of(one, answers=answers), one, moment(after_s))

    assert found == (NONE_LEFT if is_short else None)


def test_its_price_stays_known() -> None:
    view = sold_out(OfferingName("small", "z1", "spot"))
    small, large = stock.in_stock((SMALL, LARGE), stock.sold_out(view, moment()))

    assert [one.price_usd_per_h for one in small.offerings] == [0.1, 0.3]
    assert large is LARGE


def test_a_type_whose_name_begins_another_one_is_not_taken_for_it() -> None:
    view = sold_out(OfferingName("smaller", "z1", "spot"))

    assert to_be_had(view, 0) == {"small": ["spot", "on-demand"], "large": ["spot"]}


def test_when_nothing_is_sold_out_the_list_is_the_clouds() -> None:
    types = (SMALL, LARGE)

    assert stock.in_stock(types, stock.sold_out(sold_out(), moment())) is types


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
