"""What a world gives its inhabitants beside the cast."""

import asyncio

from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model.kinds import JOBS
from unmoor.runtime.ports import Bookmark
from unmoor.sim import virtual
from unmoor.sim.world import World


def test_a_quiet_watch_hears_how_far_it_is() -> None:
    async def main() -> None:
        async with World(1, cloud=SimulatedCloud, shapes={}) as world:
            since = str(world.server.version)
            async for event in world.api.watch(JOBS, since=since):
                assert isinstance(event, Bookmark)
                assert asyncio.get_running_loop().time() == 60.0
                break

    virtual.run(main())
