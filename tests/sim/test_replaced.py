"""The checker of machines that come for a command: what is told, and what holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.buying import Market
from tests.sim.commanding import comes, command, deleted, goes_on, rises, runs
from tests.sim.promising import BLIND_S, USUAL
from unmoor.model.kinds import DISRUPTIONS, MACHINES
from unmoor.sim import settled

NEED = "a-machine-is-made-for-a-pod"
NODE = "a-node-goes-for-a-reason"
MACHINE = "a-machine-goes-for-a-reason"
LIMITS = "limits-hold"

Story = Callable[[Market], None]


# -------------------------------------------------------------------------------- it comes


def as_its_command_asks(market: Market) -> None:
    command(market)
    comes(market)


def its_command_has_ended_just_now(market: Market) -> None:
    command(market)
    goes_on(market, "Cancelled")
    comes(market)


@pytest.mark.parametrize("story", [as_its_command_asks, its_command_has_ended_just_now])
def test_one_that_is_asked_for_may_come(story: Story) -> None:
    market = Market()
    story(market)

    assert market.told(NEED) == []


def nobody_asks(market: Market) -> None:
    comes(market)


def its_command_is_over(market: Market) -> None:
    command(market)
    goes_on(market, "Cancelled")
    market.time_s += BLIND_S + 1.0
    comes(market)


def its_command_has_asked_for_another(market: Market) -> None:
    command(market)
    comes(market, "n")


def it_is_too_early(market: Market) -> None:
    command(market, "Pending")
    comes(market)


def it_has_been_there(market: Market) -> None:
    command(market, launched={"m": "uid"})
    comes(market)


UNASKED: dict[Story, str] = {
    nobody_asks: "there is no command c under way",
    its_command_is_over: "there is no command c under way",
    its_command_has_asked_for_another: "command c has not asked for it",
    it_is_too_early: "command c is Pending",
    it_has_been_there: "command c has had it already",
}


@pytest.mark.parametrize("story", UNASKED)
def test_one_that_is_not_asked_for_is_told_of(story: Story) -> None:
    market = Market()
    story(market)

    assert market.told(NEED) == [UNASKED[story]]


def test_r41_limits_count_without_what_makes_way_for_it() -> None:
    market = Market()
    market.provisioner(cpu="4")
    market.persons("a", USUAL)
    market.launched("a", cpu="4")
    market.node("a")
    command(market)
    market.time_s += 100.0
    comes(market, "m", USUAL)

    assert market.told(LIMITS) == []


# -------------------------------------------------------------------------------- the node goes


def replaced(market: Market) -> None:
    market.node("a")
    market.persons("a", USUAL)
    market.launched("a", cpu="4")
    runs(market, "a")
    command(market)
    comes(market)


def test_a_node_may_go_when_its_replacement_was_up() -> None:
    market = Market()
    replaced(market)
    rises(market)
    deleted(market, "Node", "a")

    assert market.told(NODE) == []


def test_a_node_that_goes_before_its_replacement_is_up_is_told_of() -> None:
    market = Market()
    replaced(market)
    deleted(market, "Node", "a")

    assert market.told(NODE) == ["its replacement m was never ready for pods"]


def begun_anew(market: Market) -> None:
    """A person has taken a command away just now, before its replacement came up."""
    replaced(market)
    market.server.delete(DISRUPTIONS.ref("c"))
    market.server.delete(MACHINES.ref("m"))
    command(market)
    comes(market)


def test_a_command_that_was_taken_away_does_not_count_when_another_has_its_replacement_up() -> None:
    market = Market()
    begun_anew(market)
    rises(market)
    deleted(market, "Node", "a")

    assert market.told(NODE) == []


def test_of_two_commands_one_must_have_its_replacement_up() -> None:
    market = Market()
    begun_anew(market)
    deleted(market, "Node", "a")

    assert market.told(NODE) == ["its replacement m was never ready for pods"]


# -------------------------------------------------------------------------------- it goes again


def came(market: Market) -> None:
    """Its node is there, and its instance runs."""
    command(market)
    comes(market)
    market.launched("m", cpu="4")
    market.node("m")
    runs(market, "m")
    rises(market)


def test_one_that_came_for_nothing_may_go() -> None:
    market = Market()
    came(market)
    goes_on(market, "Cancelled")
    deleted(market, "Machine", "m")

    assert market.told(MACHINE) == []


def test_one_whose_command_goes_on_may_not() -> None:
    market = Market()
    came(market)
    deleted(market, "Machine", "m")

    assert market.told(MACHINE) == ["its node stays and its instance runs"]


def test_nor_one_that_serves_a_pod() -> None:
    market = Market()
    came(market)
    market.pod("p", on="m")
    market.time_s += 100.0
    goes_on(market, "Cancelled")
    deleted(market, "Machine", "m")

    assert market.told(MACHINE) == ["pod p is on its node"]


def test_one_that_bears_a_name_in_the_end_is_not_settled() -> None:
    market = Market()
    came(market)
    rule = "no-machine-waits-for-a-command"
    assert [one for one in settled.unsettled(market.truth) if one[0] == rule] == []

    goes_on(market, "Cancelled")
    [(_, said, _)] = [one for one in settled.unsettled(market.truth) if one[0] == rule]
    assert said == "machine m still bears the name of c"
