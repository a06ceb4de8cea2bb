"""What tests ask of a Provisioner in a world."""

from __future__ import annotations

from tests.lifecycle.driver import World
from unmoor.model.base import Condition, condition_of
from unmoor.model.provisioner import Provisioner


def held(world: World, name: str = "default") -> Provisioner:
    found = world.view.provisioner(name)
    assert found is not None
    return found


def active(world: World, name: str = "default") -> Condition:
    found = condition_of(held(world, name).status.conditions, "Active")
    assert found is not None
    return found
