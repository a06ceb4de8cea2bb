"""The checkers of what commands may do to pods, budgets and bills: what is told, and what holds."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.sim.buying import Market
from tests.sim.commanding import comes, command, deleted, rises, runs, stands
from tests.sim.promising import BLIND_S, SMALL, USUAL
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.kinds import BUDGETS, DISRUPTIONS, INSTANCES, NODES, PODS, PROVISIONERS
from unmoor.runtime.around import Call

PROTECTED = "what-is-protected-stays"
SPENT = "budgets-of-nodes-hold"
RESPECTED = "a-workload-is-moved-once"
PRICED = "no-bill-rises"
LONG_S = 10 * BLIND_S
OWNER: JSON = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web-uid"}

Story = Callable[[Market], None]


def pod(market: Market, name: str = "p", on: str = "a", **marks: str) -> None:
    """A ready pod of the workload."""
    market.pod(name, on=on, app="web")
    meta = {"annotations": marks, "ownerReferences": [{**OWNER, "controller": True}]}
    ref = PODS.ref(name, "default")
    market.server.patch(ref, {"metadata": meta})
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    market.server.patch(ref, {"status": ready}, subresource="status")


def budget(market: Market, name: str, allowed: int) -> None:
    """A disruption budget over the workload."""
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}
    ref = BUDGETS.ref(name, "default")
    market.server.create(ref, {"metadata": {"name": name}, "spec": spec})
    status = {"status": {"disruptionsAllowed": allowed}}
    market.server.patch(ref, status, subresource="status")


def waits(market: Market) -> None:
    market.time_s += LONG_S


# -------------------------------------------------------------------------------- protected


def goes(market: Market) -> None:
    """The command is past its last look, and its node goes."""
    command(market, "Deleting")
    deleted(market, "Node", "a")


def do_not_evict(market: Market) -> None:
    pod(market, **{names.DO_NOT_EVICT: names.TRUE})
    waits(market)


def nothing_is_allowed(market: Market) -> None:
    pod(market)
    budget(market, "b", 0)
    waits(market)


def two_budgets(market: Market) -> None:
    pod(market)
    budget(market, "b", 1)
    budget(market, "c", 1)
    waits(market)


def do_not_disrupt(market: Market) -> None:
    marks = {"annotations": {names.DO_NOT_DISRUPT: names.TRUE}}
    market.server.patch(NODES.ref("a"), {"metadata": marks})
    waits(market)


MUST_STAY: dict[Story, str] = {
    do_not_evict: f'pod default/p carries the annotation "{names.DO_NOT_EVICT}"',
    nothing_is_allowed: "disruption budget b over pod default/p allows nothing",
    two_budgets: "pod default/p is under 2 disruption budgets",
    do_not_disrupt: f'it carries the annotation "{names.DO_NOT_DISRUPT}"',
}


@pytest.mark.parametrize("story", MUST_STAY)
def test_what_is_protected_must_stay(story: Story) -> None:
    market = Market()
    stands(market)
    story(market)
    goes(market)

    assert market.told(PROTECTED) == [MUST_STAY[story]]


def not_at_all(market: Market) -> None:
    pod(market)
    budget(market, "b", 1)
    waits(market)


def too_late_to_know(market: Market) -> None:
    pod(market)
    waits(market)
    budget(market, "b", 0)


def pod_came_too_late(market: Market) -> None:
    pod(market, **{names.DO_NOT_EVICT: names.TRUE})


def not_ready_under_a_budget(market: Market) -> None:
    nothing_is_allowed(market)
    ready = {"conditions": [{"type": "Ready", "status": "False"}]}
    ref = PODS.ref("p", "default")
    market.server.patch(ref, {"status": ready}, subresource="status")


def any_value_of_the_annotation(market: Market) -> None:
    pod(market, **{names.DO_NOT_EVICT: "no"})
    waits(market)


def nothing_was_heard_for_long(market: Market) -> None:
    nothing_is_allowed(market)
    market.checkers.hung_s = lambda who: 2 * LONG_S if who == "unmoor-a" else 0.0


MAY_GO = [
    not_at_all,
    too_late_to_know,
    pod_came_too_late,
    not_ready_under_a_budget,
    any_value_of_the_annotation,
    nothing_was_heard_for_long,
]


@pytest.mark.parametrize("story", MAY_GO)
def test_what_is_not_protected_may_go(story: Story) -> None:
    market = Market()
    stands(market)
    story(market)
    goes(market)

    assert market.told(PROTECTED) == []


def test_a_persons_deletion_is_nobodys_business() -> None:
    market = Market()
    stands(market)
    do_not_evict(market)
    market.server.delete(NODES.ref("a"))

    assert market.told(PROTECTED) == []


# -------------------------------------------------------------------------------- budgets of nodes


def allows(market: Market, *budgets: JSON) -> None:
    market.provisioner()
    marks = {"annotations": {names.BUDGETS: json.dumps(budgets)}}
    market.server.patch(PROVISIONERS.ref("default"), {"metadata": marks})
    for name in "abcd":
        stands(market, name)


def takes(market: Market, *nodes: str, method: str = "emptiness") -> None:
    """A command is written down."""
    waits(market)
    found = {one["metadata"]["name"]: one["metadata"]["uid"] for one in market.truth.all("Node")}
    named = [{"name": name, "uid": found[name]} for name in nodes]
    ref = DISRUPTIONS.ref("c")
    body = {"metadata": {"name": "c"}, "spec": {"method": method, "nodes": named}}
    market.act("unmoor-a", Call("create", ref, body=body), lambda: market.server.create(ref, body))


def marked(market: Market, name: str) -> None:
    marks = {"annotations": {names.DISRUPTION: "another"}}
    market.server.patch(NODES.ref(name), {"metadata": marks})


HALF_AN_HOUR: JSON = {"nodes": "0", "schedule": "0 * * * *", "duration": "30m"}


def test_a_command_takes_no_more_nodes_than_may_go() -> None:
    market = Market()
    allows(market, {"nodes": "1"})
    takes(market, "a", "b")

    assert market.told(SPENT) == [
        "it takes 2 nodes of default for Empty, 0 are going, and 1 may",
    ]


def test_nodes_that_are_going_use_it_up() -> None:
    market = Market()
    allows(market, {"nodes": "50%"})
    marked(market, "b")
    market.lost("c")
    takes(market, "a", method="consolidation")

    assert market.told(SPENT) == [
        "it takes 1 nodes of default for Empty, 2 are going, and 2 may",
    ]


def test_a_window_that_is_open_counts() -> None:
    market = Market()
    allows(market, HALF_AN_HOUR)
    takes(market, "a")

    assert market.told(SPENT) == [
        "it takes 1 nodes of default for Empty, 0 are going, and 0 may",
    ]


@pytest.mark.parametrize(
    "budget",
    [
        {"nodes": "1"},
        {"nodes": "1%"},
        {"nodes": "0", "reasons": ["Underutilized"]},
        {**HALF_AN_HOUR, "schedule": "20 * * * *"},
        {**HALF_AN_HOUR, "duration": "2m"},
    ],
)
def test_within_its_budgets_a_command_may_take_nodes(budget: JSON) -> None:
    market = Market()
    allows(market, budget)
    takes(market, "a")

    assert market.told(SPENT) == []


def test_what_is_news_to_the_process_does_not_count() -> None:
    market = Market()
    allows(market, {"nodes": "1"})
    waits(market)
    market.time_s -= LONG_S - 1.0
    marked(market, "b")
    market.time_s -= LONG_S
    takes(market, "a")

    assert market.told(SPENT) == []


# -------------------------------------------------------------------------------- moved twice


def moved(market: Market, by: str, phase: str = "Deleting") -> None:
    """A pod of the workload has left node b, of an earlier command that had come so far."""
    stands(market, "b")
    pod(market, "q", on="b")
    node = market.truth.get("Node", "b")
    assert node is not None
    named = [{"name": "b", "uid": node["metadata"]["uid"]}]
    spec = {"method": by, "nodes": named}
    market.server.create(DISRUPTIONS.ref("b"), {"metadata": {"name": "b"}, "spec": spec})
    market.server.patch(NODES.ref("b"), {"metadata": {"annotations": {names.DISRUPTION: "b"}}})
    reached = {"status": {"phase": phase}}
    market.server.patch(DISRUPTIONS.ref("b"), reached, subresource="status")
    ref = PODS.ref("q", "default")
    call = Call("create", ref, "eviction")
    market.act("unmoor-a", call, lambda: market.server.delete(ref))
    done = {"status": {"phase": "Succeeded"}}
    market.server.patch(DISRUPTIONS.ref("b"), done, subresource="status")


def is_replaced(market: Market) -> None:
    """Node a is replaced, and a pod of the workload is on it."""
    stands(market)
    pod(market)
    waits(market)
    goes(market)


def test_a_replacement_moves_nobody_who_was_moved_lately() -> None:
    market = Market()
    moved(market, "emptiness")
    is_replaced(market)

    assert market.told(RESPECTED) == ["pod p is of a workload that was moved at t=0s"]


def test_who_left_a_node_that_a_person_deleted_was_moved_by_no_command() -> None:
    market = Market()
    moved(market, "consolidation", phase="Launching")
    is_replaced(market)

    assert market.told(RESPECTED) == []


def test_who_was_moved_long_ago_may_be_moved_again() -> None:
    market = Market()
    moved(market, "consolidation")
    market.time_s += 1800.0
    is_replaced(market)

    assert market.told(RESPECTED) == []


def test_a_record_that_a_person_has_taken_away_binds_nobody() -> None:
    market = Market()
    moved(market, "consolidation")
    market.server.delete(DISRUPTIONS.ref("b"))
    is_replaced(market)

    assert market.told(RESPECTED) == []


# -------------------------------------------------------------------------------- the bill


def turns(market: Market, goes_for: str, comes_for: str) -> None:
    """A node of one type is replaced by one of another, up to the last look."""
    stands(market, kind=goes_for)
    command(market)
    comes(market)
    market.launched("m", cpu="4")
    runs(market, "m")
    spec = {"instanceType": comes_for, "zone": "test-zone-1", "capacityType": "on-demand"}
    market.server.patch(INSTANCES.ref("m"), {"spec": spec})
    rises(market)
    ref = DISRUPTIONS.ref("c")
    phase = {"status": {"phase": "Deleting"}}
    market.act(
        "unmoor-a",
        Call("patch", ref, "status"),
        lambda: market.server.patch(ref, phase, subresource="status"),
    )


def test_what_comes_costs_less() -> None:
    market = Market()
    turns(market, USUAL, SMALL)

    assert market.told(PRICED) == []


@pytest.mark.parametrize("kind", [SMALL, USUAL])
def test_what_costs_as_much_or_more_is_told_of(kind: str) -> None:
    market = Market()
    turns(market, SMALL, kind)

    [said] = market.told(PRICED)
    assert said.startswith("what goes costs ")


def test_what_nobody_knows_the_price_of_is_told_of() -> None:
    market = Market()
    turns(market, USUAL, "no-such-type")

    assert market.told(PRICED) == ["nobody knows what it costs"]
