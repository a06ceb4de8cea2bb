"""An embedded cluster in virtual time with just the actors that a test names."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, ParamSpec

from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model import kinds
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.runtime.ports import Api, ApiError, DeleteOptions, Query
from unmoor.sim import virtual
from unmoor.sim.actors.actor import Actor, Stage
from unmoor.sim.actors.kubelet import HOLLOW
from unmoor.sim.apiserver import Server
from unmoor.sim.direct import DirectApi

P = ParamSpec("P")
TYPES_BY_NAME = {one.name: one for one in ec2_types()}
PATIENCE_S = 3600.0
LOOK_AGAIN_S = 0.25


def in_virtual_time(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a test's coroutine on the loop that jumps."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def main() -> None:
            await test(*args, **kwargs)

        virtual.run(main())

    return run


class Cluster:
    """What a test does to the cluster, and what it sees."""

    def __init__(
        self,
        seed: int = 0,
        wrap: Callable[[Api, virtual.VirtualClock], Api] | None = None,
        *,
        at_once: int = 1,
    ) -> None:
        self.clock = virtual.VirtualClock()
        self.server = Server(clock=self.clock.wall, seed=seed)
        self.api: Api = DirectApi(self.server)
        over = wrap(self.api, self.clock) if wrap else self.api
        self.stage = Stage(over, self.clock, Random(seed), at_once=at_once)
        self.cloud = SimulatedCloud(self.api)

    @asynccontextmanager
    async def playing(self, *actors: Actor) -> AsyncIterator[None]:
        """With these actors on stage. What they crashed of is heard at the end."""
        task = asyncio.create_task(self.stage.run(actors))
        try:
            yield
        finally:
            task.cancel()
            (result,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(result, Exception):
            raise result

    @property
    def now_s(self) -> float:
        return self.clock.now().mono

    async def wait(self, seconds: float) -> None:
        """Let virtual time pass."""
        await self.clock.sleep(seconds)

    async def until(self, probe: Callable[[], Any], within_s: float = PATIENCE_S) -> Any:
        """Wait until ``probe`` is true-ish; return what it said."""
        deadline = self.now_s + within_s
        while not (answer := probe()):
            assert self.now_s < deadline, f"still {answer!r} after {within_s} s"
            await self.wait(LOOK_AGAIN_S)
        return answer

    async def create(self, resource: Resource[Any], name: str, spec: JSON, **metadata: Any) -> JSON:
        namespace = "default" if resource.is_namespaced else ""
        meta = {"name": name, **({"namespace": namespace} if namespace else {}), **metadata}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
        return await self.api.create(resource.ref(name, namespace), {**body, "spec": spec})

    async def add_node(self, name: str, cpu: str = "4", **labels: str) -> None:
        """A node that the hollow kubelets play, ready from the start."""
        room = {"cpu": cpu, "memory": "16Gi", "pods": "20"}
        await self.api.create(
            kinds.NODES.ref(name),
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {HOLLOW: "true", **labels}},
                "status": {
                    "capacity": room,
                    "allocatable": room,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            },
        )
        # The server marks every new node not ready; this one is past that.
        await self.patch(kinds.NODES.ref(name), {"spec": {"taints": None}})

    async def add_pod(self, name: str, node: str = "", app: str = "", **options: Any) -> None:
        template = pod_template(app or name, **options)
        spec = {**template["spec"], **({"nodeName": node} if node else {})}
        await self.create(kinds.PODS, name, spec, **template["metadata"])

    async def patch(self, ref: Ref, body: JSON, subresource: str = "") -> None:
        await self.api.patch(ref, body, subresource=subresource)

    async def delete(self, ref: Ref, grace_s: int | None = None) -> None:
        await self.api.delete(ref, DeleteOptions(grace_s=grace_s))

    def find(self, ref: Ref) -> JSON | None:
        try:
            return self.server.get(ref)
        except ApiError:
            return None

    def status(self, resource: Resource[Any], name: str) -> JSON:
        namespace = "default" if resource.is_namespaced else ""
        found: JSON = (self.find(resource.ref(name, namespace)) or {}).get("status") or {}
        return found

    def node(self, name: str) -> Node | None:
        return self.stage.store.node(name)

    def pod(self, name: str) -> Pod | None:
        return self.stage.store.get(kinds.PODS, name, "default")

    def pods(self, app: str = "") -> Sequence[Pod]:
        return [
            pod
            for pod in self.stage.store.sorted(kinds.PODS)
            if not app or pod.metadata.labels.get("app") == app
        ]

    def running(self, app: str) -> list[str]:
        return [pod.name for pod in self.pods(app) if pod.is_ready and not pod.is_deleting]

    async def listed(self, resource: Resource[Any], labels: str = "") -> Sequence[Any]:
        return (await self.api.list(resource, Query(labels=labels))).items


def pod_template(
    app: str, *, cpu: str = "100m", annotations: dict[str, str] | None = None, **spec: Any
) -> JSON:
    container = {
        "name": "main",
        "image": "none",
        "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}},
    }
    return {
        "metadata": {"labels": {"app": app}, "annotations": annotations or {}},
        "spec": {"containers": [container], **spec},
    }


def workload(app: str, replicas: int | None = None, **template: Any) -> JSON:
    """The spec of a Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    spec: JSON = {
        "selector": {"matchLabels": {"app": app}},
        "template": pod_template(app, **template),
    }
    return spec if replicas is None else {**spec, "replicas": replicas}
