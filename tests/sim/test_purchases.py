"""The checkers of purchases: each rule by what breaks it, and is told, and by what holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.buying import Market
from tests.sim.promising import BLIND_S, SMALL, USUAL
from unmoor.model.kinds import MACHINES, NODES

LIMITS = "limits-hold"

Story = Callable[[Market], None]


# -------------------------------------------------------------------------------- limits


def as_much_as_allowed(market: Market) -> None:
    market.provisioner(cpu="6")
    market.machine("m", USUAL)
    market.machine("n", SMALL)


def the_first_is_known_to_be_small(market: Market) -> None:
    market.provisioner(cpu="6")
    market.machine("m", SMALL, USUAL)
    market.launched("m", cpu="2")
    market.machine("n", USUAL)


def each_becomes_the_largest_that_it_may(market: Market) -> None:
    market.provisioner(cpu="8")
    market.machine("m", SMALL, USUAL)
    market.machine("n", USUAL)
    market.launched("m", cpu="4")
    market.launched("n", cpu="4")


def the_first_goes(market: Market) -> None:
    market.provisioner(cpu="4")
    market.machine("m", USUAL)
    market.server.delete(MACHINES.ref("m"))
    market.machine("n", USUAL)


def the_node_of_the_first_goes(market: Market) -> None:
    market.provisioner(cpu="4")
    market.machine("m", USUAL)
    market.launched("m", cpu="4")
    market.node("m")
    held = {"metadata": {"finalizers": ["example.org/hold"]}}
    market.server.patch(NODES.ref("m"), held)
    market.server.delete(NODES.ref("m"))
    market.machine("n", USUAL)


def another_process_has_made_the_first_just_now(market: Market) -> None:
    market.provisioner(cpu="4")
    market.machine("m", USUAL, by="unmoor-b")
    market.machine("n", USUAL)
    market.launched("m", cpu="4")
    market.launched("n", cpu="4")


def a_person_has_written_one_that_is_not_launched(market: Market) -> None:
    market.provisioner(cpu="4")
    market.persons("m", USUAL)
    market.time_s += 100.0
    market.machine("n", USUAL)


def a_person_writes_another_afterwards(market: Market) -> None:
    market.provisioner(cpu="4")
    market.machine("m", USUAL)
    market.persons("n", USUAL)
    market.launched("n", cpu="4")
    market.launched("m", cpu="4")


def nothing_is_limited(market: Market) -> None:
    market.provisioner()
    market.machine("m", USUAL)
    market.launched("m", cpu="400")


@pytest.mark.parametrize(
    "story",
    [
        as_much_as_allowed,
        the_first_is_known_to_be_small,
        each_becomes_the_largest_that_it_may,
        the_first_goes,
        the_node_of_the_first_goes,
        another_process_has_made_the_first_just_now,
        a_person_has_written_one_that_is_not_launched,
        a_person_writes_another_afterwards,
        nothing_is_limited,
    ],
)
def test_within_its_limits_a_provisioner_is_not_told_of(story: Story) -> None:
    market = Market()
    story(market)

    assert market.told(LIMITS) == []


def it_may_become_too_large(market: Market) -> None:
    """Its pods would do with less, but the cloud chooses."""
    market.provisioner(cpu="2")
    market.machine("m", SMALL, USUAL)


def the_first_may_yet_become_too_large(market: Market) -> None:
    market.provisioner(cpu="6")
    market.machine("m", SMALL, USUAL)
    market.machine("n", USUAL)


def it_becomes_more_than_it_was_to_be(market: Market) -> None:
    market.provisioner(cpu="4")
    market.machine("m", USUAL)
    market.launched("m", cpu="16")


def the_first_becomes_more_than_it_was_to_be(market: Market) -> None:
    market.provisioner(cpu="6")
    market.machine("m", SMALL)
    market.machine("n", USUAL)
    market.launched("n", cpu="4")
    market.launched("m", cpu="4")


def another_process_has_made_the_first_long_ago(market: Market) -> None:
    market.provisioner(cpu="4")
    market.machine("m", USUAL, by="unmoor-b")
    market.time_s += BLIND_S + 1.0
    market.machine("n", USUAL)


def it_has_made_the_first_itself_just_now(market: Market) -> None:
    market.provisioner(cpu="4")
    market.machine("m", USUAL)
    market.machine("n", USUAL)


def a_person_has_one_that_runs(market: Market) -> None:
    market.provisioner(cpu="4")
    market.persons("m", USUAL)
    market.launched("m", cpu="4")
    market.time_s += 100.0
    market.machine("n", SMALL)


BEYOND: dict[Story, str] = {
    it_may_become_too_large: "4 of cpu, and its limit is 2",
    the_first_may_yet_become_too_large: "8 of cpu, and its limit is 6",
    it_becomes_more_than_it_was_to_be: "16 of cpu, and its limit is 4",
    the_first_becomes_more_than_it_was_to_be: "8 of cpu, and its limit is 6",
    another_process_has_made_the_first_long_ago: "8 of cpu, and its limit is 4",
    it_has_made_the_first_itself_just_now: "8 of cpu, and its limit is 4",
    a_person_has_one_that_runs: "6 of cpu, and its limit is 4",
}


@pytest.mark.parametrize("story", BEYOND)
def test_beyond_its_limits_a_provisioner_is_told_of(story: Story) -> None:
    market = Market()
    story(market)

    assert market.told(LIMITS) == [f"Provisioner default would have {BEYOND[story]}"]
