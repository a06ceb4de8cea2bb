"""The checker of room that was there already: what excuses a machine, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.scenes import spread
from tests.sim.buying import Market
from tests.sim.promising import BLIND_S, SMALL, USUAL
from unmoor.model import names
from unmoor.model.kinds import PODS

ROOM = "a-machine-is-made-for-want-of-room"
OVER_NODES: dict[str, Any] = {"topologySpreadConstraints": [spread(names.HOSTNAME)]}
OVER_ZONES: dict[str, Any] = {"topologySpreadConstraints": [spread(names.ZONE)]}

Story = Callable[[Market], None]


def rest(market: Market) -> None:
    """Nothing happens for long."""
    market.time_s += 100.0


def no_room(market: Market) -> None:
    market.node("a", cpu="500m")
    rest(market)
    market.pending("p")
    market.machine("m")


def its_room_is_new(market: Market) -> None:
    market.node("a")
    market.pending("p")
    market.machine("m")


def somebody_has_left_just_now(market: Market) -> None:
    market.node("a")
    market.pod("q", "3500m", on="a")
    rest(market)
    market.pending("p")
    market.server.delete(PODS.ref("q", "default"))
    market.machine("m")


def another_process_has_just_made_one(market: Market) -> None:
    market.pending("p")
    market.machine("m", by="unmoor-b")
    market.machine("n")


def the_first_of_the_plan_is_for_others(market: Market) -> None:
    market.pending("p", "500m")
    market.pending("q", "500m")
    market.machine("m")
    market.machine("n")


def it_may_be_too_small_where_the_cloud_is_out_of_something(market: Market) -> None:
    market.truth.is_in_stock = False
    coming(market, SMALL, USUAL)
    market.pending("p", "1500m")
    market.machine("n")


def the_room_is_kept_for_others(market: Market) -> None:
    coming(market, USUAL)
    market.pending("p", "3")
    market.machine("n")


def a_choosy_pod_and_anything_has_happened(market: Market) -> None:
    market.node("a")
    rest(market)
    market.node("b", cpu="100m")
    market.pending("p", **OVER_NODES)
    market.machine("m")


def a_choosy_pod_and_another_has_gone(market: Market) -> None:
    market.node("a")
    rest(market)
    market.pending("p", **OVER_NODES)
    market.pending("q", **OVER_NODES)
    market.server.delete(PODS.ref("q", "default"))
    market.machine("m")


def a_pod_that_must_be_spread_over_zones(market: Market) -> None:
    market.node("a")
    rest(market)
    market.pending("p", **OVER_ZONES)
    market.machine("m")


def coming(market: Market, *types: str) -> None:
    """A machine comes up, for a pod that waits for it."""
    market.pending("w")
    market.machine("m", *types)
    market.promise("m", w="machine/m")
    rest(market)


@pytest.mark.parametrize(
    "story",
    [
        no_room,
        its_room_is_new,
        somebody_has_left_just_now,
        another_process_has_just_made_one,
        the_first_of_the_plan_is_for_others,
        it_may_be_too_small_where_the_cloud_is_out_of_something,
        the_room_is_kept_for_others,
        a_choosy_pod_and_anything_has_happened,
        a_choosy_pod_and_another_has_gone,
        a_pod_that_must_be_spread_over_zones,
    ],
)
def test_a_machine_for_want_of_room_is_not_told(story: Story) -> None:
    market = Market()
    story(market)

    assert market.told(ROOM) == []


def room(market: Market) -> None:
    market.node("a")
    rest(market)
    market.pending("p")
    market.machine("m")


def room_while_there_is_more_elsewhere(market: Market) -> None:
    market.node("a")
    rest(market)
    market.node("b")
    market.pending("p")
    market.machine("m")


def room_while_another_process_makes_machines(market: Market) -> None:
    market.node("a")
    rest(market)
    market.pending("p")
    market.machine("m", by="unmoor-b")
    market.time_s += BLIND_S / 2
    market.machine("n")


def room_on_a_machine_of_the_plan_before(market: Market) -> None:
    market.pending("w")
    market.machine("m")
    market.promise("m", w="machine/m")
    market.pending("p")
    market.machine("n")


def room_whatever_it_becomes(market: Market) -> None:
    market.truth.is_in_stock = False
    coming(market, SMALL, USUAL)
    market.pending("p", "500m")
    market.machine("n")


def room_on_one_that_can_become_one_type_only(market: Market) -> None:
    market.truth.is_in_stock = False
    coming(market, USUAL)
    market.pending("p", "500m")
    market.machine("n")


def room_for_a_choosy_pod(market: Market) -> None:
    market.node("a")
    rest(market)
    market.pending("p", **OVER_NODES)
    market.machine("m")


FOUND: dict[Story, str] = {
    room: "p on a",
    room_while_there_is_more_elsewhere: "p on a",
    room_while_another_process_makes_machines: "p on a",
    room_on_a_machine_of_the_plan_before: "p on m, w on m",
    room_whatever_it_becomes: "p on m, w on m",
    room_on_one_that_can_become_one_type_only: "p on m, w on m",
    room_for_a_choosy_pod: "p on a",
}


@pytest.mark.parametrize("story", FOUND)
def test_a_machine_in_spite_of_room_is_told(story: Story) -> None:
    market = Market()
    story(market)

    assert market.told(ROOM)[-1:] == [f"there was room without it: {FOUND[story]}"]
