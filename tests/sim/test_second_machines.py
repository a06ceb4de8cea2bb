"""A pod gets one machine: who gets a second one is told, unless the first could not be known to do.

Each excuse has a story in which it holds, and one in which the same is no excuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.scenes import spread
from tests.sim.promising import SMALL, USUAL, Stage
from unmoor.model import names
from unmoor.model.kinds import MACHINES
from unmoor.sim.promises import ONCE

SPREAD: dict[str, Any] = {"topologySpreadConstraints": [spread(names.ZONE)]}

Story = Callable[[Stage], None]


def twice(
    stage: Stage,
    *,
    between: Callable[[], object] = lambda: None,
    is_made: bool = True,
    first_is_up: bool = False,
    **wishes: Any,
) -> None:
    """Two machines are made for one pod; or one, and another is there."""
    stage.pod("p", **wishes)
    stage.machine("m")
    stage.promise("m", p="machine/m")
    if first_is_up:
        stage.launched("m", cpu="4")
        stage.node("m")
    rest(stage)
    between()
    if is_made:
        stage.machine("n")
    stage.promise_now(*(["n"] if is_made else []), p="machine/n")


def rest(stage: Stage) -> None:
    """Nothing happens for long."""
    stage.time_s += 100.0


def fill(stage: Stage) -> None:
    """Somebody has come to the first."""
    stage.pod("q", cpu="3500m", on="m")
    rest(stage)


def another_machine_when_the_first_is_gone(stage: Stage) -> None:
    twice(stage, between=lambda: stage.server.delete(MACHINES.ref("m")))


def another_machine_when_the_first_was_replaced_by_one_of_its_name(stage: Stage) -> None:
    stage.pod("p")
    stage.pod("q")
    stage.machine("m")
    stage.promise("m", p="machine/m")
    stage.server.delete(MACHINES.ref("m"))
    stage.machine("m")
    stage.machine("n")
    stage.promise("m", "n", q="machine/m", p="machine/n")


def another_machine_when_somebody_has_come_to_the_first_just_now(stage: Stage) -> None:
    twice(stage, between=lambda: stage.pod("q", on="m"), first_is_up=True)


def another_machine_when_the_first_is_full(stage: Stage) -> None:
    twice(stage, between=lambda: fill(stage), first_is_up=True)


def up_and_wanted(stage: Stage, by: str) -> None:
    """The first is ready for pods, and another pod, of that size, is to run on it from now on."""

    def rise() -> None:
        known = [{"type": "MachineInitialized", "status": "True"}]
        ref = MACHINES.ref("m")
        stage.server.patch(ref, {"status": {"conditions": known}}, subresource="status")
        rest(stage)

    stage.pod("p")
    stage.pod("q", cpu=by)
    stage.machine("m")
    stage.promise("m", p="machine/m")
    stage.launched("m", cpu="4")
    stage.node("m")
    rise()
    stage.machine("n")
    stage.promise_now("n", q="node/m", p="machine/n")


def another_machine_when_the_first_is_up_and_others_come_first_now(stage: Stage) -> None:
    up_and_wanted(stage, by="3500m")


def another_machine_when_a_daemon_set_has_come_just_now(stage: Stage) -> None:
    twice(stage, between=lambda: stage.daemon_set("d"))


def another_machine_when_another_process_has_made_the_first_just_now(stage: Stage) -> None:
    stage.pod("p")
    stage.time_s += 100.0
    stage.machine("m", by="unmoor-b")
    stage.promise_now("m", p="machine/m", by="unmoor-b")
    stage.machine("n")
    stage.promise_now("n", p="machine/n")


def another_machine_for_a_choosy_pod_when_anything_has_changed_just_now(stage: Stage) -> None:
    twice(stage, between=lambda: stage.node("a", cpu="500m"), **SPREAD)


def another_machine_for_whom_it_was_not_made_when_its_own_pods_need_it(stage: Stage) -> None:
    """They come first, however small they are."""
    stage.pod("q")
    stage.pod("p", cpu="2")
    stage.machine("m")
    stage.promise("m", q="machine/m")
    stage.promise(q="machine/m", p="machine/m")
    stage.launched("m", cpu="2500m")
    rest(stage)
    stage.machine("n")
    stage.promise("n", q="machine/m", p="machine/n")


def another_machine_when_its_node_goes_on_which_it_ran_meanwhile(stage: Stage) -> None:
    """The first was left to others when the pod found a place without it."""
    stage.node("a", cpu="2")
    stage.pod("p")
    stage.machine("m")
    stage.promise("m", p="machine/m")
    rest(stage)
    stage.bind("p", "a")
    rest(stage)
    stage.lost("a")
    rest(stage)
    stage.machine("n")
    stage.promise_now("n", p="machine/n")


def another_machine_for_a_choosy_pod_when_one_of_its_like_has_come_just_now(stage: Stage) -> None:
    stage.node("a")
    twice(stage, between=lambda: stage.pod("q", on="a", app="web"), **SPREAD)


def a_machine_after_a_node(stage: Stage) -> None:
    stage.node("a")
    stage.pod("p")
    stage.promise(p="node/a")
    stage.machine("n")
    stage.promise("n", p="machine/n")


def another_machine_that_was_there(stage: Stage) -> None:
    stage.machine("n")
    twice(stage, is_made=False)


def a_machine_after_one_that_nobody_knows_to_be_there(stage: Stage) -> None:
    stage.pod("p")
    stage.machine("m")
    stage.promise(failed=("m",), p="machine/m")
    stage.machine("n")
    stage.promise("n", p="machine/n")


HELD = [
    another_machine_when_the_first_is_gone,
    another_machine_when_the_first_was_replaced_by_one_of_its_name,
    another_machine_when_somebody_has_come_to_the_first_just_now,
    another_machine_when_the_first_is_full,
    another_machine_when_the_first_is_up_and_others_come_first_now,
    another_machine_when_a_daemon_set_has_come_just_now,
    another_machine_when_another_process_has_made_the_first_just_now,
    another_machine_for_a_choosy_pod_when_anything_has_changed_just_now,
    another_machine_for_whom_it_was_not_made_when_its_own_pods_need_it,
    another_machine_when_its_node_goes_on_which_it_ran_meanwhile,
    another_machine_for_a_choosy_pod_when_one_of_its_like_has_come_just_now,
    a_machine_after_a_node,
    another_machine_that_was_there,
    a_machine_after_one_that_nobody_knows_to_be_there,
]


@pytest.mark.parametrize("story", HELD)
def test_whom_the_first_may_not_take_gets_a_second_one(story: Story) -> None:
    stage = Stage()
    story(stage)

    assert stage.breaches == []


def twice_while_pods_and_nodes_elsewhere_come_and_go(stage: Stage) -> None:
    stage.node("a", cpu="500m")
    stage.pod("q", cpu="100m")
    twice(stage, between=lambda: stage.pod("r", on="a", cpu="100m"))


def twice_although_the_first_is_up(stage: Stage) -> None:
    twice(stage, first_is_up=True)


def twice_although_the_first_is_up_and_has_room_for_others_too(stage: Stage) -> None:
    up_and_wanted(stage, by="1")


def twice_for_a_choosy_pod(stage: Stage) -> None:
    twice(stage, **SPREAD)


def twice_for_a_choosy_pod_while_strangers_come(stage: Stage) -> None:
    stage.node("a", cpu="500m")
    twice(stage, between=lambda: stage.pod("q", on="a", cpu="100m"), **SPREAD)


def twice_as_a_larger_pod_takes_the_room(stage: Stage) -> None:
    """Both were to go there, and then the cloud chose a smaller type than they had hoped for."""
    stage.pod("p")
    stage.machine("m", USUAL, SMALL)
    stage.promise("m", p="machine/m")
    stage.pod("q", cpu="1500m")
    stage.promise(p="machine/m", q="machine/m")
    stage.launched("m", cpu="2")
    rest(stage)
    stage.machine("n")
    stage.promise("n", p="machine/n", q="machine/m")


def twice_beside_another_process(stage: Stage) -> None:
    """It has made a machine just now, for somebody else."""
    stage.pod("q")
    twice(stage, between=lambda: stage.machine("o", by="unmoor-b"))


TWO = "unmoor-a: pod p had machine/m coming up and got machine/n"
TOLD = [
    twice,
    twice_while_pods_and_nodes_elsewhere_come_and_go,
    twice_although_the_first_is_up,
    twice_although_the_first_is_up_and_has_room_for_others_too,
    twice_for_a_choosy_pod,
    twice_for_a_choosy_pod_while_strangers_come,
    twice_as_a_larger_pod_takes_the_room,
    twice_beside_another_process,
]


@pytest.mark.parametrize("story", TOLD)
def test_whom_the_first_takes_gets_no_second_one(story: Story) -> None:
    stage = Stage()
    story(stage)

    assert stage.breaches == [(ONCE, TWO)]


def test_where_the_cloud_may_be_out_of_something_a_choosy_pod_may_get_a_second_machine() -> None:
    """Before the first is launched: it may be kept from the only zone that the pod could go to."""
    stage = Stage(is_in_stock=False)
    twice(stage, **SPREAD)

    assert stage.breaches == []


@pytest.mark.parametrize("wishes", [{}, SPREAD], ids=["any pod", "a choosy pod"])
def test_nor_is_there_a_second_machine_when_the_first_is_launched(wishes: dict[str, Any]) -> None:
    stage = Stage(is_in_stock=False)
    twice(stage, first_is_up=True, **wishes)

    assert stage.breaches == [(ONCE, TWO)]


def test_where_the_cloud_may_be_out_of_something_any_other_pod_gets_one_machine() -> None:
    stage = Stage(is_in_stock=False)
    twice(stage)

    assert stage.breaches == [(ONCE, TWO)]
