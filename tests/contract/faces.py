"""The faces of the Kubernetes port that the contract suite runs on, and what its cases are made of.

A face is an ``Api`` and nothing else: no case asks which one it has. `direct` is our embedded
server without a wire; `http` is our HTTP client in front of it, `real` in front of a real API
server. The real one is right by definition: a case that fails on it is a wrong case.
"""

import asyncio
import contextlib
import functools
import itertools
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager as Opened
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

import pytest

from tests import controlplane
from tests.controlplane import ControlPlane
from unmoor.kube import config
from unmoor.kube.access import Config
from unmoor.kube.auth import Secret, Token
from unmoor.kube.client import KubeApi
from unmoor.model.base import JSON, Ref
from unmoor.model.crds import all_crds
from unmoor.model.kinds import (
    BUDGETS,
    CONFIG_MAPS,
    INSTANCES,
    KINDS,
    MACHINES,
    NAMESPACES,
    NODES,
    PODS,
    Resource,
)
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Api, ApiError, Change, DeleteOptions, Query, WatchEvent
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.garbage import GarbageCollector
from unmoor.sim.actors.namespaces import Namespaces
from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.direct import DirectApi
from unmoor.sim.http import HttpFace

T = TypeVar("T")
Open: TypeAlias = Callable[[], Opened[Api]]

FACES = ["direct", "http", pytest.param("real", marks=pytest.mark.e2e)]
PATIENCE_S = 20.0
"""For what a real server does in its own time."""


TEMPLATE: JSON = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "img:1"}]},
}
WORKLOAD: JSON = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


# -------------------------------------------------------------------------------------- the faces


def wall() -> datetime:
    """The embedded server's clock: real time, so that both faces tell plausible times."""
    return datetime.now(UTC)  # noqa: TID251 - a server has a clock


@contextlib.asynccontextmanager
async def direct() -> AsyncIterator[Api]:
    """The embedded server, without a wire."""
    yield DirectApi(Server(wall, seed=1, manners=FAITHFUL))


@contextlib.asynccontextmanager
async def http() -> AsyncIterator[Api]:
    """The embedded server behind a port, and our HTTP client in front of it."""
    async with HttpFace(Server(wall, seed=1, manners=FAITHFUL)) as face:
        access = Config(server=face.url, auth=Token(Secret(face.token)), authority=face.ca_pem)
        async with KubeApi(access, clock=SystemClock(), random=random.Random(1)) as api:
            yield api


def collected(face: Open) -> Open:
    """The same with our garbage collector at work, and who empties namespaces."""

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Api]:
        async with face() as api:
            stage = Stage(api, SystemClock(), random.Random(1))
            tasks = [
                asyncio.create_task(
                    GarbageCollector(api, SystemClock(), resources=KINDS.values()).run()
                ),
                asyncio.create_task(stage.run([Namespaces(stage)])),
            ]
            try:
                yield api
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    return opened


EMBEDDED: dict[str, Open] = {"direct": direct, "http": http}


def real(plane: ControlPlane) -> Open:
    """Our HTTP client in front of a real API server."""

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Api]:
        access = config.load(path=str(plane.kubeconfig))
        async with KubeApi(access, clock=SystemClock(), random=random.Random(1)) as api:
            yield api

    return opened


def _is_served(plane: ControlPlane, definition: JSON) -> bool:
    """An established kind is not served yet: its storage has to come up."""
    name = definition["metadata"]["name"]
    return plane.kubectl("get", name, check=False).returncode == 0


@contextlib.contextmanager
def real_plane(*, collects_garbage: bool = False) -> Iterator[ControlPlane]:
    """A real API server that knows our kinds, alone or with two controllers that clean up."""
    only = ["--controllers=garbage-collector-controller,namespace-controller"]
    with ControlPlane(components=(), extra_args={"kube-controller-manager": only}) as plane:
        plane.create(*all_crds())
        plane.kubectl("wait", "--for=condition=Established", "--all", "crd", "--timeout=20s")
        for definition in all_crds():
            controlplane.eventually("served kind", functools.partial(_is_served, plane, definition))
        if collects_garbage:  # It looks for new kinds at its start, and then every 30 s.
            plane.start_component("kube-controller-manager")
        yield plane


# ------------------------------------------------------------------------------- where a case plays

_numbers = itertools.count(1)


class Place:
    """A namespace of its own, and a label that no other case uses: many cases share a server."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.unique = f"c{next(_numbers)}"
        self.namespace = f"ns-{self.unique}"
        self.labels = {"case": self.unique}
        self.selection = Query(labels=f"case={self.unique}")

    async def enter(self) -> None:
        await self.create(NAMESPACES, {"metadata": {"name": self.namespace}})

    def name(self, stem: str) -> str:
        """A cluster-wide name that is this case's own."""
        return f"{stem}-{self.unique}"

    def ref(self, resource: Resource[Any], name: str) -> Ref:
        return resource.ref(name, self.namespace if resource.is_namespaced else "")

    async def create(self, resource: Resource[Any], body: JSON, *, dry_run: bool = False) -> JSON:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        ref = self.ref(resource, body["metadata"].get("name", ""))
        return await self.api.create(ref, body, dry_run=dry_run)

    async def node(self, stem: str = "node", **parts: Any) -> Ref:
        meta = {"name": self.name(stem), "labels": self.labels, **parts.pop("metadata", {})}
        await self.create(NODES, {"metadata": meta, **parts})
        return NODES.ref(meta["name"])

    async def config_map(self, name: str = "config", **meta: Any) -> Ref:
        labels = self.labels
        body = {"metadata": {"name": name, "labels": labels, **meta}, "data": {"a": "1"}}
        await self.create(CONFIG_MAPS, body)
        return self.ref(CONFIG_MAPS, name)

    async def machine(self, stem: str = "machine", **parts: Any) -> Ref:
        meta = {"name": self.name(stem), "labels": self.labels, **parts.pop("metadata", {})}
        await self.create(MACHINES, {"metadata": meta, "spec": parts.pop("spec", {}), **parts})
        return MACHINES.ref(meta["name"])

    async def instance(self, stem: str, **parts: Any) -> Ref:
        meta: JSON = {"name": self.name(stem), "labels": self.labels}
        await self.create(INSTANCES, {"metadata": meta, **parts})
        return INSTANCES.ref(meta["name"])

    async def pod(self, name: str = "pod", *, phase: str = "", **parts: Any) -> Ref:
        """A pod; with a phase it is on a node, too, and ready if it runs."""
        meta = {"name": name, "labels": self.labels, **parts.pop("metadata", {})}
        spec = {"containers": [{"name": "main", "image": "img:1"}], **parts.pop("spec", {})}
        if phase:
            spec.setdefault("nodeName", "somewhere")
        await self.create(PODS, {"metadata": meta, "spec": spec})
        ref = self.ref(PODS, name)
        if phase:
            ready = "True" if phase == "Running" else "False"
            conditions = [{"type": "Ready", "status": ready}]
            await self.set_status(ref, {"phase": phase, "conditions": conditions})
        return ref

    async def budget(self, name: str = "budget", *, lag: bool = False, **parts: Any) -> Ref:
        """A budget over the pods of this case; its status as the controller would write it."""
        spec = {"minAvailable": 1, "selector": {"matchLabels": self.labels}}
        spec |= parts.pop("spec", {})
        created = await self.create(BUDGETS, {"metadata": {"name": name}, "spec": spec})
        ref = self.ref(BUDGETS, name)
        counted = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
        generation = 0 if lag else created["metadata"]["generation"]
        status = {"observedGeneration": generation, "expectedPods": 2, **counted, **parts}
        await self.set_status(ref, status)
        return ref

    async def set_status(self, ref: Ref, status: JSON) -> JSON:
        return await self.api.patch(ref, {"status": status}, subresource="status")

    async def evict(self, pod: Ref, **options: Any) -> JSON:
        body: JSON = {"apiVersion": "policy/v1", "kind": "Eviction"}
        body["metadata"] = {"name": pod.name, "namespace": pod.namespace}
        dry_run = options.pop("dry_run", False)
        if options:
            body["deleteOptions"] = options
        return await self.api.create(pod, body, subresource="eviction", dry_run=dry_run)

    async def bind(self, pod: Ref, node: str, **meta: Any) -> JSON:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, **meta},
            "target": {"kind": "Node", "name": node},
        }
        return await self.api.create(pod, body, subresource="binding")

    async def delete(self, ref: Ref, **options: Any) -> JSON:
        return await self.api.delete(ref, DeleteOptions(**options))


# -------------------------------------------------------------------------------- what a case asks


async def refused(case: Any) -> ApiError:
    """The server's no to this call."""
    with pytest.raises(ApiError) as caught:
        await case
    return caught.value


def causes(error: ApiError) -> list[tuple[str, str]]:
    """Reason and field of each cause; the real server repeats some."""
    found = error.status.get("details", {}).get("causes", [])
    return list(dict.fromkeys((one.get("reason", ""), one.get("field", "")) for one in found))


async def exists(api: Api, ref: Ref) -> bool:
    return bool((await api.list(KINDS[ref.kind].raw(), only(ref))).items)


def only(ref: Ref) -> Query:
    """A query for one object."""
    return Query(namespace=ref.namespace, fields=f"metadata.name={ref.name}")


@contextlib.asynccontextmanager
async def watching(
    api: Api, resource: Resource[T], query: Query, since: str
) -> AsyncIterator[AsyncIterator[WatchEvent[T]]]:
    """A watch that is ended with its case."""
    events = api.watch(resource, query, since=since)
    assert isinstance(events, AsyncGenerator)
    async with contextlib.aclosing(events), asyncio.timeout(PATIENCE_S):
        yield events


async def told(
    place: Place, resource: Resource[Any], *, since: str, count: int, query: Query | None = None
) -> list[tuple[str, JSON]]:
    """The next changes that a watch tells of."""
    found: list[tuple[str, JSON]] = []
    wanted = query if query is not None else place.selection
    async with watching(place.api, resource.raw(), wanted, since) as events:
        async for event in events:
            if isinstance(event, Change):
                found.append((event.type, event.object))
            if len(found) == count:
                break
    return found


async def version_of(place: Place, resource: Resource[Any]) -> str:
    page = await place.api.list(resource.raw(), place.selection)
    return page.resource_version


async def gone(api: Api, ref: Ref) -> None:
    """Wait until the object is no more."""
    resource, query = KINDS[ref.kind].raw(), only(ref)
    page = await api.list(resource, query)
    if page.items:
        async with watching(api, resource, query, page.resource_version) as events:
            async for event in events:
                if isinstance(event, Change) and event.type == "DELETED":
                    break


async def changed(api: Api, ref: Ref, is_so: Callable[[JSON], bool]) -> JSON:
    """Wait until the object is so, and return it."""
    resource, query = KINDS[ref.kind].raw(), only(ref)
    page = await api.list(resource, query)
    if is_so(page.items[0]):
        return page.items[0]
    async with watching(api, resource, query, page.resource_version) as events:
        async for event in events:
            if isinstance(event, Change) and is_so(event.object):
                return event.object
    raise AssertionError(f"the watch of {ref} ended")
