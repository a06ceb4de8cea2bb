"""The embedded API server behind a socket, just enough for our own client, and a small cluster.

Commands under test run as processes of their own, so they need a server that they can reach. (To be
replaced by the HTTP face of ``sim`` once there is one.)
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from aiohttp import web

from unmoor.cloud.catalogue import ec2_types
from unmoor.model import names
from unmoor.model.base import Ref
from unmoor.model.kinds import KINDS, Resource
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import ApiError, Bookmark, Change, DeleteOptions, Query
from unmoor.sim.actors.actor import Actor, Stage
from unmoor.sim.actors.budgets import Budgets
from unmoor.sim.actors.deployments import Deployments, ReplicaSets
from unmoor.sim.actors.kubelet import HOLLOW, HollowKubelets, KubeletDelays
from unmoor.sim.actors.machines import MachineDelays, Machines
from unmoor.sim.actors.nodelife import NodeLife
from unmoor.sim.actors.scheduler import Scheduler
from unmoor.sim.apiserver.server import Server
from unmoor.sim.direct import DirectApi

UNMOOR = Path(sys.executable).with_name("unmoor")
QUICK = KubeletDelays(boot_s=(0.1, 0.1), ready_s=(0.1, 0.1), start_s=(0.05, 0.1), stop_s=(0.1, 0.2))
_HOW = {
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/json-patch+json": "json",
    "application/apply-patch+yaml": "apply",
}


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Asked(NamedTuple):
    """A request as RBAC looks at it."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    @property
    def is_simulated(self) -> bool:
        """Only the simulated cloud asks for it."""
        return self.group == "sim.unmoor.dev" or self.namespace == "kube-system"


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
        """(method, kind) that are forbidden."""
        self.hung: set[str] = set()
        """Kinds that are not answered about any more, and how many wait."""
        self.waiting = 0
        self.asked: set[Asked] = set()
        """Every request, as RBAC would look at it."""

    def check(self, method: str, resource: Resource[Any]) -> None:
        if resource.kind in self.missing:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if (method, resource.kind) in self.refused:
            raise ApiError(403, "Forbidden", f"you may not {method} {resource.plural}")

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

    async def deployment(self, name: str, replicas: int, available: int | None = None) -> None:
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
                        "spec": {"containers": [{"name": "c", "image": "c"}]},
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
    cast: Sequence[Actor] = (
        HollowKubelets(stage, {shape.name: shape for shape in ec2_types()}, QUICK),
        Machines(stage, MachineDelays(launch_s=(0.1, 0.1), shut_down_s=(0.1, 0.1))),
        NodeLife(stage),
        Scheduler(stage),
        ReplicaSets(stage),
        Deployments(stage),
        Budgets(stage),
    )

    async def answer(request: web.Request) -> web.StreamResponse:
        return await _answer(built, request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    built.kubeconfig.write_text(json.dumps(_kubeconfig(url)))
    playing = asyncio.create_task(stage.run(cast))
    try:
        yield built
    finally:
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing
        await runner.cleanup()


def _kubeconfig(url: str) -> dict[str, Any]:
    return {
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


async def _answer(built: Cluster, request: web.Request) -> web.StreamResponse:
    resource, ref, subresource = _parsed(request.path)
    built.asked.add(_asked(request, resource, ref, subresource))
    if resource.kind in built.hung:
        built.waiting += 1
        await asyncio.Event().wait()
    try:
        built.check(request.method, resource)
        if request.query.get("watch") == "true":
            return await _watch(built, request, resource, ref)
        return web.json_response(await _served(built, request, resource, ref, subresource))
    except ApiError as error:
        told = {"reason": error.reason, "message": error.message, "code": error.code}
        return web.json_response({"kind": "Status", **told, **error.status}, status=error.code)


def _asked(request: web.Request, resource: Resource[Any], ref: Ref, subresource: str) -> Asked:
    verb = _VERBS.get(request.method, "")
    if not verb:
        verb = "watch" if request.query.get("watch") else "get" if ref.name else "list"
    what = f"{resource.plural}/{subresource}" if subresource else resource.plural
    # A list or watch of one name counts as asking for that name.
    field, _, name = request.query.get("fieldSelector", "").partition("=")
    named = ref.name or (name if field == "metadata.name" else "")
    return Asked(verb, resource.group, what, ref.namespace, named)


def _parsed(path: str) -> tuple[Resource[Any], Ref, str]:
    parts = path.strip("/").split("/")
    group = parts[1] if parts[0] == "apis" else ""
    rest = parts[3:] if group else parts[2:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource = next(r for r in KINDS.values() if (r.group, r.plural) == (group, rest[0]))
    name, subresource = [*rest[1:], "", ""][:2]
    return resource, Ref(resource.kind, name, namespace=namespace), subresource


def _query(request: web.Request, ref: Ref) -> Query:
    told = request.query
    return Query(
        namespace=ref.namespace,
        labels=told.get("labelSelector", ""),
        fields=told.get("fieldSelector", ""),
    )


async def _served(
    built: Cluster, request: web.Request, resource: Resource[Any], ref: Ref, subresource: str
) -> Any:
    body = json.loads(await request.read()) if request.can_read_body else {}
    is_dry = "dryRun" in request.query
    match request.method:
        case "GET" if ref.name:
            return built.server.get(ref)
        case "GET":
            page = built.server.list(resource, _query(request, ref))
            meta = {"resourceVersion": page.resource_version}
            return {"kind": "List", "metadata": meta, "items": list(page.items)}
        case "POST":
            named = ref if ref.name else Ref(ref.kind, body["metadata"]["name"], ref.namespace)
            return await built.api.create(named, body, subresource=subresource, dry_run=is_dry)
        case "PATCH":
            how: Any = _HOW[request.content_type]
            return await built.api.patch(ref, body, how=how, subresource=subresource)
        case _:
            asked = body.get("preconditions", {})
            options = DeleteOptions(
                uid=asked.get("uid", ""),
                grace_s=body.get("gracePeriodSeconds"),
                propagation=body.get("propagationPolicy", ""),
            )
            return await built.api.delete(ref, options)


async def _watch(
    built: Cluster, request: web.Request, resource: Resource[Any], ref: Ref
) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    raw = resource.raw()
    since = request.query["resourceVersion"]
    async for told in built.api.watch(raw, _query(request, ref), since=since):
        match told:
            case Change():
                line: Any = {"type": told.type, "object": told.object}
            case Bookmark():
                meta = {"resourceVersion": told.resource_version}
                line = {"type": "BOOKMARK", "object": {"metadata": meta}}
            case _:
                continue
        with suppress(ConnectionError):
            await response.write(json.dumps(line).encode() + b"\n")
    return response
