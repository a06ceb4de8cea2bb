"""Kinds that are only stored belong to owners and to namespaces like all others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model.base import JSON
from unmoor.model.kinds import KINDS, NAMESPACES, STORAGE_CLASSES
from unmoor.runtime.controller import WATCHED
from unmoor.runtime.ports import ApiError
from unmoor.sim import virtual
from unmoor.sim.apiserver import EASY, ROOMY, Server
from unmoor.sim.stored import SERVED, STORED
from unmoor.sim.world import World

OWNER = STORAGE_CLASSES.ref("owner")
NAMED: JSON = {"metadata": {"name": "a"}}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SETTLED_S = 30.0


def lived(scene: Any) -> None:
    async def live() -> None:
        async with World(1, cloud=SimulatedCloud, types={}, manners=ROOMY) as world:
            await scene(world)

    virtual.run(live())


@pytest.mark.parametrize("kind", STORED)
def test_they_go_with_their_owner(kind: str) -> None:
    ref = STORED[kind].ref("a", "default" if STORED[kind].is_namespaced else "")

    async def scene(world: World) -> None:
        owner = await world.api.create(OWNER, {"metadata": {"name": "owner"}, "provisioner": "a.b"})
        reference = {
            "apiVersion": STORAGE_CLASSES.api_version,
            "kind": OWNER.kind,
            "name": OWNER.name,
            "uid": owner["metadata"]["uid"],
        }
        meta = {"name": "a", "ownerReferences": [reference]}
        await world.api.create(ref, {"metadata": meta})
        await world.clock.sleep(SETTLED_S)
        assert world.server.has(ref)
        await world.api.delete(OWNER)
        await world.clock.sleep(SETTLED_S)
        assert not world.server.has(ref)

    lived(scene)


def test_they_go_with_their_namespace() -> None:
    inside = [one for one in STORED.values() if one.is_namespaced]

    async def scene(world: World) -> None:
        await world.api.create(NAMESPACES.ref("shop"), {"metadata": {"name": "shop"}})
        for one in inside:
            await world.api.create(one.ref("a", "shop"), NAMED)
        await world.api.delete(NAMESPACES.ref("shop"))
        await world.clock.sleep(SETTLED_S)
        assert not world.server.has(NAMESPACES.ref("shop"))
        assert [one.kind for one in inside if world.server.has(one.ref("a", "shop"))] == []

    lived(scene)


def test_worlds_that_do_without_have_none_and_unmoor_never_looks() -> None:
    server = Server(lambda: NOW, manners=EASY)

    with pytest.raises(ApiError):
        server.has(STORED["Service"].ref("a", "default"))
    assert not STORED.keys() & KINDS.keys()
    assert SERVED.keys() == STORED.keys() | KINDS.keys()
    assert not {one.kind for one in WATCHED} & STORED.keys()
