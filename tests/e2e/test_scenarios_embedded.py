"""Every scenario on the embedded cluster, over HTTPS: unmoor, its cloud and the people are clients.

Only the cast lives inside. Sockets, TLS and the client are those of production; the cluster's time,
which everybody shares, is faster than the machine's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from tests.scenarios.scenarios import SCENARIOS
from tests.scenarios.stage import Stage
from tests.scenarios.virtual import NAMESPACE, OUTAGE_S, QUICK, running
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.kube import config
from unmoor.kube.access import Config
from unmoor.kube.client import KubeApi
from unmoor.runtime.controller import Options
from unmoor.runtime.story import tell
from unmoor.sim import paced
from unmoor.sim.apiserver import FAITHFUL
from unmoor.sim.gate import Gate
from unmoor.sim.http import HttpFace
from unmoor.sim.http.face import Settings
from unmoor.sim.world import Process, World

pytestmark = pytest.mark.e2e
SPEED = 4.0
"""Simulated seconds in one of the machine's."""


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenario(name: str, tmp_path: Path) -> None:
    """It holds when every word goes over the wire."""

    async def play() -> None:
        paced.running().speed = SPEED
        async with _stage(tmp_path / "kubeconfig") as stage:
            try:
                await SCENARIOS[name](stage)
            except AssertionError as error:
                error.add_note(_story(stage))
                raise

    paced.run(play())


def _story(stage: Stage) -> str:
    """What unmoor did last."""
    assert isinstance(stage.unmoor, Process)
    controller = stage.unmoor.controller
    return tell(controller.story.all()[-40:]) if controller else "not started"


def _chosen(face: HttpFace, file: Path) -> Config:
    """What a client makes of the kubeconfig that the face offers."""
    file.write_text(json.dumps(face.kubeconfig()))
    return config.load(path=str(file))


@asynccontextmanager
async def _stage(kubeconfig: Path) -> AsyncIterator[Stage]:
    types = {one.name: one for one in ec2_types()}
    world = World(0, cloud=SimulatedCloud, types=types, delays=QUICK, manners=FAITHFUL)
    async with HttpFace(world.server, clock=world.clock, settings=Settings(pace=SPEED)) as face:
        chosen = _chosen(face, kubeconfig)
        async with world, KubeApi(chosen, clock=world.clock, random=Random(0)) as api:
            line = Gate(api)
            unmoor = Process(
                world, Options(namespace=NAMESPACE), api=line, cloud=SimulatedCloud(line)
            )

            async def restart_server() -> None:
                """Nobody listens for a while; then the history is gone, as after a real restart."""
                await face.stop()
                await asyncio.sleep(OUTAGE_S)
                world.server.compact()
                await face.start()

            built = Stage(api, world.clock, SimulatedCloud(api), unmoor, restart_server)
            async with running(built):
                yield built
