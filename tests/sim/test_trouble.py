"""Faults by name: every one happens, is told, and leaves a cluster that comes to rest."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from unmoor.app import loading, manifests
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model.kinds import NODES
from unmoor.runtime.controller import Options
from unmoor.sim import manifests as manifest
from unmoor.sim import trouble, virtual
from unmoor.sim.trouble import ABOUT, CHANCES, MISHAPS, Trouble, chosen
from unmoor.sim.world import Process, World

BOOT_S = 120.0
LONG_S = 3 * 3600.0
LAUNCHES = 12
OFTEN = 6


def test_groups_stand_for_their_faults_in_the_order_of_the_list() -> None:
    assert chosen(["node-dies"]) == ("node-dies",)
    assert chosen(["server", "node"]) == ("node-dies", "node-silent", "server-restart")
    assert chosen(["all"]) == tuple(ABOUT)
    assert chosen([]) == ()
    with pytest.raises(KeyError, match="nodes"):
        chosen(["api", "nodes"])


def test_what_befalls_unmoor_is_known() -> None:
    outside = [name for name in ABOUT if not trouble.needs_unmoor(name)]

    assert outside == ["node-dies", "node-silent", "server-restart"]


def lived(names: tuple[str, ...], seconds: float) -> tuple[dict[str, int], list[str]]:
    """How often each fault happened, and what was told."""
    told: list[str] = []

    async def live() -> dict[str, int]:
        types = {one.name: one for one in ec2_types()}
        world = World(1, cloud=SimulatedCloud, types=types)
        await loading.load(
            world.server, manifests.read(manifests.shipped("three-zones")), cluster="sim"
        )
        made = Trouble(names, world, Random(1), told.append)
        process = made.process = Process(
            world, Options(), api=made.api(world.api), cloud=made.cloud(world.cloud)
        )
        async with world:
            await process.start()
            await world.clock.sleep(BOOT_S)
            assert made.counts() == {}, "nothing happens before it runs"
            happening = asyncio.create_task(made.run())
            await world.clock.sleep(2 * trouble.FIRST_AFTER_S)
            for number in range(LAUNCHES):
                ref, body = manifest.machine(
                    f"late-{number}", "general", cluster="sim", types=("m5.large",)
                )
                await world.api.create(ref, body)
            await world.clock.sleep(seconds / 2)
            for node in world.server.list(NODES).items:
                await world.api.delete(NODES.ref(node["metadata"]["name"]))
            await world.clock.sleep(seconds / 2)
            assert not happening.done()
            happening.cancel()
            await process.kill()
        return made.counts()

    return virtual.run(live()), told


@pytest.mark.parametrize("name", sorted(MISHAPS))
def test_a_mishap_happens_again_and_again_and_is_told(name: str) -> None:
    counts, told = lived((name,), LONG_S)

    assert counts == {name: len(told)}
    assert len(told) >= OFTEN


@pytest.mark.parametrize("group", ["api", "cloud"])
def test_calls_meet_the_chosen_faults_and_no_others(group: str) -> None:
    counts, told = lived(chosen([group, "unmoor-crash"]), LONG_S)

    expected = {name for name in CHANCES if name.startswith(f"{group}-")}
    assert set(counts) - {"unmoor-crash"} == expected
    assert told
