"""What a promise is not held against: what has changed just now, and has to do with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.scenes import required, term
from tests.sim.promising import APART, EVEN, NEAR, Stage
from unmoor.model import names
from unmoor.model.kinds import NODES, PODS
from unmoor.sim.promises import KEPT

Story = Callable[[Stage], None]


def rest(stage: Stage) -> None:
    """Nothing happens for long."""
    stage.time_s += 100.0


def strangers(stage: Stage) -> None:
    """Elsewhere, somebody comes whom nobody looks at."""
    stage.pod("stranger", on="elsewhere", cpu="100m")


def two_nodes_in_a_zone(stage: Stage) -> None:
    stage.node("a")
    stage.node("b")
    here = {"metadata": {"labels": {names.ZONE: "zone-of-a"}}}
    stage.server.patch(NODES.ref("b"), here)


def the_node_has_become_full_just_now(stage: Stage) -> None:
    stage.node("a", cpu="1")
    stage.pod("p")
    stage.time_s += 100.0
    stage.pod("q", on="a")
    stage.promise_now(p="node/a")


def a_pod_is_to_be_even_and_another_has_made_a_machine_just_now(stage: Stage) -> None:
    """Which is one more place that is empty."""
    stage.node("a")
    stage.pod("q", on="a", app="web")
    stage.pod("p", app="web", **EVEN)
    rest(stage)
    stage.machine("m", by="unmoor-b")
    stage.promise_now(p="node/a")


def a_pod_is_to_be_even_and_one_of_its_like_has_come_just_now(stage: Stage) -> None:
    stage.node("a")
    stage.node("b")
    stage.pod("p", app="web", **EVEN)
    rest(stage)
    stage.pod("q", on="a", app="web")
    stage.promise_now(p="node/a")


def a_pod_is_to_be_even_and_a_node_has_come_just_now(stage: Stage) -> None:
    stage.node("a")
    stage.pod("q", on="a", app="web")
    stage.pod("p", app="web", **EVEN)
    rest(stage)
    stage.node("b")
    stage.promise_now(p="node/a")


def the_one_to_be_near_to_has_gone_just_now(stage: Stage) -> None:
    stage.node("a")
    stage.pod("leader", on="a")
    stage.pod("follower", **NEAR)
    rest(stage)
    stage.server.delete(PODS.ref("leader", "default"))
    stage.promise_now(follower="node/a")


def the_one_to_be_near_to_waited_and_has_gone_just_now(stage: Stage) -> None:
    stage.node("a")
    stage.pod("leader")
    stage.pod("follower", **NEAR)
    rest(stage)
    stage.server.delete(PODS.ref("leader", "default"))
    stage.promise_now(follower="node/a", leader="node/a")


def the_one_to_be_near_to_has_lost_its_place_just_now(stage: Stage) -> None:
    two_nodes_in_a_zone(stage)
    stage.pod("leader", cpu="3")
    stage.pod("follower", **NEAR)
    rest(stage)
    stage.pod("q", cpu="2", on="b")
    stage.promise_now(follower="node/a", leader="node/b")


def one_that_keeps_others_out_of_its_zone_has_come_just_now(stage: Stage) -> None:
    two_nodes_in_a_zone(stage)
    stage.pod("p", app="web")
    rest(stage)
    apart = required(term(names.ZONE))
    stage.pod("q", on="b", app="db", affinity={"podAntiAffinity": apart})
    stage.promise_now(p="node/a")


def the_node_has_gone_just_now(stage: Stage) -> None:
    stage.node("a")
    stage.pod("p")
    rest(stage)
    stage.server.delete(NODES.ref("a"))
    stage.promise_now(p="node/a")


def one_that_keeps_others_away_has_come_just_now(stage: Stage) -> None:
    stage.node("a")
    stage.pod("p", app="web")
    rest(stage)
    stage.pod("q", on="a", app="web", **APART)
    stage.promise_now(p="node/a")


@pytest.mark.parametrize(
    "story",
    [
        the_node_has_become_full_just_now,
        a_pod_is_to_be_even_and_another_has_made_a_machine_just_now,
        a_pod_is_to_be_even_and_one_of_its_like_has_come_just_now,
        a_pod_is_to_be_even_and_a_node_has_come_just_now,
        the_one_to_be_near_to_has_gone_just_now,
        the_one_to_be_near_to_waited_and_has_gone_just_now,
        the_one_to_be_near_to_has_lost_its_place_just_now,
        one_that_keeps_others_out_of_its_zone_has_come_just_now,
        the_node_has_gone_just_now,
        one_that_keeps_others_away_has_come_just_now,
    ],
)
def test_what_has_changed_just_now_is_an_excuse(story: Story) -> None:
    stage = Stage()
    story(stage)

    assert stage.breaches == []


def no_room_while_much_happens_elsewhere(stage: Stage) -> None:
    stage.node("a", cpu="500m")
    stage.pod("p")
    rest(stage)
    stage.node("b", cpu="100m")
    strangers(stage)
    stage.machine("m", by="unmoor-b")
    stage.promise_now(p="node/a")


def a_crowd_while_strangers_come(stage: Stage) -> None:
    stage.node("b")
    stage.node("a")
    stage.pod("q", on="a", app="web")
    stage.pod("p", app="web", **EVEN)
    rest(stage)
    strangers(stage)
    stage.promise_now(p="node/a")


def a_pod_that_keeps_others_away_while_much_happens_elsewhere(stage: Stage) -> None:
    stage.node("a")
    stage.pod("q", on="a", app="web", **APART)
    stage.pod("p", app="web")
    rest(stage)
    stage.node("b")
    stage.pod("r", on="b", app="web", **APART)
    stage.promise_now(p="node/a")


def no_room_long_since_and_company_just_now(stage: Stage) -> None:
    """One reason that was known is enough: who looks for company had none here, either."""
    stage.node("a", cpu="500m")
    stage.pod("p", **NEAR)
    rest(stage)
    stage.node("b")
    stage.promise_now(p="node/a")


TOLD: dict[Story, str] = {
    no_room_while_much_happens_elsewhere: "resources: cpu: ",
    a_crowd_while_strangers_come: "topology spread: ",
    a_pod_that_keeps_others_away_while_much_happens_elsewhere: "pod anti-affinity: ",
    no_room_long_since_and_company_just_now: "resources: cpu: ",
}


@pytest.mark.parametrize("story", TOLD)
def test_what_has_nothing_to_do_with_it_is_none(story: Story) -> None:
    stage = Stage()
    story(stage)

    [(rule, said)] = stage.breaches
    assert rule == KEPT
    assert said.startswith(f"unmoor-a: pod p was promised node/a: {TOLD[story]}")
