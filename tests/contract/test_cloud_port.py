"""Each cloud does what the port promises: the cases of ``cloud_port`` on every provider.

The simulated cloud plays them in virtual time on the embedded server and, as an end-to-end test, in
real time on a real control plane. A further provider adds a factory and a test here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests import controlplane
from tests.contract import cloud_launching, cloud_living  # noqa: F401 - for their cases
from tests.contract.cloud_port import CASES, Ground
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.model.base import JSON
from unmoor.model.cluster import SIMULATED_SHELF, UNAVAILABLE
from unmoor.model.crds import all_crds
from unmoor.model.kinds import INSTANCES
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Api, ApiError, Clock, Cloud
from unmoor.sim import virtual
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.machines import MachineDelays, Machines
from unmoor.sim.apiserver import Server
from unmoor.sim.direct import DirectApi

CLOSING_S = 0.1
QUICK = MachineDelays(launch_s=(0.2, 0.5), shut_down_s=(0.2, 0.5))


class SimulatedGround:
    """The simulated cloud over any API, with its machines playing."""

    zones = tuple(sorted({one.zone for kind in ec2_types() for one in kind.offerings}))

    def __init__(self, api: Api, clock: Clock, cluster: str) -> None:
        self.cloud: Cloud = SimulatedCloud(api)
        self.clock = clock
        self.cluster = cluster
        self.api = api

    async def sell_out(self, instance_type: str, zone: str, capacity_type: str) -> None:
        line = f"{instance_type} {zone} {capacity_type}"
        await self._stock({UNAVAILABLE: line})

    async def restock(self) -> None:
        await self._stock({UNAVAILABLE: ""})

    async def pull_the_plug(self, provider_id: str) -> None:
        await self.api.delete(INSTANCES.ref(provider_id.rpartition("/")[2]))

    async def _stock(self, data: JSON) -> None:
        ref = SIMULATED_SHELF
        meta = {"name": ref.name, "namespace": ref.namespace}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
        try:
            await self.api.create(ref, body)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            await self.api.patch(ref, {"data": data})


@asynccontextmanager
async def simulated_over(api: Api, clock: Clock, cluster: str) -> AsyncIterator[Ground]:
    stage = Stage(api, clock, Random(0))
    playing = asyncio.create_task(stage.run([Machines(stage, QUICK)]))
    try:
        yield SimulatedGround(api, clock, cluster)
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


@pytest.mark.parametrize("name", CASES)
def test_simulated(name: str) -> None:
    async def play() -> None:
        clock = virtual.VirtualClock()
        api = DirectApi(Server(clock=clock.wall, seed=0))
        async with simulated_over(api, clock, "harbour") as ground:
            await CASES[name](ground)

    virtual.run(play())


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[controlplane.ControlPlane]:
    directory = tmp_path_factory.mktemp("plane")
    with controlplane.ControlPlane(directory=directory, components=()) as up:
        up.create(*all_crds())
        crds = [f"crd/{crd['metadata']['name']}" for crd in all_crds()]
        up.kubectl("wait", "--for=condition=Established", *crds)
        yield up


@pytest.mark.e2e
@pytest.mark.parametrize("name", CASES)
async def test_simulated_on_a_real_control_plane(
    name: str, plane: controlplane.ControlPlane
) -> None:
    clock = SystemClock()
    chosen = config.load(path=str(plane.kubeconfig))
    async with (
        KubeApi(chosen, clock=clock, random=Random(0)) as api,
        simulated_over(api, clock, f"harbour-{name}") as ground,
    ):
        await ground.restock()
        await CASES[name](ground)
    # A cancelled watch closes its TLS connection in the background; the loop must outlive that.
    await clock.sleep(CLOSING_S)
