"""Commands that are only observed: recorded once, carried out never, and in nobody's way."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.builders import IDENTITY, disruption, instance
from tests.lifecycle.driver import Row, World
from tests.lifecycle.replacing import is_free
from tests.lifecycle.rows import CONDITIONS, DEPROVISIONING, MACHINE, TERMINATION
from tests.policy.underused import SMALL, TYPES, consolidated, node, pod
from unmoor.lifecycle.effects import AnyEffect, Create, Delete, Observe, Patch, Publish, Suppose
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.machine import MACHINE_EMPTY
from unmoor.model.settings import Settings
from unmoor.runtime.reconcilers import OBSERVING

ACTING = (DEPROVISIONING, TERMINATION, MACHINE, CONDITIONS)
STEPS = {row.name: row.step for row in OBSERVING}
WATCHING = tuple(Row(one.name, STEPS[one.name], one.keys) for one in (DEPROVISIONING, CONDITIONS))
"""What a process with --observe runs."""


def watched(name: str = "default", **given: Any) -> Object:
    found = consolidated(name, **given)
    found.metadata.annotations[names.OBSERVE] = "true"
    return found


def world(*objects: Any, settings: Settings = Settings(), is_observing: bool = False) -> World:
    given = [one for some in objects for one in (some if isinstance(some, tuple) else (some,))]
    nodes = [one.name for one in given if one.metadata.uid.startswith("uid-node-")]
    made = World(*given, instances=[instance(name) for name in nodes], settings=settings)
    made.types = TYPES
    if is_observing:
        made.view.identity = msgspec.structs.replace(IDENTITY, is_observing=True)
    return made


def commands(seen: World) -> list[Disruption]:
    return seen.view.sorted(DISRUPTIONS)


def phases(seen: World) -> list[str]:
    return [one.phase for one in commands(seen)]


def touched(seen: World) -> list[str]:
    """What was written to nodes, pods and machines, or asked of the cloud."""
    return [str(one) for one in seen.effects if _touches(one)]


def _touches(effect: AnyEffect) -> bool:
    match effect:
        case Observe() | Publish() | Suppose():
            return False
        case Create() | Patch() | Delete():
            return effect.ref.kind != "Disruption"
        case _:
            return True


OF_A_PROVISIONER: dict[str, Any] = {"provisioner": watched()}
OF_A_METHOD: dict[str, Any] = {"settings": Settings(observe=("consolidation",))}
OF_A_PROCESS: dict[str, Any] = {"is_observing": True}
WAYS = (OF_A_PROVISIONER, OF_A_METHOD, OF_A_PROCESS)


def observed(way: dict[str, Any], *objects: Any) -> World:
    given = dict(way)
    return world(given.pop("provisioner", consolidated()), *objects, **given)


@pytest.mark.parametrize("way", WAYS)
def test_what_would_be_done_is_recorded_once_and_nothing_is_touched(way: dict[str, Any]) -> None:
    seen = observed(way, node("a"), pod("web-1", "a"))
    seen.run(DEPROVISIONING, for_s=120)

    [command] = commands(seen)
    assert command.spec.is_observed
    assert command.phase is DisruptionPhase.OBSERVED
    assert command.metadata.labels == {names.OBSERVED: "true"}
    assert command.spec.action == "replace"
    assert float(command.spec.saving_per_hour) > 0
    assert command.spec.moved == ()
    assert len(seen.done(Create)) == 1
    assert touched(seen) == []
    assert [one.regarding.name for one in seen.events("DeprovisioningObserved")] == ["a"]


def test_nothing_is_observed_where_nobody_asks_for_it() -> None:
    seen = world(consolidated(), node("a"), pod("web-1", "a"))
    seen.settle(DEPROVISIONING)

    assert [one.spec.is_observed for one in commands(seen)] == [False]
    assert not is_free(seen)


@pytest.mark.parametrize("said", ["false", "True", "yes", ""])
def test_only_true_means_it(said: str) -> None:
    provisioner = consolidated()
    provisioner.metadata.annotations[names.OBSERVE] = said
    seen = world(provisioner, node("a"), pod("web-1", "a"))
    seen.settle(DEPROVISIONING)

    assert [one.spec.is_observed for one in commands(seen)] == [False]


def test_another_method_acts() -> None:
    seen = world(
        consolidated(),
        node("a", SMALL),
        settings=Settings(observe=("emptiness", "drift")),
    )
    seen.settle(DEPROVISIONING)

    assert [one.spec.is_observed for one in commands(seen)] == [False]


def test_it_does_not_stand_in_the_way_of_real_ones() -> None:
    """The node of another provisioner goes for real, before and after."""
    real = node("b", SMALL, provisioner="other")
    seen = world(watched(), consolidated("other"), node("a", SMALL), real)
    seen.run(*ACTING, for_s=60)

    assert seen.names("Node") == ["a"]
    assert is_free(seen)
    assert {one.spec.nodes[0].name: one.spec.is_observed for one in commands(seen)} == {
        "a": True,
        "b": False,
    }
    assert sorted(phases(seen)) == ["Observed", "Succeeded"]

    again = node("c", SMALL, provisioner="other")
    for one in again:
        seen.put(one)
    seen.cloud[instance("c").provider_id] = instance("c")
    seen.run(*ACTING, for_s=60)

    assert seen.names("Node") == ["a"]


def test_what_is_observed_next_counts_on_what_would_be_gone() -> None:
    """Only one of the two can go onto the other; an observer must not see both go."""
    full = {"cpu": "1200m"}
    seen = observed(
        OF_A_PROCESS,
        node("a", SMALL),
        node("b", SMALL),
        pod("web-1", "a", "300m"),
        pod("api-1", "b", **full),
    )
    seen.run(DEPROVISIONING, for_s=120)

    assert [[node.name for node in one.spec.nodes] for one in commands(seen)] == [["a"]]
    assert phases(seen) == ["Observed"]


def test_budgets_are_used_up_as_if_it_were_real() -> None:
    provisioner = watched()
    provisioner.metadata.annotations[names.BUDGETS] = '[{"nodes": "2"}]'
    seen = world(provisioner, *(node(name, SMALL) for name in "abc"))
    seen.run(DEPROVISIONING, for_s=120)

    [command] = commands(seen)
    assert [one.name for one in command.spec.nodes] == ["a", "b"]
    assert touched(seen) == []


def test_it_ends_when_the_same_would_not_be_decided_any_more() -> None:
    seen = observed(OF_A_PROCESS, node("a", SMALL))
    seen.run(DEPROVISIONING, for_s=30)
    assert phases(seen) == ["Observed"]

    seen.put(pod("web-1", "a"))
    seen.run(DEPROVISIONING, for_s=30)

    [command] = commands(seen)
    assert command.phase is DisruptionPhase.CANCELLED
    assert command.status.message.startswith("observed only: ")
    assert command.status.finished_at is not None


def test_it_ends_when_its_node_is_gone() -> None:
    seen = observed(OF_A_PROCESS, node("a", SMALL))
    seen.run(DEPROVISIONING, for_s=30)
    seen.drop(seen.view.node("a"))
    seen.run(DEPROVISIONING, for_s=30)

    [command] = commands(seen)
    assert command.status.message == "observed only: node a is gone"
    assert phases(seen) == ["Cancelled"]


def test_a_restart_forgets_nothing() -> None:
    seen = observed(OF_A_PROCESS, node("a", SMALL))
    for _ in range(5):
        seen.step(DEPROVISIONING, "all")
        seen.restart()
    seen.run(DEPROVISIONING, for_s=30)

    assert phases(seen) == ["Observed"]
    assert len(seen.done(Create)) == 1


def test_an_observer_leaves_a_real_command_to_whoever_runs_it() -> None:
    seen = world(consolidated(), node("a"), pod("web-1", "a"))
    seen.settle(DEPROVISIONING)
    before = len(seen.effects)
    seen.view.identity = msgspec.structs.replace(IDENTITY, is_observing=True)
    seen.run(DEPROVISIONING, for_s=120)

    assert all(isinstance(one, Observe | Publish) for one in seen.effects[before:])
    assert [one.spec.is_observed for one in commands(seen)] == [False]


def test_who_asks_for_it_in_the_middle_gets_the_nodes_back() -> None:
    seen = world(consolidated(), node("a"), pod("web-1", "a"))
    seen.settle(DEPROVISIONING)
    seen.put(watched())
    seen.run(*ACTING, for_s=60)

    assert is_free(seen)
    assert sorted((one.phase, one.spec.is_observed) for one in commands(seen)) == [
        ("Cancelled", False),
        ("Observed", True),
    ]


def test_an_observer_remembers_the_conditions_that_it_does_not_write() -> None:
    """A node that is empty, says nobody: its time runs all the same."""
    seen = world(
        consolidated(consolidation=None, ttlSecondsAfterEmpty=30), node("a", SMALL), **OF_A_PROCESS
    )
    seen.run(*WATCHING, for_s=25)
    assert commands(seen) == []

    seen.run(*WATCHING, for_s=20)

    [command] = commands(seen)
    assert (command.spec.method, command.spec.is_observed) == ("emptiness", True)
    machine = seen.view.machine("m-a")
    assert machine is not None
    assert not machine.has(MACHINE_EMPTY)
    assert touched(seen) == []


def test_the_ledger_keeps_both_kinds_apart() -> None:
    seen = observed(OF_A_PROCESS, node("a", SMALL))
    seen.view.settings = Settings(kept_disruptions=1)
    for number in range(3):
        seen.run(DEPROVISIONING, for_s=30)
        seen.put(pod(f"web-{number}", "a"))
        seen.run(DEPROVISIONING, for_s=30)
        seen.drop(seen.view.pods_on("a")[0])

    assert phases(seen).count("Cancelled") == 1


def figures(seen: World) -> dict[str, float]:
    """What is told of consolidation, by the last word of the metric."""
    prefix = "deprovisioning_observed_"
    step = seen.step(DEPROVISIONING, "all")
    return {
        fact.name.removeprefix(prefix): fact.value or 0.0
        for fact in step.facts
        if fact.name.startswith(prefix) and fact.labels == {"deprovisioner": "consolidation"}
    }


@pytest.mark.parametrize("way", WAYS)
def test_what_would_be_done_is_counted_while_it_stands(way: dict[str, Any]) -> None:
    nodes = [node("a"), pod("web-1", "a"), node("b", SMALL), node("c", SMALL)]
    seen = observed(way, *nodes)
    seen.run(DEPROVISIONING, for_s=120)

    told = figures(seen)
    stands = [one for one in commands(seen) if one.is_standing]
    assert told["commands"] == len(stands) == 2
    assert told["machines"] == sum(len(one.nodes) for one in stands) == 3
    saved = sum(float(one.spec.saving_per_hour) for one in stands)
    assert told["saving_usd_per_hour"] == pytest.approx(saved)


def test_nothing_is_counted_where_nothing_is_observed() -> None:
    assert figures(world(consolidated(), node("a"))) == {
        "commands": 0,
        "machines": 0,
        "saving_usd_per_hour": 0,
    }


@pytest.mark.parametrize("said", ["", "much", "inf", "nan"])
def test_a_saving_that_means_nothing_counts_as_nothing(said: str) -> None:
    made = disruption("x", method="consolidation", phase=DisruptionPhase.OBSERVED)
    spec = msgspec.structs.replace(made.spec, is_observed=True, saving_per_hour=said)

    told = figures(world(watched(), node("a"), msgspec.structs.replace(made, spec=spec)))

    assert (told["commands"], told["saving_usd_per_hour"]) == (1, 0.0)
