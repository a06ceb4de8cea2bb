"""The checker of commands that are half done: what is told, and what holds."""

from __future__ import annotations

from tests.sim.buying import Market
from tests.sim.commanding import comes, command, deleted, goes_on, stands
from unmoor.model.kinds import DISRUPTIONS, MACHINES
from unmoor.sim import settled

HALF = "no-command-is-half-done"


def halves(market: Market) -> list[str]:
    found = settled.unsettled(market.truth, market.checkers.past)
    return [said for rule, said, _ in found if rule == HALF]


def test_one_that_has_succeeded_left_no_node() -> None:
    market = Market()
    stands(market)
    command(market)
    goes_on(market, "Succeeded")
    assert halves(market) == ["it has succeeded, and node a is there"]

    status = {"status": {"leftOut": {"a": {"reason": "Unfit"}}}}
    market.server.patch(DISRUPTIONS.ref("c"), status, subresource="status")
    assert halves(market) == []


def test_one_that_was_never_past_its_last_look_deletes_nothing() -> None:
    market = Market()
    stands(market)
    command(market)
    deleted(market, "Node", "a")
    goes_on(market, "Cancelled")

    assert halves(market) == ["it was never past its last look, and has deleted a"]


def test_of_one_that_was_cancelled_nothing_still_comes() -> None:
    market = Market()
    stands(market)
    command(market)
    comes(market)
    goes_on(market, "Cancelled")
    assert halves(market) == ["it was cancelled, and m still comes"]

    market.server.delete(MACHINES.ref("m"))
    assert halves(market) == []
