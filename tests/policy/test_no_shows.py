"""Which offerings are left alone because a machine there has not come up, and for how long?"""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import machine, moment
from unmoor.model import names
from unmoor.model.instance import OfferingName
from unmoor.model.observation import Answer, Asked
from unmoor.model.snapshot import View
from unmoor.policy import no_shows

WHAT = {names.INSTANCE_TYPE: "m5.large", names.ZONE: "z1", names.CAPACITY_TYPE: "spot"}
SUBJECT = "default m5.large z1 spot"


def known(times: int) -> View:
    """The ``times``-th in a row was given up now."""
    answers: Any = {(Asked.NO_SHOW, SUBJECT): Answer(moment(), times)}
    return View.of(answers=answers, identity=builders.IDENTITY)


@pytest.mark.parametrize(
    ("before", "after_s", "times", "avoided_min"),
    [
        pytest.param(0, 0, 1, 15, id="the first"),
        pytest.param(1, 1_800, 2, 30, id="again, as soon as it was tried again"),
        pytest.param(1, 2_700, 2, 30, id="again, a little later"),
        pytest.param(1, 2_701, 1, 15, id="again, long after"),
        pytest.param(4, 9_000, 5, 240, id="the fifth: four hours are the most"),
        pytest.param(99, 15_000, 100, 240, id="very often"),
    ],
)
def test_in_a_row(before: int, after_s: float, times: int, avoided_min: float) -> None:
    view = known(before) if before else View.of(identity=builders.IDENTITY)
    found = no_shows.no_show_of(view, machine("m-a", labels=WHAT), moment(after_s))

    assert found == no_shows.NoShow(
        OfferingName("m5.large", "z1", "spot"), SUBJECT, times, avoided_min * 60
    )


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(machine("m-a", is_new=True, labels=WHAT), id="never launched"),
        pytest.param(machine("m-a", labels={names.ZONE: ""}), id="nobody knows as what"),
        pytest.param(machine("m-a", labels=WHAT, provisioner=""), id="of no provisioner"),
    ],
)
def test_what_is_no_reason_to_leave_an_offering_alone(given: Any) -> None:
    assert no_shows.no_show_of(View.of(identity=builders.IDENTITY), given, moment()) is None


@pytest.mark.parametrize(("after_s", "is_avoided"), [(0, True), (899, True), (900, False)])
def test_for_how_long(after_s: float, *, is_avoided: bool) -> None:
    view, later = known(1), moment(after_s)

    assert no_shows.avoided(view, later) == (
        {"default": {"m5.large z1 spot"}} if is_avoided else {}
    )
    assert no_shows.avoided_by(view, "default", later) == (
        (OfferingName("m5.large", "z1", "spot"),) if is_avoided else ()
    )
    assert no_shows.avoided_by(view, "other", later) == ()
