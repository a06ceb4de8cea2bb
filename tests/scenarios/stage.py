"""What a scenario acts on: a cluster, a cloud, and unmoor, in virtual time or in real time.

A scenario never asks which. Waiting is ``eventually``: the condition is looked at again and again
on the stage's own clock.

Must not: have a branch on what kind of stage it is; the factories build different parts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from tests.scenarios import objects
from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.runtime.ports import Api, ApiError, Clock, Cloud, DeleteOptions, Query, Unreachable

T = TypeVar("T")
Restart: TypeAlias = Callable[[], Awaitable[None]]
LOOK_AGAIN_S = 0.1
PATIENCE_S = 60.0
"""How long a scenario waits for one thing, by default."""


class Unmoor(Protocol):
    """The process under test."""

    async def start(self) -> None:
        """Start it."""
        ...

    async def stop(self) -> None:
        """Stop it cleanly."""
        ...

    async def kill(self) -> None:
        """Stop it between two effects, without a goodbye."""
        ...


class Stage:
    """One cluster with a cast; many scenarios may play on it, each in a namespace of its own."""

    def __init__(
        self, api: Api, clock: Clock, cloud: Cloud, unmoor: Unmoor, restart_server: Restart
    ) -> None:
        """Take the parts. ``restart_server`` returns when the API server answers again."""
        self.api = api
        self.clock = clock
        self.cloud = cloud
        self.unmoor = unmoor
        self.restart_server = restart_server

    async def apply(self, *manifests: tuple[Ref, JSON]) -> list[JSON]:
        """Create objects, in order."""
        return [await self.api.create(ref, body) for ref, body in manifests]

    async def find(self, ref: Ref) -> JSON | None:
        """An object as it is now, None when it is not there."""
        try:
            return await self.api.get(ref)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    async def listed(self, resource: Resource[T], namespace: str = "", labels: str = "") -> list[T]:
        """Objects of a kind."""
        page = await self.api.list(resource, Query(namespace=namespace, labels=labels))
        return list(page.items)

    async def delete(self, ref: Ref, **options: Any) -> None:
        """Delete as a person does: by name."""
        await self.api.delete(ref, DeleteOptions(**options))

    async def eventually(
        self, what: str, probe: Callable[[], Awaitable[T]], within_s: float = PATIENCE_S
    ) -> T:
        """Wait until ``probe`` is true-ish; raise with its last value when it never is."""
        ends_at = self.clock.now().mono + within_s
        while True:
            try:
                value = await probe()
            except Unreachable as error:
                value, problem = None, f"last: {error}"
            else:
                problem = f"last: {value!r}"
            if value:
                return value
            if self.clock.now().mono >= ends_at:
                raise AssertionError(f"{what}: not within {within_s:g} s ({problem})")
            await self.clock.sleep(LOOK_AGAIN_S)

    async def always(
        self, what: str, probe: Callable[[], Awaitable[bool]], for_s: float = 3.0
    ) -> None:
        """Watch that ``probe`` stays true for a while."""
        ends_at = self.clock.now().mono + for_s
        while self.clock.now().mono < ends_at:
            assert await probe(), what
            await self.clock.sleep(LOOK_AGAIN_S)

    # What scenarios speak of.

    async def field(
        self, name: str, *, annotations: dict[str, str] | None = None, **spec: Any
    ) -> str:
        """A namespace and a Provisioner of one name: the field that one scenario plays on."""
        provisioner = objects.provisioner(name, annotations=annotations, **spec)
        await self.apply(objects.namespace(name), provisioner)
        await self.eventually(
            f"the default service account of {name}",
            lambda: self.find(Ref("Namespace", name)),
        )
        return name

    async def nodes_up(self, field: str, *machines: str, **machine: Any) -> list[str]:
        """Apply Machines and wait until each has an initialised node; return the nodes' names."""
        for name in machines:
            await self.apply(objects.machine(name, provisioner=field, field=field, **machine))
        return [await self.node_of(name) for name in machines]

    async def node_of(self, machine: str) -> str:
        """The name of a machine's node, once it is initialised."""

        async def initialized() -> str:
            found = await self.machine(machine)
            if found is None or not found.is_initialized:
                return ""
            return found.status.node_name

        return await self.eventually(f"machine {machine} is initialised", initialized)

    async def machine(self, name: str) -> Machine | None:
        """One machine."""
        found = [m for m in await self.listed(kinds.MACHINES) if m.name == name]
        return found[0] if found else None

    async def node(self, name: str) -> Node | None:
        """One node."""
        page = await self.api.list(kinds.NODES, Query(fields=f"metadata.name={name}"))
        return page.items[0] if page.items else None

    async def pods(self, namespace: str, app: str = "") -> list[Pod]:
        """The pods of a scenario, or of one application in it."""
        return await self.listed(kinds.PODS, namespace, f"app={app}" if app else "")

    async def ready(self, namespace: str, app: str, count: int) -> list[Pod]:
        """Wait until an application has this many ready pods that are not going."""

        async def ready_pods() -> list[Pod]:
            pods = [p for p in await self.pods(namespace, app) if p.is_ready and not p.is_deleting]
            return pods if len(pods) == count else []

        return await self.eventually(f"{count} ready pods of {namespace}/{app}", ready_pods)

    async def guarded(self, field: str, replicas: int, **budget: Any) -> list[Pod]:
        """Apply ``web`` and a budget over it; its pods, once both are as they should be."""
        await self.apply(
            objects.deployment("web", namespace=field, replicas=replicas),
            objects.budget("web", namespace=field, app="web", **budget),
        )
        pods = await self.ready(field, "web", replicas)
        await self.counted(field, "web")
        return pods

    async def is_running(self, namespace: str, uid: str) -> bool:
        """The pod is there, and nobody has asked it to go."""
        return any(p.uid == uid and not p.is_deleting for p in await self.pods(namespace))

    async def counted(self, namespace: str, budget: str) -> None:
        """Wait until a disruption budget knows its pods."""

        async def has_counted() -> bool:
            found = await self.find(kinds.BUDGETS.ref(budget, namespace))
            return bool((found or {}).get("status", {}).get("expectedPods"))

        await self.eventually(f"budget {namespace}/{budget} has counted its pods", has_counted)

    async def gone(self, *refs: Ref, within_s: float = PATIENCE_S) -> None:
        """Wait until none of these is there."""
        for ref in refs:

            async def is_gone(ref: Ref = ref) -> bool:
                return await self.find(ref) is None

            await self.eventually(f"{ref} is gone", is_gone, within_s)

    async def begin_drain(self, node: str) -> None:
        """Delete a node and wait until its drain has begun."""
        await self.delete(kinds.NODES.ref(node))
        await self.eventually(f"the drain of {node} has begun", lambda: self.is_draining(node))

    async def is_draining(self, node: str) -> bool:
        """Deleted, cordoned and out of the load balancers, but still there."""
        found = await self.node(node)
        if found is None:
            return False
        label = found.metadata.labels.get(names.EXCLUDE_FROM_LOAD_BALANCERS)
        return found.is_deleting and found.is_cordoned and label == "karpenter"

    async def instances(self, *machines: str) -> list[str]:
        """The provider ids of these machines' instances that are not going."""
        found = await self.cloud.list(objects.CLUSTER)
        return [i.provider_id for i in found if i.machine in machines and not i.state.is_going]

    async def has_no_instance(self, *machines: str) -> bool:
        """None of these machines has an instance that is not going."""
        return not await self.instances(*machines)

    async def events(self, reason: str, about: str) -> list[str]:
        """The messages of the events about an object with this reason."""
        found = await self.listed(kinds.EVENTS)
        return [e.message for e in found if e.reason == reason and e.involved_object.name == about]
