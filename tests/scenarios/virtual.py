"""The stage in virtual time: the embedded cluster, its whole cast, and unmoor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.scenarios import objects
from tests.scenarios.settings import SETTINGS
from tests.scenarios.stage import Stage
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.runtime.controller import Options
from unmoor.sim.actors.kubelet import KubeletDelays
from unmoor.sim.actors.machines import MachineDelays
from unmoor.sim.gate import Gate
from unmoor.sim.world import Delays, Process, World

QUICK = Delays(
    kubelet=KubeletDelays(
        boot_s=(0.2, 0.5), ready_s=(0.1, 0.3), start_s=(0.1, 0.3), stop_s=(0.1, 0.5)
    ),
    machine=MachineDelays(launch_s=(0.1, 0.3), shut_down_s=(0.2, 0.5), forget_s=(30.0, 30.0)),
)
"""How long the cast of a rehearsal takes, in virtual and in real time."""
NAMESPACE = "karpenter"
OUTAGE_S = 3.0


@asynccontextmanager
async def stage(seed: int = 0, *, process: type[Process] = Process) -> AsyncIterator[Stage]:
    """A stage with unmoor running on it."""
    types = {one.name: one for one in ec2_types()}
    async with World(seed, cloud=SimulatedCloud, types=types, delays=QUICK) as world:
        line = Gate(world.api)
        unmoor = process(world, Options(namespace=NAMESPACE), api=line, cloud=SimulatedCloud(line))

        async def restart_server() -> None:
            """Nobody answers for a while; then the history is gone, as after a real restart."""
            line.shut()
            world.server.close_watches()
            await world.clock.sleep(OUTAGE_S)
            world.server.compact()
            line.is_shut = False

        built = Stage(world.api, world.clock, world.cloud, unmoor, restart_server)
        async with running(built):
            yield built


@asynccontextmanager
async def running(built: Stage) -> AsyncIterator[None]:
    """Unmoor runs on a stage, with the settings of the scenarios, until left."""
    await built.apply(objects.namespace(NAMESPACE), objects.settings(NAMESPACE, **SETTINGS))
    await built.unmoor.start()
    try:
        yield
    finally:
        await built.unmoor.stop()
