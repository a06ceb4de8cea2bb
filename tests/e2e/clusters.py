"""The two clusters before which kubectl is put: the embedded one, by its HTTP face, and a real one.

On both, hollow kubelets run the pods; on the embedded one a cast stands in for the controllers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager as Opened
from pathlib import Path
from random import Random
from typing import Any

from tests import controlplane
from tests.controlplane import ControlPlane
from tests.e2e.kubectl import Kubectl, Said
from unmoor.cloud.catalogue import ec2_types
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.runtime.clock import SystemClock
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.cast import controllers
from unmoor.sim.actors.garbage import GarbageCollector
from unmoor.sim.actors.kubelet import HollowKubelets, KubeletDelays
from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.direct import DirectApi
from unmoor.sim.http import HttpFace

CLOSING_S = 0.1
QUICK = KubeletDelays(
    boot_s=(0.1, 0.1), ready_s=(0.1, 0.1), start_s=(0.05, 0.1), stop_s=(0.05, 0.1)
)
Script = Callable[[Kubectl], Awaitable[None]]


def _kubelets(stage: Stage) -> HollowKubelets:
    return HollowKubelets(stage, {one.name: one for one in ec2_types()}, QUICK)


@contextlib.asynccontextmanager
async def _played(*tasks: Any) -> AsyncIterator[None]:
    playing = [asyncio.ensure_future(one) for one in tasks]
    try:
        yield
    finally:
        for one in playing:
            one.cancel()
        await asyncio.gather(*playing, return_exceptions=True)


@contextlib.asynccontextmanager
async def embedded(directory: Path, namespace: str) -> AsyncIterator[Kubectl]:
    """Our cluster, with a cast that does what a real one's controllers do."""
    clock = SystemClock()
    server = Server(lambda: clock.now().wall, seed=1, manners=FAITHFUL)
    api = DirectApi(server)
    stage = Stage(api, clock, Random(0))
    async with HttpFace(server) as face:
        kubeconfig = directory / "embedded" / "kubeconfig"
        kubeconfig.parent.mkdir()
        kubeconfig.write_text(json.dumps(face.kubeconfig()))
        kubectl = Kubectl(controlplane.binaries_or_skip() / "kubectl", kubeconfig, namespace)
        cast = [_kubelets(stage), *controllers(stage, server.resources)]
        async with _played(
            stage.run(cast), GarbageCollector(api, clock, resources=server.kinds).run()
        ):
            made = await kubectl.quietly(f"create namespace {namespace}")
            assert made.code == 0, made
            yield kubectl


@contextlib.asynccontextmanager
async def real(plane: ControlPlane, directory: Path, namespace: str) -> AsyncIterator[Kubectl]:
    """A real cluster, with hollow kubelets only."""
    clock = SystemClock()
    kubeconfig = directory / "real" / "kubeconfig"
    kubeconfig.parent.mkdir()
    kubeconfig.write_text(plane.kubeconfig.read_text())
    kubectl = Kubectl(plane.binaries / "kubectl", kubeconfig, namespace)
    access = config.load(path=str(plane.kubeconfig))
    async with KubeApi(access, clock=clock, random=Random(0)) as api:
        stage = Stage(api, clock, Random(0), at_once=16)
        async with _played(stage.run([_kubelets(stage)])):
            made = await kubectl.quietly(f"create namespace {namespace}")
            assert made.code == 0, made
            await kubectl.until("default", "get serviceaccounts")
            try:
                yield kubectl
            finally:  # The next script finds none of this.
                await kubectl.quietly(f"delete namespace {namespace} --wait=false")
                await kubectl.quietly("delete nodes,machines,disruptions,provisioners --all")
    # A cancelled watch closes its TLS connection in the background; the loop must outlive that.
    await clock.sleep(CLOSING_S)


async def told(cluster: Opened[Kubectl], script: Script) -> list[Said]:
    """What kubectl says on a cluster when it runs a script."""
    async with cluster as kubectl:
        await script(kubectl)
        return kubectl.said
