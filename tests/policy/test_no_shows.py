"""Which offerings are left alone because a machine there has not come up, and for how long?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.builders import changed, machine, moment, owner
from unmoor.model import names
from unmoor.model.base import ObjectMeta
from unmoor.model.instance import OfferingName
from unmoor.model.kubelet import KubeletConfiguration
from unmoor.model.machine import TemplateRef
from unmoor.model.observation import Answer, Asked
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.model.static_hash import hash_of
from unmoor.policy import no_shows

WHAT = {names.INSTANCE_TYPE: "m5.large", names.ZONE: "z1", names.CAPACITY_TYPE: "spot"}
MAKER = builders.provisioner()
SUBJECT = f"uid-provisioner-default/{hash_of(MAKER)}//default m5.large z1 spot"
OTHER = msgspec.structs.replace(MAKER, metadata=ObjectMeta(name="default", uid="another"))
TUNED = KubeletConfiguration(max_pods=9)
MENDED = changed(MAKER, spec__kubelet_configuration=TUNED)
MOVED = changed(MAKER, spec__provider_ref=TemplateRef(name="mended"))


def known(times: int, maker: Provisioner = MAKER) -> View:
    """The ``times``-th in a row was given up now."""
    answers: Any = {(Asked.NO_SHOW, SUBJECT): Answer(moment(), times)} if times else {}
    return View.of(maker, answers=answers, identity=builders.IDENTITY)


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
    found = no_shows.no_show_of(known(before), machine("m-a", labels=WHAT), moment(after_s))

    assert found == no_shows.NoShow(
        OfferingName("m5.large", "z1", "spot"), SUBJECT, times, avoided_min * 60
    )


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(machine("m-a", is_new=True, labels=WHAT), id="never launched"),
        pytest.param(machine("m-a", labels={names.ZONE: ""}), id="nobody knows as what"),
        pytest.param(machine("m-a", labels=WHAT, provisioner=""), id="of no provisioner"),
        pytest.param(machine("m-a", labels=WHAT, provisioner="gone"), id="its provisioner is gone"),
        pytest.param(
            machine("m-a", labels=WHAT, owners=(owner("Provisioner", "default", "earlier"),)),
            id="another has its provisioner's name",
        ),
        pytest.param(
            machine("m-a", labels=WHAT, annotations={names.PROVISIONER_HASH: "unmoor-1-earlier"}),
            id="its provisioner has changed",
        ),
        pytest.param(
            changed(machine("m-a", labels=WHAT), spec__machine_template_ref=TemplateRef(name="b")),
            id="its template is another one now",
        ),
    ],
)
def test_what_is_no_reason_to_leave_an_offering_alone(given: Any) -> None:
    assert no_shows.no_show_of(known(0), given, moment()) is None


@pytest.mark.parametrize(
    ("maker", "times"),
    [
        pytest.param(MAKER, 2, id="as it was"),
        pytest.param(OTHER, 1, id="another of its name"),
        pytest.param(MENDED, 1, id="its static part has changed"),
        pytest.param(MOVED, 1, id="its template is another one"),
    ],
)
def test_a_provisioner_that_is_another_one_starts_afresh(maker: Provisioner, times: int) -> None:
    view = known(1, maker)
    found = no_shows.no_show_of(view, machine("m-a", labels=WHAT), moment(1_800))

    assert found is not None
    assert found.times == times
    assert bool(no_shows.avoided(view, moment())) == (maker is MAKER)


@pytest.mark.parametrize(("after_s", "is_avoided"), [(0, True), (899, True), (900, False)])
def test_for_how_long(after_s: float, *, is_avoided: bool) -> None:
    view, later = known(1), moment(after_s)

    assert no_shows.avoided(view, later) == (
        {"default": {"m5.large z1 spot": "2024-05-01T12:15:00Z"}} if is_avoided else {}
    )
    assert no_shows.avoided_by(view, "default", later) == (
        (OfferingName("m5.large", "z1", "spot"),) if is_avoided else ()
    )
    assert no_shows.avoided_by(view, "other", later) == ()
