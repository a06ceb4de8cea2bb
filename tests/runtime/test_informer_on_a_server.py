"""The informer and the store against the simulated API server, on a bad way to it."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.scripted import passes
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import NODES
from unmoor.runtime.informer import Informer
from unmoor.runtime.ports import ApiError, PortError
from unmoor.runtime.store import Store
from unmoor.sim.apiserver.server import Server
from unmoor.sim.direct import DirectApi
from unmoor.sim.faults import ApiFaults, FaultyApi
from unmoor.sim.virtual import VirtualClock, run

CADENCE = Cadence()
STORM = ApiFaults(
    lost_request=(1, 5),
    server_error=(1, 5),
    too_many=(1, 10),
    slow=(1, 5),
    watch_cut=(1, 4),
    watch_expired=(1, 4),
    watch_late=(1, 4),
    watch_silent=(1, 6),
)


async def edit(api: DirectApi, dice: Random) -> None:
    """Somebody else adds, labels or removes a node; what is there already, or not, is fine."""
    ref = NODES.ref(dice.choice("abc"))
    label = {"metadata": {"labels": {"turn": f"{dice.random()}"}}}
    try:
        match dice.choice(["create", "patch", "patch", "delete"]):
            case "create":
                await api.create(ref, {"metadata": {"name": ref.name}})
            case "patch":
                await api.patch(ref, label)
            case _:
                await api.delete(ref)
    except ApiError as error:
        if error.code not in {404, 409}:
            raise


@given(st.integers(0, 2**32))
def test_after_the_storm_the_store_is_equal_to_the_server(seed: int) -> None:
    async def main() -> None:
        clock, dice, store = VirtualClock(), Random(seed), Store()
        api = DirectApi(Server(clock.wall, seed))
        way = FaultyApi(api, Random(seed + 1), clock, STORM)
        task = asyncio.create_task(Informer(way, store, clock, jitter=dice.random).run((NODES,)))
        for _ in range(30):
            await edit(api, dice)
            await passes(dice.choice([0.0, 0.1, 2.0, 100.0]))
            if dice.random() < 0.3:
                # Our own writes are folded, too, and must not confuse what the watch brings.
                try:
                    store.fold("Node", await way.get(NODES.ref(dice.choice("abc"))))
                except PortError:
                    continue
        way.calm()
        await passes(4 * CADENCE.watch_retry_most_s + CADENCE.watch_silence_s)
        page = await api.list(NODES)
        assert list(store.sorted(NODES)) == sorted(page.items, key=lambda node: node.name)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
