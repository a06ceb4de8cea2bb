"""A small cluster behind the HTTP face of the embedded API server, and what may go wrong with it.

Commands under test run as processes of their own, so they need a server that they can reach.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from unmoor.cloud.catalogue import ec2_types
from unmoor.model import names
from unmoor.model.base import Ref
from unmoor.model.kinds import KINDS
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import ApiError, Query
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.cast import everybody
from unmoor.sim.actors.kubelet import HOLLOW, HollowKubelets, KubeletDelays
from unmoor.sim.actors.machines import MachineDelays, Machines
from unmoor.sim.apiserver.server import Server
from unmoor.sim.direct import DirectApi
from unmoor.sim.http import Asked, HttpFace

UNMOOR = Path(sys.executable).with_name("unmoor")
QUICK = KubeletDelays(boot_s=(0.1, 0.1), ready_s=(0.1, 0.1), start_s=(0.05, 0.1), stop_s=(0.1, 0.2))


class Cluster:
    """A server, its address in a kubeconfig, and the API port to it for tests."""

    def __init__(self, directory: Path) -> None:
        clock = SystemClock()
        self.clock = clock
        self.server = Server(clock=lambda: clock.now().wall)
        self.api = DirectApi(self.server)
        self.kubeconfig = directory / "kubeconfig"
        self.missing: set[str] = set()
        """Kinds that are not served."""
        self.refused: set[tuple[str, str]] = set()
        """(verb, kind) that are forbidden."""
        self.hung: set[str] = set()
        """Kinds that are not answered about any more, and how many wait."""
        self.waiting = 0
        self.asked: set[Asked] = set()
        """Every request, as RBAC would look at it."""

    async def gate(self, asked: Asked) -> None:
        """Note the request, and do to it what the test has said."""
        self.asked.add(asked)
        if asked.kind in self.hung:
            self.waiting += 1
            await asyncio.Event().wait()
        if asked.kind in self.missing:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if (asked.verb, asked.kind) in self.refused:
            raise ApiError(403, "Forbidden", f"you may not {asked.verb} {asked.resource}")

    async def node(self, name: str) -> None:
        labels = {HOLLOW: names.TRUE, names.INSTANCE_TYPE: "m5.large"}
        body: dict[str, Any] = {"metadata": {"name": name, "labels": labels}}
        await self.api.create(Ref("Node", name), body)

    async def machine(self, name: str, *, cluster_name: str) -> None:
        """A Machine of the Provisioner "default", which is created first if need be."""
        if ("", "default") not in self.server.store.tables["Provisioner"].objects:
            spec: dict[str, Any] = {"providerRef": {"name": "any"}}
            provisioner = {"metadata": {"name": "default"}, "spec": spec}
            await self.api.create(Ref("Provisioner", "default"), provisioner)
        types = {"key": names.INSTANCE_TYPE, "operator": "In", "values": ["m5.large"]}
        meta = {
            "name": name,
            "labels": {names.PROVISIONER_NAME: "default"},
            "annotations": {names.MANAGED_BY: cluster_name},
        }
        body = {
            "metadata": meta,
            "spec": {"machineTemplateRef": {"name": "any"}, "requirements": [types]},
        }
        await self.api.create(Ref("Machine", name), body)

    async def deployment(
        self,
        name: str,
        replicas: int,
        available: int | None = None,
        volumes: Sequence[dict[str, Any]] = (),
    ) -> None:
        labels = {"app": name}
        await self.api.create(
            Ref("Deployment", name, namespace="default"),
            {
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {
                            "containers": [{"name": "c", "image": "c"}],
                            "volumes": [*volumes],
                        },
                    },
                },
            },
        )
        if available is not None:
            await self.api.create(
                Ref("PodDisruptionBudget", name, namespace="default"),
                {
                    "metadata": {"name": name, "namespace": "default"},
                    "spec": {"minAvailable": available, "selector": {"matchLabels": labels}},
                },
            )

    def running_on(self, node: str) -> list[str]:
        pods = self.server.list(KINDS["Pod"], Query(fields=f"spec.nodeName={node}")).items
        return [
            p["metadata"]["name"] for p in pods if p.get("status", {}).get("phase") == "Running"
        ]

    async def until(self, what: str, probe: Any, within_s: float = 20.0) -> None:
        ends_at = self.clock.now().mono + within_s
        pause_s = 0.05
        while not probe():
            assert self.clock.now().mono < ends_at, f"{what}: not within {within_s:g} s"
            await asyncio.sleep(pause_s)


@asynccontextmanager
async def cluster(directory: Path) -> AsyncIterator[Cluster]:
    """A cluster with a scheduler, controllers and hollow kubelets, behind a loopback port."""
    built = Cluster(directory)
    stage = Stage(built.api, built.clock, Random(0))
    types = {one.name: one for one in ec2_types()}
    machines = Machines(stage, MachineDelays(launch_s=(0.1, 0.1), shut_down_s=(0.1, 0.1)))
    cast = everybody(machines, HollowKubelets(stage, types, QUICK), built.server.resources)
    async with HttpFace(built.server, gate=built.gate) as face:
        built.kubeconfig.write_text(json.dumps(face.kubeconfig()))
        playing = asyncio.create_task(stage.run(cast))
        try:
            yield built
        finally:
            playing.cancel()
            with suppress(asyncio.CancelledError):
                await playing
