"""The checkers of purchases: each rule by what breaks it, and is told, and by what holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sim.buying import Market
from tests.sim.promising import BLIND_S, SMALL, USUAL
from unmoor.model import names
from unmoor.model.kinds import MACHINES, NODES, PODS

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


def a_node_without_machine(market: Market) -> None:
    """That of a machine which somebody has taken away by force."""
    market.machine("m", USUAL)
    market.launched("m", cpu="4")
    market.node("m")
    labels = {"metadata": {"labels": {names.PROVISIONER_NAME: "default"}}}
    market.server.patch(NODES.ref("m"), labels)
    market.server.delete(MACHINES.ref("m"))


def a_node_is_without_machine_since_just_now(market: Market) -> None:
    market.provisioner(cpu="4")
    a_node_without_machine(market)
    market.machine("n", USUAL)


def a_node_without_machine_goes(market: Market) -> None:
    market.provisioner(cpu="4")
    a_node_without_machine(market)
    market.time_s += BLIND_S + 1.0
    market.lost("m")
    market.machine("n", USUAL)


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
        a_node_is_without_machine_since_just_now,
        a_node_without_machine_goes,
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


def a_node_stays_whose_machine_is_gone(market: Market) -> None:
    market.provisioner(cpu="4")
    a_node_without_machine(market)
    market.time_s += BLIND_S + 1.0
    market.machine("n", SMALL)


BEYOND: dict[Story, str] = {
    it_may_become_too_large: "4 of cpu, and its limit is 2",
    the_first_may_yet_become_too_large: "8 of cpu, and its limit is 6",
    it_becomes_more_than_it_was_to_be: "16 of cpu, and its limit is 4",
    the_first_becomes_more_than_it_was_to_be: "8 of cpu, and its limit is 6",
    another_process_has_made_the_first_long_ago: "8 of cpu, and its limit is 4",
    it_has_made_the_first_itself_just_now: "8 of cpu, and its limit is 4",
    a_node_stays_whose_machine_is_gone: "6 of cpu, and its limit is 4",
    a_person_has_one_that_runs: "6 of cpu, and its limit is 4",
}


@pytest.mark.parametrize("story", BEYOND)
def test_beyond_its_limits_a_provisioner_is_told_of(story: Story) -> None:
    market = Market()
    story(market)

    assert market.told(LIMITS) == [f"Provisioner default would have {BEYOND[story]}"]


# -------------------------------------------------------------------------------- need


NEED = "a-machine-is-made-for-a-pod"
CHOOSY: dict[str, Any] = {"nodeSelector": {names.ZONE: "test-zone-1"}}


def two_for_two(market: Market) -> None:
    market.pending("p")
    market.pending("q")
    market.machine("m")
    market.machine("n")


def coming(market: Market, *pods: str, by: str = "unmoor-a", **wishes: Any) -> None:
    """A machine is on its way for these pods."""
    for name in pods:
        market.pending(name, **wishes)
    market.machine("m", by=by)
    places: dict[str, Any] = dict.fromkeys(pods, "machine/m")
    market.promise_now("m", by=by, **places)


def another_for_a_pod_that_has_come(market: Market) -> None:
    coming(market, "p", "q")
    market.pending("r")
    market.machine("n")


def another_when_the_first_goes(market: Market) -> None:
    coming(market, "p")
    market.server.delete(MACHINES.ref("m"))
    market.machine("n")


def another_when_the_first_is_too_small(market: Market) -> None:
    coming(market, "p", "q")
    market.launched("m", cpu="1500m")
    market.machine("n")


def another_beside_a_process_that_was_faster(market: Market) -> None:
    coming(market, "p", by="unmoor-b")
    market.machine("n")


def another_for_a_choosy_pod(market: Market) -> None:
    coming(market, "p", "q", **CHOOSY)
    market.machine("n")


def one_for_a_pod_that_has_gone_just_now(market: Market) -> None:
    market.pending("p")
    market.server.delete(PODS.ref("p", "default"))
    market.machine("m")


@pytest.mark.parametrize(
    "story",
    [
        two_for_two,
        another_for_a_pod_that_has_come,
        another_when_the_first_goes,
        another_when_the_first_is_too_small,
        another_beside_a_process_that_was_faster,
        another_for_a_choosy_pod,
        one_for_a_pod_that_has_gone_just_now,
    ],
)
def test_a_machine_that_is_needed_is_not_told_of(story: Story) -> None:
    market = Market()
    story(market)

    assert market.told(NEED) == []


def for_nobody(market: Market) -> None:
    market.machine("m")


def for_a_pod_that_has_gone_long_ago(market: Market) -> None:
    market.pending("p")
    market.server.delete(PODS.ref("p", "default"))
    market.time_s += BLIND_S + 1.0
    market.machine("m")


def two_for_one(market: Market) -> None:
    market.pending("p")
    market.machine("m")
    market.machine("n")


def another_for_those_that_have_one(market: Market) -> None:
    """There are more pods than machines, and all of them have a place to go to."""
    coming(market, "p", "q", "r")
    market.machine("n")


def another_although_the_process_that_was_faster_is_known(market: Market) -> None:
    coming(market, "p", by="unmoor-b")
    market.time_s += BLIND_S + 1.0
    market.machine("n")


def as_many_as_there_are_choosy_pods_and_one_more(market: Market) -> None:
    coming(market, "p", **CHOOSY)
    market.machine("n")


NEEDLESS: dict[Story, str] = {
    for_nobody: "none, for 0 of them; made with it: 0",
    for_a_pod_that_has_gone_long_ago: "none, for 0 of them; made with it: 0",
    two_for_one: "none, for 0 of them; made with it: 1",
    another_for_those_that_have_one: "m, for 3 of them; made with it: 0",
    another_although_the_process_that_was_faster_is_known: "m, for 1 of them; made with it: 0",
    as_many_as_there_are_choosy_pods_and_one_more: "m, for 1 of them; made with it: 0",
}


@pytest.mark.parametrize("story", NEEDLESS)
def test_a_machine_that_nobody_needs_is_told_of(story: Story) -> None:
    market = Market()
    story(market)

    [said] = market.told(NEED)
    assert said.endswith(f"machines on their way: {NEEDLESS[story]}")
