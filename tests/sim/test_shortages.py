"""What a cloud is out of follows the clock."""

from __future__ import annotations

import asyncio

from unmoor.model.cluster import SIMULATED_SHELF, UNAVAILABLE
from unmoor.sim import virtual
from unmoor.sim.apiserver import Server
from unmoor.sim.demands import Shortage
from unmoor.sim.direct import DirectApi
from unmoor.sim.shortages import Shortages
from unmoor.sim.virtual import EPOCH, VirtualClock


def test_each_begins_and_ends_in_its_time_and_all_end_at_once() -> None:
    drawn = (Shortage(10.0, 30.0, "m5.* * spot"), Shortage(20.0, 100.0, "* us-east-1a *"))

    async def play() -> list[str]:
        clock = VirtualClock(EPOCH)
        api = DirectApi(Server(clock=clock.wall, seed=1))
        shortages = Shortages(api, clock, drawn)
        going_on = asyncio.create_task(shortages.run())
        seen = []
        for at_s in (11.0, 22.0, 33.0):
            await clock.sleep(at_s - clock.now().mono)
            seen.append((await api.get(SIMULATED_SHELF))["data"][UNAVAILABLE])
        going_on.cancel()
        await shortages.end()
        seen.append((await api.get(SIMULATED_SHELF))["data"][UNAVAILABLE])
        return seen

    both = "m5.* * spot\n* us-east-1a *"
    assert virtual.run(play()) == ["m5.* * spot", both, "* us-east-1a *", ""]
