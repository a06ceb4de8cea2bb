"""The checker of promises: each rule by what breaks it, and is told, and by what holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.builders import moment
from tests.sim.promising import APART, EVEN, NEAR, SMALL, Stage
from unmoor.lifecycle.effects import AnyEffect, Create, Nominate
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.kinds import DISRUPTIONS, MACHINES, NODES
from unmoor.model.observation import Problem, ProblemKind
from unmoor.runtime.story import Outcome, Record
from unmoor.sim.promises import KEPT, ROOMY, Promised, promised_by

Story = Callable[[Stage], None]


def room(stage: Stage) -> None:
    stage.node("a")
    stage.pod("p")
    stage.promise(p="node/a")


def room_on_a_machine(stage: Stage) -> None:
    stage.machine("m")
    stage.pod("p")
    stage.promise("m", p="machine/m")


def room_on_the_node_that_has_come_of_a_machine(stage: Stage) -> None:
    stage.machine("m")
    stage.launched("m", cpu="4")
    stage.node("m")
    stage.pod("p")
    stage.promise(p="machine/m")


def near_each_other_whoever_is_named_first(stage: Stage) -> None:
    stage.node("a")
    stage.pod("follower", **NEAR)
    stage.pod("leader")
    stage.promise(follower="node/a", leader="node/a")


def near_one_whose_machine_could_not_be_created(stage: Stage) -> None:
    """Effects fail one by one; the plan was sound."""
    stage.machine("m")
    stage.pod("follower", **NEAR)
    stage.pod("leader")
    stage.promise("m", failed=("n",), follower="machine/m", leader="machine/n")


def the_machine_is_as_large_as_its_pods_need(stage: Stage) -> None:
    stage.machine("m")
    stage.pod("p", cpu="3")
    stage.promise("m", p="machine/m")
    stage.launched("m", cpu="4")


def the_machine_is_smaller_and_was_made_for_nobody(stage: Stage) -> None:
    stage.machine("m")
    stage.pod("p", cpu="3")
    stage.promise(p="machine/m")
    stage.launched("m", cpu="2")


def a_daemon_set_has_come_while_the_machine_was_made(stage: Stage) -> None:
    """It wants some of the room, and nobody knew."""
    stage.pod("p", cpu="1500m")
    stage.machine("m")
    stage.promise("m", p="machine/m")
    stage.daemon_set("d", cpu="1")
    stage.launched("m", cpu="2")


def its_node_was_there_before_its_launch_was_known_and_others_have_come(stage: Stage) -> None:
    stage.pod("p", cpu="1500m")
    stage.machine("m")
    stage.promise("m", p="machine/m")
    stage.node("m", cpu="2")
    stage.pod("q", on="m")
    stage.launched("m", cpu="2")


def cordoned_for(stage: Stage, phase: str, by: str = "unmoor-a") -> None:
    """Node a is cordoned for a command that has come so far."""
    spec = {"method": "consolidation", "nodes": [{"name": "a", "uid": "u"}]}
    ref = DISRUPTIONS.ref("c")
    stage.server.create(ref, {"metadata": {"name": "c"}, "spec": spec})
    stage.server.patch(ref, {"status": {"phase": phase}}, subresource="status")
    stage.who = "" if by == "a person" else by
    marks = {"annotations": {names.DISRUPTION: "c"}}
    stage.server.patch(NODES.ref("a"), {"metadata": marks, "spec": {"unschedulable": True}})
    stage.who = ""


def a_command_lets_the_node_go_again(stage: Stage) -> None:
    """R58."""
    stage.node("a")
    cordoned_for(stage, "Pending")
    stage.pod("p")
    stage.promise(p="node/a")


HELD = [
    a_command_lets_the_node_go_again,
    its_node_was_there_before_its_launch_was_known_and_others_have_come,
    a_daemon_set_has_come_while_the_machine_was_made,
    room,
    room_on_a_machine,
    room_on_the_node_that_has_come_of_a_machine,
    near_each_other_whoever_is_named_first,
    near_one_whose_machine_could_not_be_created,
    the_machine_is_as_large_as_its_pods_need,
    the_machine_is_smaller_and_was_made_for_nobody,
]


@pytest.mark.parametrize("story", HELD)
def test_what_holds_is_not_told(story: Story) -> None:
    stage = Stage()
    story(stage)

    assert stage.breaches == []


# ------------------------------------------------------------------------------------ what breaks


def no_room(stage: Stage) -> None:
    stage.node("a", cpu="500m")
    stage.pod("p")
    stage.promise(p="node/a")


def no_room_for_both(stage: Stage) -> None:
    stage.node("a", cpu="1500m")
    stage.pod("p")
    stage.pod("q", cpu="900m")
    stage.promise(p="node/a", q="node/a")


def no_such_place(stage: Stage) -> None:
    stage.pod("p")
    stage.promise(p="node/a")


def a_command_past_its_last_look(stage: Stage) -> None:
    stage.node("a")
    cordoned_for(stage, "Launching")
    stage.pod("p")
    stage.promise(p="node/a")


def a_cordon_of_a_person(stage: Stage) -> None:
    """No command lets that go."""
    stage.node("a")
    cordoned_for(stage, "Pending", by="a person")
    stage.pod("p")
    stage.promise(p="node/a")


def a_taint(stage: Stage) -> None:
    stage.node("a", taints=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])
    stage.pod("p")
    stage.promise(p="node/a")


def a_label(stage: Stage) -> None:
    stage.node("a")
    stage.pod("p", nodeSelector={"disk": "ssd"})
    stage.promise(p="node/a")


def a_port(stage: Stage) -> None:
    stage.node("a")
    ports = [{"containerPort": 80, "hostPort": 80}]
    stage.pod("q", on="a", ports=ports)
    stage.pod("p", ports=ports)
    stage.promise(p="node/a")


def a_pod_that_keeps_others_away(stage: Stage) -> None:
    stage.node("a")
    stage.pod("q", on="a", app="web", **APART)
    stage.pod("p", app="web")
    stage.promise(p="node/a")


def a_crowd_to_come(stage: Stage) -> None:
    stage.node("a")
    stage.pod("q", on="a", app="web")
    stage.pod("p", app="web", **EVEN)


def a_crowd(stage: Stage) -> None:
    stage.node("b")
    a_crowd_to_come(stage)
    stage.promise(p="node/a")


def a_machine_that_may_not_be_what_it_asks_for(stage: Stage) -> None:
    stage.machine("m", SMALL)
    stage.pod("p", cpu="3")
    stage.promise("m", p="machine/m")


def no_room_beside_a_daemon_set(stage: Stage) -> None:
    """It was there long before."""
    stage.daemon_set("d", cpu="1")
    stage.pod("p", cpu="1500m")
    stage.machine("m")
    stage.promise("m", p="machine/m")
    stage.launched("m", cpu="2")


def near_one_that_goes_nowhere(stage: Stage) -> None:
    """As when machines are planned, and not made."""
    stage.node("a")
    stage.pod("leader")
    stage.pod("follower", **NEAR)
    stage.promise(follower="node/a")


def near_one_whose_machine_is_elsewhere(stage: Stage) -> None:
    """It could not be created, and would have been of no use."""
    stage.node("a")
    stage.pod("follower", **NEAR)
    stage.pod("leader")
    stage.promise(failed=("n",), follower="node/a", leader="machine/n")


def no_room_on_the_machine_as_it_came(stage: Stage) -> None:
    stage.machine("m")
    stage.pod("p", cpu="3")
    stage.promise("m", p="machine/m")
    stage.launched("m", cpu="2")


BROKEN: dict[Story, tuple[str, str]] = {
    no_room: (KEPT, "unmoor-a: pod p was promised node/a: resources: cpu: "),
    no_room_for_both: (KEPT, "unmoor-a: pod q was promised node/a: resources: cpu: "),
    no_such_place: (KEPT, "unmoor-a: pod p was promised node/a: it is not there"),
    a_command_past_its_last_look: (KEPT, "unmoor-a: pod p was promised node/a: unschedulable: "),
    a_cordon_of_a_person: (KEPT, "unmoor-a: pod p was promised node/a: unschedulable: "),
    a_taint: (KEPT, "unmoor-a: pod p was promised node/a: taint: dedicated"),
    a_label: (KEPT, "unmoor-a: pod p was promised node/a: node selector: disk"),
    a_port: (KEPT, "unmoor-a: pod p was promised node/a: host port: "),
    a_pod_that_keeps_others_away: (KEPT, "unmoor-a: pod p was promised node/a: pod anti-affinity"),
    a_crowd: (KEPT, "unmoor-a: pod p was promised node/a: topology spread: "),
    a_machine_that_may_not_be_what_it_asks_for: (
        KEPT,
        "unmoor-a: pod p was promised machine/m: instance type: resources: ",
    ),
    near_one_that_goes_nowhere: (
        KEPT,
        "unmoor-a: pod follower was promised node/a: pod affinity: ",
    ),
    near_one_whose_machine_is_elsewhere: (
        KEPT,
        "unmoor-a: pod follower was promised node/a: pod affinity: ",
    ),
    no_room_beside_a_daemon_set: (ROOMY, "machine m was made for pod p: resources: cpu: "),
    no_room_on_the_machine_as_it_came: (ROOMY, "machine m was made for pod p: resources: cpu: "),
}


@pytest.mark.parametrize("story", BROKEN)
def test_what_breaks_a_rule_is_told(story: Story) -> None:
    stage = Stage()
    story(stage)
    rule, words = BROKEN[story]

    [(broken, said)] = stage.breaches
    assert broken == rule
    assert said.startswith(words)


# ------------------------------------------------------------------------------ read off a record

MADE = Create(ref=MACHINES.ref("m"), body={"metadata": {"name": "m"}})
PLANNED = Nominate(places={"machine/m": (("default", "p"),)})
LOST = Problem(ProblemKind.UNKNOWN, "no answer")


@pytest.mark.parametrize(
    ("outcomes", "made", "failed"),
    [
        pytest.param([(MADE, None), (PLANNED, None)], {"m"}, {}, id="made"),
        pytest.param([(PLANNED, None), (MADE, LOST)], set(), {"m": MADE.body}, id="lost"),
        pytest.param([(PLANNED, None)], set(), {}, id="nothing was to be made"),
    ],
)
def test_what_a_step_has_promised(
    outcomes: list[tuple[AnyEffect, Problem | None]], made: set[str], failed: dict[str, JSON]
) -> None:
    assert promised_by("unmoor-a", record(outcomes)) == Promised(
        "unmoor-a", moment().mono, PLANNED.places, frozenset(made), failed
    )


def test_a_step_that_names_no_place_has_promised_nothing() -> None:
    assert promised_by("unmoor-a", record([(MADE, None)])) is None


def record(outcomes: list[tuple[AnyEffect, Problem | None]]) -> Record:
    return Record(
        reconciler="provisioning",
        key="all",
        moment=moment(),
        version=1,
        step=Step(),
        outcomes=tuple(Outcome(effect, problem) for effect, problem in outcomes),
    )
