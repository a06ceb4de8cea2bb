"""Limits: up to them is allowed, beyond is not; limits that mean nothing allow nothing."""

from typing import Any

import msgspec
import pytest

from unmoor.engine.limits import Left, left_by
from unmoor.engine.refusal import Constraint
from unmoor.model import resources
from unmoor.model.provisioner import Provisioner
from unmoor.model.resources import Quantities

MACHINE = {"cpu": "4", "memory": "16Gi", "pods": "110"}


def left(limits: Any, **used: str) -> Left:
    raw = {"metadata": {"name": "default"}, "spec": {"limits": limits}}
    used_up = {name.replace("_", "-"): value for name, value in used.items()}
    return left_by(msgspec.convert(raw, Provisioner), resources.parse_resources(used_up))


def refused(found: Left, capacity: Quantities = MACHINE) -> list[tuple[str, int]]:
    """Which limits refuse, and by how much; nothing else may."""
    reasons = found.refusals(resources.parse_resources(capacity))
    assert {one.constraint for one in reasons} <= {Constraint.LIMITS}
    return [(one.subject, one.short) for one in reasons]


@pytest.mark.parametrize(
    ("used", "short"),
    [
        pytest.param("15", [], id="below"),
        pytest.param("16", [], id="equal"),
        pytest.param("16001m", [("cpu", 1)], id="above"),
        pytest.param("17", [("cpu", 1000)], id="far above"),
    ],
)
def test_t371_up_to_the_limit_is_allowed_beyond_is_not(used: str, short: Any) -> None:
    assert refused(left({"resources": {"cpu": "20"}}, cpu=used)) == short


@pytest.mark.parametrize("limits", [None, {}, {"resources": {}}], ids=["absent", "none", "empty"])
def test_without_limits_everything_is_allowed(limits: Any) -> None:
    found = left(limits, cpu="100000")

    assert (found.amounts, found.problem, refused(found)) == ({}, "", [])


def test_a_limit_on_any_resource_holds_and_no_other() -> None:
    found = left({"resources": {"nvidia.com/gpu": 2, "memory": "20Gi"}}, cpu="100000")

    assert refused(found, {**MACHINE, "nvidia.com/gpu": 2}) == []
    assert refused(found, {**MACHINE, "nvidia.com/gpu": 3}) == [("nvidia.com/gpu", 1)]
    assert refused(found, {"nvidia.com/gpu": 4, "memory": "21Gi"}) == [
        ("memory", 2**30),
        ("nvidia.com/gpu", 2),
    ]


def test_a_limit_of_zero_allows_only_what_has_nothing_of_it() -> None:
    assert refused(left({"resources": {"cpu": 0}})) == [("cpu", 4000)]
    assert refused(left({"resources": {"nvidia.com/gpu": "0"}})) == []


def test_once_exceeded_a_limit_allows_nothing_more() -> None:
    found = left({"resources": {"nvidia.com/gpu": 1}}, **{"nvidia.com/gpu": "3"})

    assert found.amounts == {"nvidia.com/gpu": -2}
    assert refused(found) == [("nvidia.com/gpu", 2)]
    assert "may have 1 (spec.limits.resources), 3 already in use" in found.refusals({})[0].missing


def test_a_refusal_says_what_is_missing_and_where() -> None:
    found = left({"resources": {"memory": "20Gi"}}, memory="10Gi")
    (reason,) = found.refusals(resources.parse_resources(MACHINE))

    assert str(reason) == (
        "limits: memory: provisioner default may have 20Gi (spec.limits.resources), 10Gi in use, "
        "this machine 16Gi"
    )
    assert reason.where == "default"


@pytest.mark.parametrize(
    ("used", "said"), [("10Gi", "10Gi in use"), ("21Gi", "21Gi already in use")]
)
def test_what_is_on_order_is_said_to_count_as_the_largest(used: str, said: str) -> None:
    found = left({"resources": {"memory": "20Gi"}}, memory=used)
    ordered = msgspec.structs.replace(found, is_on_order=True)
    (reason,) = ordered.refusals(resources.parse_resources(MACHINE))

    why = "until it is launched, a machine counts as the largest that it may become"
    assert f"{said} or on order ({why})" in str(reason)


@pytest.mark.parametrize("value", ["lots", "", "-1", -1, "1e30", "x" * 10_000])
def test_limits_that_mean_nothing_allow_nothing_and_say_so(value: Any) -> None:
    found = left({"resources": {"cpu": value, "memory": "1Ti"}})
    (reason,) = found.refusals({})

    assert found.problem.startswith("provisioner/default: spec.limits.resources.cpu")
    assert (reason.constraint, reason.where) == (Constraint.PROVISIONER, "default")
    assert reason.missing == found.problem


def test_absurd_amounts_stay_countable() -> None:
    most = str(resources.AMOUNT_LIMIT - 1)
    found = left({"resources": {"memory": most}}, memory=most)

    assert found.amounts == {"memory": 0}
    assert refused(found, {"memory": 1}) == [("memory", 1)]
