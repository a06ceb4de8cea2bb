"""A node may have the name of a machine that is another: nobody takes one for the other."""

from __future__ import annotations

from tests.builders import node
from tests.lifecycle.driver import World
from tests.lifecycle.pending import APART, launched, made, planned, the_one, waiting
from tests.lifecycle.rows import PROVISIONING
from unmoor.lifecycle.effects import Nominate


def test_a_machine_is_not_taken_for_a_node_that_has_its_name() -> None:
    """Neither before it is launched nor after, and pods that keep apart are on two hosts."""
    apart = {"affinity": APART}
    name = the_one(planned(waiting("web-1", spec=apart))).name
    namesake = node(name, provider_id="sim:///other", allocatable={"cpu": "0", "pods": "5"})
    world = planned(namesake, waiting("web-0", on=name, spec=apart), waiting("web-1", spec=apart))
    assert [one.name for one in made(world)] == [name]
    assert last_nominated(world) == {f"machine/{name}": (("shop", "web-1"),)}

    world.restart()
    world.run(PROVISIONING, for_s=15, tick_s=5)
    assert last_nominated(world) == {f"machine/{name}": (("shop", "web-1"),)}
    launched(world)
    world.restart()
    world.run(PROVISIONING, for_s=15, tick_s=5)

    assert [one.name for one in made(world)] == [name]
    assert last_nominated(world) == {f"machine/{name}": (("shop", "web-1"),)}


def last_nominated(world: World) -> dict[str, tuple[tuple[str, str], ...]]:
    places = dict(world.done(Nominate)[-1].places)
    world.effects.clear()
    return places
