"""Whom a drain asks, when it asks again, and what a deadline changes: told as terminations."""

from __future__ import annotations

from tests.builders import at, budget, pod
from tests.lifecycle.rows import TERMINATION
from tests.lifecycle.test_termination import evicted, reasons
from tests.lifecycle.worlds import deleted
from unmoor.lifecycle.effects import Delete, Evict
from unmoor.model import names
from unmoor.model.cadence import Cadence
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason


def test_e10_grace_shrinks_to_what_is_left() -> None:
    world = deleted(
        pod("slow", gone_by=at(3600), grace_s=3600),
        pod("long", grace_s=600),
        settings=Settings(drain_deadline_s=300, cadence=Cadence(deadline_least_s=1)),
    )
    world.wait(90)
    world.settle(TERMINATION)

    assert evicted(world) == ["long"]
    assert {d.ref.name: d.grace_s for d in world.done(Delete) if d.ref.kind == "Pod"} == {
        "slow": 210,
        "long": 210,
    }
    stamps = {p.name: p.gone_by for p in world.view.pods_on("a")}
    assert stamps == {"long": at(300), "slow": at(210)}  # the server counts from the first deletion
    assert any("gets 210 s of its 600 s" in event.message for event in world.events())


def test_e12_at_the_deadline_pods_go_past_their_budget() -> None:
    world = deleted(pod(), budget(), annotations={names.DRAIN_DEADLINE: "10m"})
    world.run(TERMINATION, for_s=599)
    assert world.names("Pod") == ["web-1"]

    world.run(TERMINATION, for_s=5)
    assert world.names("Pod") == []
    assert world.names("Node") == []
    assert any("past its disruption budget" in event.message for event in world.events())


def test_e12_without_a_deadline_a_budget_holds_for_ever_but_says_so() -> None:
    world = deleted(pod(), budget())
    world.run(TERMINATION, for_s=4 * 3600, tick_s=30)

    assert world.names("Node") == ["a"]
    assert any("shop/web" in event.message for event in world.events("FailedDraining"))


def test_e01_two_budgets_are_both_named() -> None:
    world = deleted(pod(), budget("one", allowed=1), budget("two", allowed=1))
    world.run(TERMINATION, for_s=5)

    assert Reason.TWO_BUDGETS in reasons(world)
    assert any("shop/one, shop/two" in event.message for event in world.events("FailedDraining"))


def test_e15_the_back_off_grows_and_is_bounded() -> None:
    world = deleted(pod(), budget())
    world.run(TERMINATION, for_s=600, tick_s=0.1)

    assert 60 <= len(evicted(world)) <= 75


def test_e15_a_better_budget_is_tried_at_once() -> None:
    world = deleted(pod(), budget())
    world.run(TERMINATION, for_s=60)
    before = len(evicted(world))
    world.change(
        world.view._objects["PodDisruptionBudget"]["shop", "web"], status__disruptions_allowed=1
    )
    world.settle(TERMINATION)

    assert len(evicted(world)) == before + 1
    assert [pod.is_deleting for pod in world.view.pods_on("a")] == [True]


def test_a_pod_is_held_by_a_budget_only_while_the_budget_holds_it() -> None:
    """The last refusal is still the last answer when the budget eases."""
    world = deleted(pod(), budget())
    world.run(TERMINATION, for_s=60)
    assert Reason.BUDGET in reasons(world)

    world.change(
        world.view._objects["PodDisruptionBudget"]["shop", "web"], status__disruptions_allowed=1
    )
    step = world.step(TERMINATION, "a")
    assert {one.reason for one in step.verdicts} == {Reason.PODS_LEFT}


def test_a_server_that_refuses_although_the_budget_allows_is_quoted() -> None:
    """As it does while the budget's status is behind its spec."""
    world = deleted(pod(), budget(allowed=1))
    lag = "still being processed by the server"
    world.eviction_problem = Problem(ProblemKind.TOO_MANY_REQUESTS, lag, 429, 10.0)
    world.run(TERMINATION, for_s=3)
    said = [one for one in world.step(TERMINATION, "a").verdicts if one.also_on]

    assert [one.reason for one in said] == [Reason.EVICTION_REFUSED]
    assert f"{lag}; it is asked again" in said[0].message


def test_retry_after_is_honoured() -> None:
    world = deleted(pod())
    world.eviction_problem = Problem(ProblemKind.TOO_MANY_REQUESTS, "later", 429, 7.0)
    world.run(TERMINATION, for_s=6.5, tick_s=0.5)
    assert len(evicted(world)) == 1

    world.run(TERMINATION, for_s=1, tick_s=0.5)
    assert len(evicted(world)) == 2


def test_a_successor_of_the_same_name_starts_afresh() -> None:
    world = deleted(pod(), budget())
    world.run(TERMINATION, for_s=60)
    world.drop(world.view._objects["Pod"]["shop", "web-1"])
    world.put(pod(uid="uid-successor"))
    before = len(evicted(world))
    world.settle(TERMINATION)

    assert [effect.ref.uid for effect in world.done(Evict)][before:] == ["uid-successor"]


def test_an_admitted_eviction_is_told_once() -> None:
    world = deleted(pod())
    world.run(TERMINATION, for_s=20)

    assert [event.regarding.name for event in world.events("Evicted")] == ["web-1"]
