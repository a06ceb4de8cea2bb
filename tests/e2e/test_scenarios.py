"""Every scenario on the real control plane, in real time: a hollow fleet, unmoor in process.

One control plane serves them all; each plays in a namespace of its own, one after the other, since
some of them kill unmoor.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests import controlplane
from tests.scenarios import objects
from tests.scenarios.scenarios import SCENARIOS
from tests.scenarios.settings import SETTINGS
from tests.scenarios.stage import Stage
from tests.scenarios.virtual import NAMESPACE, QUICK
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.model.crds import all_crds
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.controller import Controller, Options, Ports
from unmoor.runtime.executor import ThreadExecutor
from unmoor.runtime.ports import Api
from unmoor.runtime.reconcilers import RECONCILERS
from unmoor.runtime.recorder import EventRecorder
from unmoor.runtime.story import tell
from unmoor.sim.actors import actor
from unmoor.sim.actors.kubelet import HollowKubelets
from unmoor.sim.actors.machines import Machines
from unmoor.sim.gate import Gate

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[controlplane.ControlPlane]:
    """One control plane with our kinds and settings."""
    controlplane.binaries_or_skip()
    with controlplane.ControlPlane(directory=tmp_path_factory.mktemp("plane")) as up:
        up.wait_for_service_account()
        up.create(*all_crds())
        names = [crd["metadata"]["name"] for crd in all_crds()]
        up.kubectl("wait", "--for=condition=Established", *(f"crd/{name}" for name in names))
        up.create(objects.namespace(NAMESPACE)[1], objects.settings(NAMESPACE, **SETTINGS)[1])
        yield up


@pytest.mark.parametrize("name", sorted(SCENARIOS))
async def test_scenario(name: str, plane: controlplane.ControlPlane) -> None:
    """It holds on the real control plane."""
    async with _stage(plane) as stage:
        try:
            await SCENARIOS[name](stage)
        except AssertionError as error:
            assert isinstance(stage.unmoor, _RealProcess)
            error.add_note(stage.unmoor.story())
            error.add_note(plane.kubectl("get", "pods,nodes", "-A", "-o", "wide").stdout)
            error.add_note(plane.kubectl("get", "events", "-A").stdout)
            raise


class _RealProcess:
    """unmoor in this process, on its own tasks, over a gate that can be shut."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._gate = Gate(api)
        self._task: asyncio.Task[None] | None = None
        self._controller: Controller | None = None
        self._starts = 0

    def story(self) -> str:
        """What it did last: printed when a scenario fails."""
        return tell(self._controller.story.all()[-40:]) if self._controller else "not started"

    async def start(self) -> None:
        self._starts += 1
        clock = SystemClock()
        gate = self._gate = Gate(self._api)
        recorder = EventRecorder(gate, clock)
        controller = self._controller = Controller(
            Ports(
                api=gate,
                clock=clock,
                executor=ThreadExecutor(),
                recorder=recorder,
                cloud=SimulatedCloud(gate),
                jitter=Random(self._starts).random,
            ),
            Options(namespace=NAMESPACE, lease=None),
        )
        self._task = asyncio.create_task(self._run(controller, recorder))

    async def _run(self, controller: Controller, recorder: EventRecorder) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(recorder.run())
            await controller.run(RECONCILERS)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def kill(self) -> None:
        self._gate.shut()
        await self.stop()


@asynccontextmanager
async def _stage(plane: controlplane.ControlPlane) -> AsyncIterator[Stage]:
    clock = SystemClock()
    types = {one.name: one for one in ec2_types()}
    chosen = config.load(path=str(plane.kubeconfig))
    async with KubeApi(chosen, clock=clock, random=Random(0)) as api:
        cast = actor.Stage(api, clock, Random(1), at_once=16)
        playing = asyncio.create_task(
            cast.run([Machines(cast, QUICK.machine), HollowKubelets(cast, types, QUICK.kubelet)])
        )
        unmoor = _RealProcess(api)
        await unmoor.start()
        try:
            yield Stage(
                api,
                clock,
                SimulatedCloud(api),
                unmoor,
                lambda: asyncio.to_thread(plane.restart_apiserver),
            )
        finally:
            await unmoor.stop()
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
