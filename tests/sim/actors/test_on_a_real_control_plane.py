"""Machines and kubelets on a real control plane: its scheduler and controllers accept them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any

import pytest

from tests import controlplane
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.model.crds import all_crds
from unmoor.model.instance import LaunchRequest
from unmoor.model.kinds import DAEMON_SETS, DEPLOYMENTS, JOBS, LEASES, NODES, PODS
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Api, Query
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.kubelet import RUN_SECONDS, HollowKubelets, KubeletDelays
from unmoor.sim.actors.machines import MachineDelays, Machines

pytestmark = pytest.mark.e2e

MACHINES = MachineDelays(launch_s=(0.1, 0.3), shut_down_s=(0.1, 0.3))
KUBELETS = KubeletDelays(
    boot_s=(0.1, 0.3), ready_s=(0.1, 0.3), start_s=(0.1, 0.3), stop_s=(0.1, 0.3)
)
PATIENCE_S = 60.0
LOOK_AGAIN_S = 0.1
CLOSING_S = 0.1


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[controlplane.ControlPlane]:
    with controlplane.ControlPlane(directory=tmp_path_factory.mktemp("plane")) as up:
        up.wait_for_service_account()
        up.create(*all_crds())
        crds = [f"crd/{crd['metadata']['name']}" for crd in all_crds()]
        up.kubectl("wait", "--for=condition=Established", *crds)
        yield up


def template(app: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "metadata": {"labels": {"app": app}, "annotations": annotations or {}},
        "spec": {"containers": [container], **spec},
    }


def workloads() -> list[dict[str, Any]]:
    def selector(app: str) -> dict[str, Any]:
        return {"matchLabels": {"app": app}}

    specs: list[tuple[Any, str, dict[str, Any]]] = [
        (
            DEPLOYMENTS,
            "web",
            {"replicas": 4, "selector": selector("web"), "template": template("web")},
        ),
        (DAEMON_SETS, "log", {"selector": selector("log"), "template": template("log")}),
        (
            JOBS,
            "sum",
            {
                "completions": 2,
                "template": template(
                    "sum", annotations={RUN_SECONDS: "0.5"}, restartPolicy="Never"
                ),
            },
        ),
    ]
    return [
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
        for kind, name, spec in specs
    ]


async def eventually(probe: Callable[[], Awaitable[bool]]) -> None:
    clock = SystemClock()
    async with asyncio.timeout(PATIENCE_S):
        while not await probe():
            await clock.sleep(LOOK_AGAIN_S)


async def pods(api: Api, app: str) -> list[Any]:
    return list((await api.list(PODS, Query("default", labels=f"app={app}"))).items)


async def play(api: Api, cloud: SimulatedCloud, plane: controlplane.ControlPlane) -> None:
    made = [
        await cloud.create(LaunchRequest(token=f"t-{n}", cluster="real", machine=f"m-{n}"))
        for n in range(2)
    ]

    async def nodes_are_ready() -> bool:
        nodes = (await api.list(NODES)).items
        open_nodes = [node for node in nodes if node.is_ready and not node.spec.taints]
        return sorted(node.provider_id for node in open_nodes) == sorted(
            one.provider_id for one in made
        )

    await eventually(nodes_are_ready)
    plane.create(*workloads())

    async def everything_runs() -> bool:
        web, log = await pods(api, "web"), await pods(api, "log")
        job = await api.get(JOBS.ref("sum", "default"))
        is_done = job.get("status", {}).get("succeeded") == 2
        return is_done and [p.is_ready for p in (*web, *log)] == [True] * 6

    await eventually(everything_runs)
    gone = (await pods(api, "web"))[0]
    await api.delete(PODS.ref(gone.name, "default"))

    async def it_was_replaced() -> bool:
        web = await pods(api, "web")
        return gone.uid not in {p.uid for p in web} and [p.is_ready for p in web] == [True] * 4

    await eventually(it_was_replaced)
    lease = await api.get(LEASES.ref(made[0].provider_id.rpartition("/")[2], "kube-node-lease"))
    assert lease["metadata"]["ownerReferences"][0]["kind"] == "Node"


async def test_a_hollow_fleet_serves_a_real_cluster(plane: controlplane.ControlPlane) -> None:
    clock = SystemClock()
    types = {one.name: one for one in ec2_types()}
    chosen = config.load(path=str(plane.kubeconfig))
    async with KubeApi(chosen, clock=clock, random=Random(0)) as api:
        stage = Stage(api, clock, Random(0), at_once=16)
        cast = [Machines(stage, MACHINES), HollowKubelets(stage, types, KUBELETS)]
        playing = asyncio.create_task(stage.run(cast))
        try:
            await play(api, SimulatedCloud(api), plane)
        finally:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
        assert {key: text for one in cast for key, text in one.problems.items()} == {}
    # A cancelled watch closes its TLS connection in the background; the loop must outlive that.
    await clock.sleep(CLOSING_S)
