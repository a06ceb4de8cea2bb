"""Nodes that are to go soon bear a taint of ours while a command runs, and no longer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.builders import disruption
from tests.lifecycle.driver import Row, World
from tests.policy.underused import SMALL, consolidated, node, pod
from unmoor.lifecycle import steering
from unmoor.lifecycle.effects import Patch
from unmoor.model import names, taint
from unmoor.model.base import Object
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS, NODES, PODS
from unmoor.model.node import Node
from unmoor.model.settings import Settings
from unmoor.model.snapshot import Identity
from unmoor.model.taint import Taint

STEERING = Row("steering", steering.advance, lambda _: ["all"])
SPARE = Taint(key="example.com/spare", effect="PreferNoSchedule")
LINGER_S = 60


def moves(of: Disruption, **places: tuple[str, ...]) -> Disruption:
    planned = {f"node/{name}": pods for name, pods in places.items()}
    return builders.changed(of, spec__moves=planned)


def running(**fields: Any) -> Disruption:
    given = {"name": "consolidation-1", "nodes": ("a",), "method": "consolidation"} | fields
    return disruption(**given)


def world(
    *others: Object,
    command: Disruption | None = None,
    settings: Settings = Settings(),
    **given: Any,
) -> World:
    """Node ``a`` goes; of eight others two may bear the taint, the emptiest: ``b``, then ``c``."""
    nodes: list[Object] = [*node("a", SMALL, is_cordoned=True, disruption="consolidation-1")]
    for number, name in enumerate("bcdefghi"):
        nodes += node(name, SMALL)
        nodes.append(pod(f"{name}-1", name, cpu=f"{(number + 1) * 100}m"))
    return World(
        given.pop("provisioner", consolidated()),
        *nodes,
        pod("web-1", "a"),
        command or running(),
        *others,
        settings=settings,
        **given,
    )


def marked(of: World) -> str:
    return "".join(one.name for one in of.view.sorted(NODES) if one.is_going_soon)


def written(of: World) -> list[str]:
    return [one.ref.name for one in of.done(Patch)]


def node_of(of: World, name: str) -> Node:
    found = of.view.node(name)
    assert found is not None
    return found


def end(of: World, phase: DisruptionPhase = DisruptionPhase.SUCCEEDED) -> None:
    for one in of.view.sorted(DISRUPTIONS):
        of.change(one, status__phase=phase)


def test_the_emptiest_bear_the_taint_while_a_command_runs() -> None:
    here = world()
    here.run(STEERING, for_s=10)
    assert marked(here) == "bc"
    assert written(here) == ["b", "c"]

    end(here)
    here.run(STEERING, for_s=LINGER_S - 5)
    assert marked(here) == "bc"
    here.run(STEERING, for_s=10)
    assert marked(here) == ""
    assert node_of(here, "b").spec.taints == ()
    assert written(here) == ["b", "c", "b", "c"]


def test_who_is_planned_onto_is_not_to_go() -> None:
    here = world(command=moves(running(), b=("shop/web-1",)))
    here.run(STEERING, for_s=3)
    assert marked(here) == "cd"


def test_a_full_node_is_not_to_go_soon() -> None:
    here = world()
    for name in "bcdefghi":
        here.put(pod(f"{name}-2", name, cpu="1100m"))
    here.run(STEERING, for_s=3)
    assert marked(here) == ""


def test_the_next_command_takes_what_bears_the_taint_first() -> None:
    here = world()
    here.run(STEERING, for_s=3)
    end(here)
    # By itself d would be the second now, but not by much.
    here.put(pod("c-2", "c", cpu="200m"))
    here.put(running(name="consolidation-2"))
    here.run(STEERING, for_s=3)
    assert marked(here) == "bc"
    assert written(here) == ["b", "c"]

    end(here)
    here.put(pod("c-3", "c", cpu="500m"))
    here.put(running(name="consolidation-3"))
    here.run(STEERING, for_s=3)
    assert marked(here) == "bd"


KEPT = {names.DO_NOT_CONSOLIDATE: "true"}
PAUSED = {names.PAUSED: "by=anna"}


@pytest.mark.parametrize("annotations", [KEPT, PAUSED, {}])
def test_what_a_person_keeps_loses_the_taint_at_once(annotations: dict[str, str]) -> None:
    here = world()
    here.run(STEERING, for_s=3)
    held = node_of(here, "b")
    given = held.metadata.annotations | annotations
    here.change(held, metadata__annotations=given, spec__unschedulable=not annotations)
    here.run(STEERING, for_s=3)
    assert marked(here) == "c"


def test_a_person_who_removes_the_taint_has_the_last_word() -> None:
    here = world()
    here.run(STEERING, for_s=3)
    here.change(node_of(here, "b"), spec__taints=())
    here.run(STEERING, for_s=30)
    assert marked(here) == "c"

    end(here)
    here.put(running(name="consolidation-2"))
    here.run(STEERING, for_s=30)
    assert marked(here) == "c"


def test_taints_of_others_stay() -> None:
    here = world()
    here.change(node_of(here, "b"), spec__taints=(SPARE,))
    here.run(STEERING, for_s=3)
    assert node_of(here, "b").spec.taints == (SPARE, taint.GOING_SOON)
    end(here)
    here.run(STEERING, for_s=LINGER_S + 5)
    assert node_of(here, "b").spec.taints == (SPARE,)


def test_the_same_taint_with_another_value_is_a_persons() -> None:
    here = world()
    theirs = msgspec.structs.replace(taint.GOING_SOON, value="by-hand")
    here.change(node_of(here, "b"), spec__taints=(theirs,))
    here.run(STEERING, for_s=LINGER_S)
    end(here)
    here.run(STEERING, for_s=LINGER_S + 5)
    assert node_of(here, "b").spec.taints == (theirs,)
    assert "b" not in written(here)


def test_a_restart_finds_its_own() -> None:
    here = world()
    here.run(STEERING, for_s=3)
    here.restart()
    here.run(STEERING, for_s=3)
    assert written(here) == ["b", "c"]

    end(here)
    here.restart()
    here.run(STEERING, for_s=LINGER_S + 5)
    assert marked(here) == ""


def test_switched_off_they_go_at_once() -> None:
    here = world()
    here.run(STEERING, for_s=3)
    here.view.settings = Settings(steering=False)
    here.run(STEERING, for_s=3)
    assert marked(here) == ""


@pytest.mark.parametrize(
    "given",
    [
        {"settings": Settings(steering=False)},
        {"settings": Settings(observe=("consolidation",))},
        {"settings": Settings(paused="by=anna")},
        {"identity": Identity(cluster=builders.CLUSTER, is_observing=True)},
        {"provisioner": consolidated(consolidation={"enabled": False})},
    ],
)
def test_nobody_is_marked(given: dict[str, Any]) -> None:
    here = world(**given)
    here.run(STEERING, for_s=10)
    assert written(here) == []


def test_a_lost_write_is_made_again() -> None:
    here = world()
    here.fails = lambda _: True
    here.run(STEERING, for_s=2)
    assert marked(here) == ""
    here.fails = lambda _: False
    here.run(STEERING, for_s=2)
    assert marked(here) == "bc"


def landed(of: World) -> dict[str, float]:
    """What the next two looks count."""
    facts = [fact for _ in range(2) for fact in of.step(STEERING, "all").facts]
    said = [one for one in facts if one.name == "moved_pods_landed_total"]
    return {one.labels["where"]: one.value or 0 for one in said}


def test_where_moved_pods_have_landed_is_counted_once() -> None:
    plan = ("shop/web-1", "shop/web-2", "shop/web-3")
    here = world(
        pod("web-2", "a"), pod("web-3", "a"), pod("web-old", "h"), command=moves(running(), h=plan)
    )
    here.run(STEERING, for_s=3)
    for name, to in (("new-1", "h"), ("new-2", "b"), ("new-3", "i")):
        here.put(pod(f"web-{name}", to))
    for name in ("web-1", "web-2", "web-3"):
        here.drop(here.view.get(PODS, name, "shop"))
    end(here)
    assert landed(here) == {"planned": 1, "going-soon": 1, "elsewhere": 1}
    assert landed(here) == {}


def test_a_cancelled_command_has_moved_nobody() -> None:
    here = world(command=moves(running(), h=("shop/web-1",)))
    here.run(STEERING, for_s=3)
    here.put(pod("web-2", "h"))
    end(here, DisruptionPhase.CANCELLED)
    assert landed(here) == {}
