"""A Machine whose Node somebody took away by force: its instance runs, and costs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from tests import builders
from tests.builders import at, instance, machine, node, pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import CONDITIONS, GARBAGE, MACHINE, TERMINATION
from tests.lifecycle.worlds import the_machine
from unmoor.lifecycle.effects import Delete, Observe, Terminate
from unmoor.model import names
from unmoor.model.cadence import Cadence
from unmoor.model.instance import InstanceState
from unmoor.model.machine import MACHINE_REGISTERED
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.model.settings import Settings
from unmoor.model.snapshot import Unreadable

ROWS = (MACHINE, TERMINATION, GARBAGE, CONDITIONS)
MINUTE = 60
TICK_S = 10.0


def lost(settings: Settings = Settings()) -> World:
    """Machine m-a is up, then its node is gone."""
    world = World(machine(), node(), instances=[instance()], settings=settings)
    world.run(*ROWS, for_s=30, tick_s=TICK_S)
    assert world.done(Delete) == []
    world.drop(world.view.node("a"))
    return world


def test_it_is_told_at_once_until_when_somebody_may_bring_it_back() -> None:
    world = lost()
    world.settle(*ROWS)
    event = world.events("NodeLost")[0]

    assert (event.regarding.name, event.is_warning) == ("m-a", True)
    assert "node a of machine m-a is gone, and nobody let it go" in event.message
    assert "if no node joins until 2024-05-01T13:00:30Z (cadence.lostNodeLimit)" in event.message
    condition = the_machine(world).condition(MACHINE_REGISTERED)
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "NodeLost")
    assert not the_machine(world).has("Ready")


def test_after_an_hour_it_is_given_up_and_its_instance_ended() -> None:
    world = lost()
    world.run(*ROWS, for_s=59 * MINUTE, tick_s=TICK_S)
    assert world.done(Delete) == world.done(Terminate) == []

    world.run(*ROWS, for_s=2 * MINUTE, tick_s=TICK_S)
    assert world.names("Machine") == []
    assert [one.provider_id for one in world.done(Terminate)] == ["sim:///a"]
    assert "has been gone for 60 min" in world.events("NodeLost")[-1].message
    assert [f.labels["reason"] for f in world.facts if f.name == "machines_terminated"] == [
        "liveness"
    ]


def test_the_server_is_asked_before_it_counts_as_lost_and_before_it_is_given_up() -> None:
    """A watch may have missed it."""
    world = lost()
    world.fails = lambda effect: isinstance(effect, Observe) and effect.asked is Asked.OBJECT
    world.run(*ROWS, for_s=10 * MINUTE, tick_s=TICK_S)
    assert the_machine(world).is_registered

    world.fails = lambda _: False
    world.run(*ROWS, for_s=2 * MINUTE, tick_s=TICK_S)
    assert not the_machine(world).is_registered

    world.fails = lambda effect: isinstance(effect, Observe) and effect.asked is Asked.OBJECT
    world.run(*ROWS, for_s=90 * MINUTE, tick_s=TICK_S)
    assert world.done(Delete) == []


def test_a_restart_does_not_begin_the_hour_again() -> None:
    world = lost()
    for _ in range(6):
        world.run(*ROWS, for_s=9 * MINUTE, tick_s=TICK_S)
        world.restart()
    assert world.done(Delete) == []

    world.run(*ROWS, for_s=7 * MINUTE, tick_s=TICK_S)
    assert world.names("Machine") == []


def test_how_long_is_a_setting() -> None:
    world = lost(Settings(cadence=Cadence(lost_node_limit_s=120)))
    world.run(*ROWS, for_s=3 * MINUTE, tick_s=TICK_S)

    assert world.names("Machine") == []


def test_a_kubelet_that_registers_once_more_brings_it_back() -> None:
    world = lost()
    world.run(*ROWS, for_s=30 * MINUTE, tick_s=TICK_S)
    world.put(builders.changed(node(is_joined=False), metadata__uid="uid-node-again"))
    world.put(pod())
    world.run(*ROWS, for_s=120 * MINUTE, tick_s=TICK_S)

    assert the_machine(world).has("Ready")
    found = world.view.node("a")
    assert found is not None
    assert found.is_initialized
    assert names.TERMINATION_FINALIZER in found.metadata.finalizers
    assert world.done(Delete) == world.done(Terminate) == []


def test_while_a_pod_is_bound_to_the_node_the_instance_is_kept_and_it_is_told() -> None:
    """Nobody lets go of pods where no controller does; and they may run."""
    world = lost()
    unseen = pod("web-1", namespace="shop")
    world.unseen = [unseen]
    world.run(*ROWS, for_s=90 * MINUTE, tick_s=TICK_S)

    assert world.done(Delete) == world.done(Terminate) == []
    event = world.events("NodeLost")[-1]
    assert "but pod shop/web-1 is bound to it: the machine is kept until no pod is" in event.message

    world.drop(unseen)
    world.run(*ROWS, for_s=2 * MINUTE, tick_s=TICK_S)
    assert world.names("Machine") == []


def test_while_nobody_says_who_is_bound_to_the_node_the_instance_is_kept() -> None:
    world = lost()
    world.roll_call_problem = Problem(ProblemKind.UNKNOWN, "timeout")
    world.run(*ROWS, for_s=90 * MINUTE, tick_s=TICK_S)
    assert world.done(Delete) == []

    world.roll_call_problem = None
    world.run(*ROWS, for_s=1 * MINUTE, tick_s=TICK_S)
    assert world.names("Machine") == []


def test_pods_of_a_pod_kind_that_nobody_can_read_keep_it_and_ended_ones_do_not() -> None:
    world = lost()
    world.put(pod("done", phase="Succeeded"))
    world.view._broken["Pod"]["default", "odd"] = Unreadable("spec: no", "a")
    world.run(*ROWS, for_s=90 * MINUTE, tick_s=TICK_S)
    assert world.names("Machine") == ["m-a"]
    assert "but pod default/odd is bound to it" in world.events("NodeLost")[-1].message

    world.view._broken["Pod"].clear()
    world.run(*ROWS, for_s=2 * MINUTE, tick_s=TICK_S)
    assert world.names("Machine") == []


def test_pods_of_another_machine_whose_node_got_the_name_are_none_of_its_business() -> None:
    world = lost()
    world.put(node(provider_id="sim:///other", is_joined=False))
    world.put(pod())
    world.run(*ROWS, for_s=62 * MINUTE, tick_s=TICK_S)

    assert world.names("Machine") == []
    assert world.names("Node") == ["a"]


def test_a_node_that_may_turn_out_to_be_its_own_is_waited_for() -> None:
    """The cloud has not said yet which machine it is on."""
    world = lost()
    again = builders.changed(node(is_joined=False, provider_id=""), metadata__uid="uid-node-again")
    world.put(again)
    world.run(*ROWS, for_s=90 * MINUTE, tick_s=TICK_S)
    assert world.events("NodeLost") == []

    world.drop(again)
    world.run(*ROWS, for_s=30 * MINUTE, tick_s=TICK_S)
    world.put(again)
    world.run(*ROWS, for_s=90 * MINUTE, tick_s=TICK_S)
    assert world.done(Delete) == []

    world.change(world.view.node("a"), spec__provider_id="sim:///a")
    world.run(*ROWS, for_s=2 * MINUTE, tick_s=TICK_S)
    assert the_machine(world).is_registered


def test_while_a_node_cannot_be_read_none_counts_as_lost() -> None:
    world = lost()
    world.view._broken["Node"]["", "b"] = Unreadable("spec.taints: expected array", "")
    world.run(*ROWS, for_s=120 * MINUTE, tick_s=TICK_S)

    assert world.events("NodeLost") == []
    assert world.names("Machine") == ["m-a"]


def test_one_whose_instance_is_going_is_collected_and_not_waited_for() -> None:
    world = lost()
    world.cloud["sim:///a"] = instance(state=InstanceState.TERMINATED)
    world.view._answers.clear()
    world.run(GARBAGE, MACHINE, for_s=3 * MINUTE, tick_s=TICK_S)

    assert world.names("Machine") == []


@pytest.mark.parametrize("minutes", [14, 16])
def test_t128_one_that_never_had_a_node_is_given_up_after_a_quarter_of_an_hour(
    minutes: int,
) -> None:
    waiting = (
        builders.condition("MachineLaunched"),
        builders.condition(MACHINE_REGISTERED, "False", since=at(0)),
    )
    world = World(machine(conditions=waiting, node_name=""), instances=[instance()])
    world.run(*ROWS, for_s=minutes * MINUTE, tick_s=TICK_S)

    assert world.names("Machine") == (["m-a"] if minutes < 15 else [])


def test_one_that_was_lost_at_the_end_of_time_is_told_of_and_kept() -> None:
    end_of_time = datetime(9999, 12, 31, 22, tzinfo=timezone(timedelta(hours=-14)))
    losing = (
        builders.condition("MachineLaunched"),
        builders.condition(MACHINE_REGISTERED, "False", since=end_of_time),
    )
    world = World(machine(conditions=losing), instances=[instance()])
    world.run(*ROWS, for_s=90 * MINUTE, tick_s=TICK_S)

    assert world.names("Machine") == ["m-a"]
    assert "until 9999-12-31T23:59:59Z" in world.events("NodeLost")[0].message
