"""Whom an earlier plan has promised a place goes there first, if it may."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.engine.scenes import instance_type, place, pod, required, scene, solve, template, term
from unmoor.engine.oracle import ROUNDS_KEPT_MAX
from unmoor.engine.plan import Plan
from unmoor.engine.turns import in_turn
from unmoor.model import names

LARGE = (instance_type("large", cpu=8, pods=20),)


def planned(promised: dict[str, str], *pods: Any, rooms: tuple[str, ...] = ("4", "4")) -> Plan:
    """What comes of these pods, with nodes ``n0``, ``n1`` that come up with so much cpu."""
    coming = [
        place(f"n{at}", cpu=cpu, is_initialized=False, is_ready=False)
        for at, cpu in enumerate(rooms)
    ]
    on = scene(*coming, template(types=LARGE))
    kept = {("default", name): where for name, where in promised.items()}
    return solve(structs.replace(on, promised=kept), list(pods))


def test_it_stays_though_a_larger_one_would_fill_the_place() -> None:
    small, large = pod("small", cpu="1"), pod("large", cpu="4")

    assert planned({}, small, large, rooms=("4",)).placements["default", "large"] == "n0"
    assert dict(planned({"small": "n0"}, small, large, rooms=("4",)).placements) == {
        ("default", "small"): "n0",
        ("default", "large"): "machine#0",
    }


@pytest.mark.parametrize("where", ["gone", "", "machine#0", "n1"])
def test_a_promise_that_cannot_be_kept_is_none(where: str) -> None:
    plan = planned({"p": where}, pod("p", cpu="2"), rooms=("4", "1"))

    assert dict(plan.placements) == {("default", "p"): "n0"}


def test_it_gives_up_what_it_prefers_rather_than_need_another_machine() -> None:
    ssd = {"key": "disk", "operator": "In", "values": ["ssd"]}
    wish = {"preference": {"matchExpressions": [ssd]}, "weight": 1}
    picky = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}

    plan = planned({"p": "n0"}, pod("p", cpu="1", affinity=picky))

    assert dict(plan.placements) == {("default", "p"): "n0"}
    assert len(plan.given_up["default", "p"]) == 1


def test_one_may_let_in_another_so_often_and_no_more() -> None:
    """Each wants to be near the next, who is smaller; all were promised the same node."""

    def chain(length: int) -> Plan:
        pods = [
            pod(
                f"p{at}",
                labels={"app": f"p{at}"},
                cpu=f"{length - at}00m",
                affinity={"podAffinity": required(near(at + 1))} if at + 1 < length else {},
            )
            for at in range(length)
        ]
        return planned({one.name: "n1" for one in pods}, *pods)

    def near(at: int) -> dict[str, Any]:
        return {**term(names.HOSTNAME), "labelSelector": {"matchLabels": {"app": f"p{at}"}}}

    kept = chain(ROUNDS_KEPT_MAX)
    assert set(kept.placements.values()) == {"n1"}
    assert len(kept.placements) == ROUNDS_KEPT_MAX
    longer = chain(ROUNDS_KEPT_MAX + 2)
    assert set(longer.placements.values()) == {"n1"}, "the ordinary order finds the others"
    assert len(longer.placements) == ROUNDS_KEPT_MAX + 2


def test_those_of_one_place_are_put_there_in_the_order_in_which_they_once_were() -> None:
    """The larger one had given up a preference, so the smaller one was there first."""
    queue = [("default", name) for name in ("third", "second", "first", "other")]
    promised = {queue[2]: "n0", queue[1]: "n0", queue[3]: "n1", queue[0]: "n2"}

    assert [name for _, name in in_turn(queue, promised)] == ["third", "first", "second", "other"]
