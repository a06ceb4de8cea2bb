"""A Provisioner whose requirements nothing on sale meets says so; when that is searched for."""

from __future__ import annotations

from typing import Any

from tests.builders import changed, provisioner
from tests.engine.scenes import instance_type
from tests.lifecycle.asked_of_provisioners import active, held
from tests.lifecycle.driver import World
from tests.lifecycle.rows import PROVISIONER
from unmoor.model import names
from unmoor.model.instance import InstanceType
from unmoor.model.observation import Answer, Asked
from unmoor.model.provisioner import Provisioner
from unmoor.model.requirement import NodeSelectorRequirement

USUAL = {names.INSTANCE_CATEGORY: "m", names.INSTANCE_GENERATION: "6"}
"""Labels of a type that a provisioner without requirements takes."""


def world_of(*provisioners: Provisioner) -> World:
    world = World(*provisioners)
    world.settle(PROVISIONER)
    return world


def in_zone(zone: str) -> dict[str, Any]:
    asks = NodeSelectorRequirement(key=names.ZONE, operator="In", values=(zone,))
    return {"spec__requirements": (asks,)}


def sell(world: World, *types: InstanceType) -> None:
    sold = Answer(world.moment, result=types)
    world.view._answers[Asked.INSTANCE_TYPES][world.view.identity.scheme] = sold


def test_one_that_nothing_on_sale_meets_says_which_requirement_is_to_blame() -> None:
    """Once it is known what is on sale; what is only sold out is no fault of its own."""
    world = world_of(changed(provisioner(), **in_zone("us-east-1x")), provisioner("good"))
    assert active(world).status == "True"
    sell(world, instance_type("small", labels=USUAL))
    world.run(PROVISIONER, for_s=60, tick_s=10)

    said = f"spec.requirements: nothing is sold with {names.ZONE} In [us-east-1x]; there is "
    assert (active(world).status, active(world).reason) == ("False", "NothingOnSale")
    assert active(world).message.startswith(said)
    (event,) = world.events("NothingOnSale")
    assert event.message == f"provisioner/default: {active(world).message}"
    assert active(world, "good").status == "True"


def test_until_it_is_known_what_is_on_sale_it_is_looked_for_every_few_seconds() -> None:
    world = world_of(provisioner())
    cadence = world.view.settings.cadence
    world.wait(cadence.provisioner_status_s)
    assert world.settle(PROVISIONER) == world.moment.after(cadence.pending_pod_retry_s)

    sell(world, instance_type("small", labels=USUAL))
    world.wait(cadence.pending_pod_retry_s)
    assert world.settle(PROVISIONER) is None


def test_what_is_on_sale_is_searched_again_only_when_it_or_what_is_asked_for_has_changed() -> None:
    world = world_of(changed(provisioner(), **in_zone("us-east-1x")))

    def found() -> object:
        world.run(PROVISIONER, for_s=60, tick_s=10)
        return world.memories[PROVISIONER.name, "default"].sought

    sell(world, instance_type("small", labels=USUAL))
    first = found()
    assert found() is first
    world.change(held(world), metadata__labels={"team": "shop"})
    assert found() is first

    there = [("us-east-1x", "on-demand")]
    sell(world, instance_type("small", labels=USUAL, zones=("us-east-1x",), sold=there))
    assert found() is not first
    assert active(world).status == "True"

    world.change(held(world), **in_zone("us-east-1y"))
    found()
    assert "us-east-1y" in active(world).message
