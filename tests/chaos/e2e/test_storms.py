"""The same storms on the way to a real API server, and more of them than the daily ones."""

from __future__ import annotations

import asyncio
import gc
import random
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest

from tests import controlplane
from tests.chaos import hands, storms
from tests.chaos.far import Way, nothing_left
from tests.chaos.test_storms import ALONE, at_once
from tests.chaos.troubles import BEFORE_A_LINE, IN_A_LINE, WIRE, Trouble
from tests.controlplane import ControlPlane
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.lifecycle.effects import Delete, Evict
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Api

pytestmark = pytest.mark.timeout(300)

BATCHES = [range(at, at + 12) for at in range(100, 160, 12)]
LEFT_MOST_BYTES = 2**20
"""What a dozen storms may leave in memory: caches that have grown, and nothing of any storm."""


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(components=()) as started:
        yield started


@pytest.fixture
def way(plane: ControlPlane) -> Way:
    port = int(plane.url.rpartition(":")[2])
    return Way(port, plane.ca_file.read_text(), controlplane.ADMIN_TOKEN)


@pytest.fixture
async def direct(plane: ControlPlane) -> AsyncIterator[Api]:
    access = config.load(path=str(plane.kubeconfig))
    async with KubeApi(access, clock=SystemClock(), random=random.Random(1)) as api:
        await hands.clear(api)
        yield api


# ------------------------------------------------------------------------------- a real API server


@pytest.mark.parametrize("seed", range(1, 13))
async def test_after_a_storm_the_view_equals_the_server(way: Way, direct: Api, seed: int) -> None:
    async with nothing_left():
        await storms.storm(way, direct, seed)


LATER = {
    "earlier on the wire": [("wire", Trouble(what, 500)) for what in WIRE],
    "later in the watch": [("watch", Trouble(what, 1)) for what in (*IN_A_LINE, *BEFORE_A_LINE)],
}


@pytest.mark.parametrize("where", ALONE | LATER)
async def test_no_trouble_alone_has_lasting_consequences(way: Way, direct: Api, where: str) -> None:
    async with nothing_left():
        await storms.alone(way, direct, (ALONE | LATER)[where])


@pytest.mark.parametrize("seed", range(1, 5))
async def test_every_number_is_written_once(way: Way, direct: Api, seed: int) -> None:
    async with nothing_left():
        await storms.counted(way, direct, seed)


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("how", [Delete, Evict])
async def test_who_comes_after_a_pod_under_its_name_stays(
    way: Way, direct: Api, seed: int, how: type[Delete | Evict]
) -> None:
    async with nothing_left():
        await storms.sent_away(way, direct, seed, how)


async def test_a_server_that_restarts_in_the_storm(
    plane: ControlPlane, way: Way, direct: Api
) -> None:
    async def restart() -> None:
        await asyncio.to_thread(plane.restart_apiserver)

    async with nothing_left():
        await storms.storm(way, direct, 99, in_the_middle=restart)


# ------------------------------------------------------------------------------------ many of them


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
async def test_more_storms(seeds: range) -> None:
    await at_once(partial(storms.storm, seed=seed) for seed in seeds)


async def test_storms_leave_nothing_in_memory() -> None:
    await at_once(partial(storms.storm, seed=seed) for seed in BATCHES[0])
    tracemalloc.start()
    try:
        sizes = []
        for seeds in BATCHES[1:3]:
            await at_once(partial(storms.storm, seed=seed) for seed in seeds)
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()

    assert sizes[1] - sizes[0] < LEFT_MOST_BYTES
