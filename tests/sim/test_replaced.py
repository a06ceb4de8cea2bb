"""The checker of machines that come for a command: what is told, and what holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.buying import Market
from tests.sim.promising import BLIND_S, USUAL, machine
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.kinds import DISRUPTIONS, INSTANCES, MACHINES, NODES
from unmoor.runtime.around import Call
from unmoor.sim import settled

NEED = "a-machine-is-made-for-a-pod"
NODE = "a-node-goes-for-a-reason"
MACHINE = "a-machine-goes-for-a-reason"
LIMITS = "limits-hold"

Story = Callable[[Market], None]


def command(market: Market, phase: str = "Launching", **status: JSON) -> None:
    """A command that replaces node a by machine m."""
    nodes = [one for one in market.truth.all("Node") if one["metadata"]["name"] == "a"]
    named = [{"name": "a", "uid": one["metadata"]["uid"]} for one in nodes]
    ref = DISRUPTIONS.ref("c")
    spec = {"method": "consolidation", "nodes": named, "replacements": [{"name": "m"}]}
    market.server.create(ref, {"metadata": {"name": "c"}, "spec": spec})
    market.server.patch(ref, {"status": {"phase": phase, **status}}, subresource="status")


def goes_on(market: Market, phase: str) -> None:
    ref = DISRUPTIONS.ref("c")
    market.server.patch(ref, {"status": {"phase": phase}}, subresource="status")


def comes(market: Market, name: str = "m", *types: str) -> None:
    """Unmoor makes a replacement for command c."""
    ref, body = MACHINES.ref(name), machine(name, *types)
    body["metadata"]["annotations"][names.REPLACEMENT_FOR] = "c"
    market.act("unmoor-a", Call("create", ref, body=body), lambda: market.server.create(ref, body))


def rises(market: Market, name: str = "m") -> None:
    """It is ready for pods, and that is written down."""
    known = [
        {"type": kind, "status": "True"} for kind in ("MachineRegistered", "MachineInitialized")
    ]
    ref = MACHINES.ref(name)
    market.server.patch(ref, {"status": {"conditions": known}}, subresource="status")
    uid = market.truth.get("Machine", name)["metadata"]["uid"]  # type: ignore[index]
    status = {"status": {"launched": {name: uid}}}
    market.server.patch(DISRUPTIONS.ref("c"), status, subresource="status")


def runs(market: Market, name: str) -> None:
    """Its instance runs."""
    spec = {"cluster": "harbour", "zone": "z"}
    market.server.create(INSTANCES.ref(name), {"metadata": {"name": name}, "spec": spec})


def deleted(market: Market, kind: str, name: str) -> None:
    ref = (NODES if kind == "Node" else MACHINES).ref(name)
    market.act("unmoor-a", Call("delete", ref), lambda: market.server.delete(ref))


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
