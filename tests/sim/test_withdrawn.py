"""The checker of why nodes go: a command that a person took away a moment ago was a reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.buying import Market
from tests.sim.promising import BLIND_S, USUAL
from unmoor.model.kinds import DISRUPTIONS, INSTANCES, NODES
from unmoor.runtime.around import Call

RULE = "a-node-goes-for-a-reason"
NODE, COMMAND = NODES.ref("m"), DISRUPTIONS.ref("emptiness-1")


@pytest.fixture
def market() -> Market:
    """A node of ours on its machine, whose instance runs."""
    market = Market()
    market.machine("m", USUAL)
    market.launched("m", cpu="4")
    market.node("m")
    spec = {"cluster": "harbour", "token": "m-1", "instanceType": USUAL}
    market.server.create(INSTANCES.ref("m"), {"metadata": {"name": "m"}, "spec": spec})
    market.time_s += 100.0
    return market


def command(market: Market) -> None:
    """One that takes the node."""
    node = market.truth.get("Node", "m")
    assert node is not None
    nodes = [{"name": "m", "uid": node["metadata"]["uid"]}]
    body = {"metadata": {"name": COMMAND.name}, "spec": {"method": "emptiness", "nodes": nodes}}
    create = Call("create", COMMAND, body=body)
    market.act("unmoor-a", create, lambda: market.server.create(COMMAND, body))


def delete_node(market: Market) -> None:
    """Unmoor does."""
    market.act("unmoor-a", Call("delete", NODE), lambda: market.server.delete(NODE))


def stands(market: Market) -> None:
    command(market)


def was_taken_away_a_moment_ago(market: Market) -> None:
    command(market)
    market.server.delete(COMMAND)
    market.time_s += BLIND_S - 1


def was_taken_away_long_ago(market: Market) -> None:
    command(market)
    market.server.delete(COMMAND)
    market.time_s += BLIND_S + 1


def was_taken_away_by_unmoor(market: Market) -> None:
    command(market)
    market.act("unmoor-a", Call("delete", COMMAND), lambda: market.server.delete(COMMAND))


def was_never_there(market: Market) -> None:
    pass


@pytest.mark.parametrize("story", [stands, was_taken_away_a_moment_ago])
def test_a_node_goes_for_a_command_that_may_be_known(
    market: Market, story: Callable[[Market], None]
) -> None:
    story(market)
    delete_node(market)

    assert market.told(RULE) == []


@pytest.mark.parametrize(
    "story", [was_taken_away_long_ago, was_taken_away_by_unmoor, was_never_there]
)
def test_a_node_that_goes_for_no_command_is_told_of(
    market: Market, story: Callable[[Market], None]
) -> None:
    story(market)
    delete_node(market)

    assert market.told(RULE) == ["nobody has asked for the node's deletion"]


def test_what_was_taken_away_wants_its_node_empty_all_the_same(market: Market) -> None:
    market.pod("app", on="m")
    market.time_s += BLIND_S + 1
    was_taken_away_a_moment_ago(market)
    delete_node(market)

    assert market.told(RULE) == ["it is not empty: pod default/app"]
