"""Stories of what a Provisioner says about itself."""

from __future__ import annotations

from tests.scenarios.stage import Stage
from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref, condition_of
from unmoor.model.provisioner import Provisioner


async def a_provisioner_says_what_it_has(stage: Stage) -> None:
    """Its status is what its nodes have, and empty again when they are gone; its hash follows."""
    field = await stage.field("counted", labels={"team": "shop"})
    (node,) = await stage.nodes_up(field, "counted-1")
    found = await stage.node(node)
    assert found is not None

    pods = found.status.capacity["pods"]

    async def has_all() -> bool:
        return (await _provisioner(stage, field)).status.resources.get("pods") == pods

    await stage.eventually("the node is counted", has_all)
    told = await _provisioner(stage, field)
    assert {"cpu", "memory", "pods"} <= told.status.resources.keys()
    machine = await stage.machine("counted-1")
    assert machine is not None
    assert told.status.last_scale_time == machine.metadata.creation_timestamp
    before = told.metadata.annotations[names.PROVISIONER_HASH]

    await stage.api.patch(_ref(field), {"spec": {"labels": {"team": "front"}}})

    async def is_hashed_anew() -> bool:
        one = await _provisioner(stage, field)
        return one.metadata.annotations[names.PROVISIONER_HASH] != before

    await stage.eventually("the hash has followed", is_hashed_anew)
    await stage.delete(kinds.MACHINES.ref("counted-1"))
    await stage.gone(kinds.NODES.ref(node), kinds.MACHINES.ref("counted-1"))

    async def has_nothing() -> bool:
        return (await _provisioner(stage, field)).status.resources == {}

    await stage.eventually("nothing is counted any more", has_nothing)


async def a_broken_provisioner_says_why(stage: Stage) -> None:
    """What the server lets pass and makes no sense is told on the object, until it is mended."""
    field = await stage.field("broken", limits={"resources": {"cpu": "1e30"}})

    async def says(status: str) -> str:
        active = condition_of((await _provisioner(stage, field)).status.conditions, "Active")
        return active.message or active.reason if active and active.status == status else ""

    said = await stage.eventually("it says that it is broken", lambda: says("False"))
    assert said.startswith("spec.limits.resources.cpu is '1e30': it is more than can be counted")
    await stage.eventually("an event says so", lambda: stage.events("Invalid", field))

    mended: JSON = {"spec": {"limits": {"resources": {"cpu": "10"}}}}
    await stage.api.patch(_ref(field), mended)
    await stage.eventually("it says that it is in order", lambda: says("True"))


def _ref(name: str) -> Ref:
    return kinds.PROVISIONERS.ref(name)


async def _provisioner(stage: Stage, name: str) -> Provisioner:
    (found,) = [one for one in await stage.listed(kinds.PROVISIONERS) if one.name == name]
    return found
