"""A machine that comes up is kept for the pods it was made for, whoever comes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from tests.builders import node
from tests.engine.scenes import instance_type
from tests.lifecycle.driver import World
from tests.lifecycle.pending import launched, made, planned, provisioner, waiting
from tests.lifecycle.rows import PROVISIONING
from unmoor.lifecycle.effects import Nominate, Publish
from unmoor.model import names
from unmoor.model.requirement import IN

SMALL, BIG = instance_type("small", cpu=4), instance_type("m.large", cpu=4, price=9.0)
OF_BIG = {"nodeSelector": {names.INSTANCE_TYPE: "m.large"}}


def only(name: str, of_type: str, **more: Any) -> Any:
    """A provisioner of one type."""
    asks = {"key": names.INSTANCE_TYPE, "operator": IN, "values": [of_type]}
    return provisioner(name, requirements=[asks], **more)


def the_rare_one() -> World:
    """A pod that only the dear type takes has its machine ordered; others get the cheap type."""
    world = planned(
        waiting("rare", cpu="1", spec=OF_BIG),
        only("general", "small", weight=10),
        only("special", "m.large"),
        types=(SMALL, BIG),
    )
    assert [one.provisioner_name for one in made(world)] == ["special"]
    return world


def come(world: World, pod: Any) -> None:
    """It finds no place, and is planned."""
    world.put(pod)
    world.run(PROVISIONING, for_s=4)


def restarted(world: World) -> None:
    """Nothing is remembered, and everything is looked at again."""
    world.restart()
    world.run(PROVISIONING, for_s=4)


def stays(_: World) -> None:
    """Nothing happens."""


def meets_a_namesake(world: World) -> None:
    """A node of somebody else's has the machine's name."""
    [first] = made(world)
    world.put(node(first.name, allocatable={"cpu": "0"}))


@pytest.mark.parametrize("happens", [stays, launched, restarted, meets_a_namesake])
def test_larger_pods_that_come_later_do_not_take_it(happens: Callable[[World], None]) -> None:
    """T316: one machine for a pod, however many others come while it is on its way."""
    world = the_rare_one()
    happens(world)
    for number in range(5):
        come(world, waiting(f"large-{number}", cpu="3"))

    of = [one.provisioner_name for one in made(world)]
    assert of.count("special") == 1
    assert of.count("general") == 5


def test_a_restart_with_larger_pods_there_already_finds_whom_it_was_made_for() -> None:
    world = the_rare_one()
    [first] = made(world)
    assert first.metadata.annotations[names.MADE_FOR] == "shop/rare"
    world.put(waiting("large", cpu="3"))
    restarted(world)

    assert sorted(one.provisioner_name for one in made(world)) == ["general", "special"]


@pytest.mark.parametrize("written", ["", ",", "rare", "shop/", "/", "shop/rare/", "x" * 100_000])
def test_what_is_written_there_by_somebody_else_harms_nobody(written: str) -> None:
    world = the_rare_one()
    [first] = made(world)
    metadata = structs.replace(first.metadata, annotations={names.MADE_FOR: written})
    world.put(structs.replace(first, metadata=metadata))
    restarted(world)

    assert len(made(world)) == 1, "there is room for it all the same"


def test_what_is_left_of_it_is_for_whoever_comes() -> None:
    world = the_rare_one()
    come(world, waiting("small", cpu="2"))

    assert len(made(world)) == 1


def test_where_a_pod_was_said_to_go_is_where_it_goes() -> None:
    """Its event is not taken back by each pod that comes."""
    world = planned(
        waiting("a-0", cpu="2"), waiting("a-1", cpu="1"), only("general", "small"), types=(SMALL,)
    )
    for number in range(4):
        come(world, waiting(f"b-{number}", cpu="3"))

    said = [one for one in world.done(Publish) if one.regarding.name.startswith("a-")]
    assert len(said) == 2
    last = world.done(Nominate)[-1].places
    assert {len(pods) for pods in last.values()} == {1, 2}


@pytest.mark.parametrize("happens", [stays, restarted])
def test_who_was_there_first_is_there_first_again(happens: Callable[[World], None]) -> None:
    """The larger one gave up a preference and came after the other, who would not come after it."""
    spread = {
        "topologyKey": names.ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    soft = {**spread, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
    large = waiting("large", cpu="2", spec={"topologySpreadConstraints": [soft]})
    small = waiting("small", cpu="1", spec={"topologySpreadConstraints": [spread]})
    world = planned(large, small, only("general", "small"), types=(SMALL,))
    assert len(made(world)) == 1
    happens(world)
    world.run(PROVISIONING, for_s=60)

    assert len(made(world)) == 1
