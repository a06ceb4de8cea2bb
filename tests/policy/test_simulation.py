"""What methods ask the engine: who comes first, who is moved, and what is asked only once."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import IDENTITY, moment
from tests.lifecycle.pending import waiting
from tests.policy.underused import SMALL, TYPES, consolidated, look, node, pod
from unmoor.model.snapshot import View
from unmoor.policy import provisionable
from unmoor.policy.look import Look
from unmoor.policy.simulation import Outcome, Simulation, Simulator

NODES = (node("a", SMALL), node("b", SMALL))


def simulation(*objects: Any) -> Simulation:
    found = look(*objects).simulation
    assert found is not None
    return found


def without(gone: str, *objects: Any) -> Outcome:
    return simulation(*objects).without([gone])


def test_pods_that_have_room_elsewhere_go_there() -> None:
    outcome = without("a", *NODES, pod("web-1", "a"))

    assert outcome.is_possible
    assert outcome.machines == ()
    assert outcome.plan.placements == {("shop", "web-1"): "b"}
    assert outcome.why_not == ""


def test_who_waits_for_a_node_comes_first() -> None:
    outcome = without("a", *NODES, pod("web-1", "a"), waiting("first", cpu="1500m"))

    assert len(outcome.machines) == 1  # b is full once the one that waits is there


def test_who_has_to_leave_a_node_comes_first() -> None:
    gone = node("c", SMALL, deleted_at=builders.at(0))

    outcome = without("a", *NODES, gone, pod("web-1", "a"), pod("api-1", "c", "1500m"))

    assert len(outcome.machines) == 1


@pytest.mark.parametrize(
    "state",
    [{"is_ready": False}, {"is_cordoned": True}, {"labels": {"karpenter.sh/initialized": ""}}],
)
def test_nobody_is_moved_to_where_it_could_not_run_at_once(state: dict[str, Any]) -> None:
    outcome = without("a", node("a", SMALL), node("b", SMALL, **state), pod("web-1", "a"))

    assert len(outcome.machines) == 1


def test_r7_nobody_looks_for_a_place_for_pods_that_do_not_come_back() -> None:
    full = (pod("api-1", "b", "1800m"),)
    naked = pod("web-1", "a", owners=[])

    assert without("a", *NODES, *full, naked).plan.placements == {}


def test_why_some_have_no_place_is_said_by_name() -> None:
    pods = [
        pod(f"web-{i}", "a", spec={"nodeSelector": {"kubernetes.io/os": "beos"}}) for i in range(7)
    ]

    outcome = without("a", *NODES, *pods)

    assert not outcome.is_possible
    assert len(outcome.refused) == 7
    assert outcome.why_not.startswith("pod shop/web-0: ")
    assert outcome.why_not.endswith(" and 2 others")


def test_what_a_node_holds_and_has_free() -> None:
    seen = simulation(*NODES, pod("web-1", "a", "950m"), builders.daemon_pod(on="a"))

    assert seen.fill_of("a") == pytest.approx(0.5)
    assert seen.fill_of("b") == 0.0
    assert seen.load_of("a").used["cpu"] == 950
    assert seen.free()["cpu"] == 2 * 1_900 - 950
    assert seen.load_of("nowhere").used == {}


def test_what_a_node_holds_is_found_anew_where_pods_have_come_or_gone() -> None:
    live = look(*NODES, pod("web-1", "a"), pod("api-1", "b", "500m")).view
    simulator = Simulator()
    first = simulator.simulation(live.freeze(), TYPES)
    before = {name: first.load_of(name) for name in ("a", "b")}

    live._put(pod("job-1", "a", "250m"))
    second = simulator.simulation(live.freeze(), TYPES)
    assert second.load_of("a").used["cpu"] == before["a"].used["cpu"] + 250
    assert second.load_of("b") is before["b"]

    live._drop("Pod", ("shop", "job-1"))
    live._put(pod("web-1", "b"))
    third = simulator.simulation(live.freeze(), TYPES)
    assert third.load_of("a").used.get("cpu", 0) == 0
    assert third.load_of("b").used["cpu"] == 1_500
    assert third.free() == Simulator().simulation(live.freeze(), TYPES).free()


def test_the_same_is_asked_once() -> None:
    view = look(*NODES, pod("web-1", "a"), waiting("w-1")).view
    simulator = Simulator()
    wanting = provisionable.find(view, moment())

    first = simulator.simulation(view, TYPES, wanting)
    again = simulator.simulation(view, TYPES, wanting)
    fewer = simulator.simulation(view, TYPES)

    assert again is first
    assert fewer is not first


def test_without_an_answer_of_the_cloud_there_is_none() -> None:
    asked = Look(View.of(consolidated(), *NODES[0], identity=IDENTITY), moment())

    before, found = asked.is_simulated, asked.simulation

    assert found is None
    assert (before, asked.is_simulated) == (False, True)
