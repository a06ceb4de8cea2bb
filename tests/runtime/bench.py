"""An interpreter between a store, a scripted server and a scripted cloud."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.builders import instance
from tests.runtime.scripted import ScriptedApi, passes
from unmoor.lifecycle.effects import (
    AnyEffect,
    Patch,
    Publish,
)
from unmoor.model.base import Ref
from unmoor.model.instance import CloudInstance, InstanceType, LaunchRequest
from unmoor.model.observation import ProblemKind
from unmoor.model.selection import Selection, Wish
from unmoor.runtime.interpreter import (
    Interpreter,
)
from unmoor.runtime.ports import PortError
from unmoor.runtime.store import Store
from unmoor.runtime.story import Outcome
from unmoor.sim.virtual import VirtualClock, run

REQUEST = LaunchRequest(token="u-1", cluster="harbour", machine="m")
GONE_META = {"deletionTimestamp": "2026-01-05T08:00:00Z"}


class ScriptedCloud:
    """A cloud that knows nothing but what the script says."""

    scheme = "sim"

    def __init__(self) -> None:
        self.error: PortError | None = None
        self.running = 0
        self.most = 0
        self.asked: list[object] = []

    async def _answer(self, *about: object) -> CloudInstance:
        self.asked += about
        self.running += 1
        self.most = max(self.most, self.running)
        await passes(1)
        self.running -= 1
        if self.error is not None:
            raise self.error
        return instance("a")

    async def create(self, request: LaunchRequest) -> CloudInstance:
        return await self._answer(request)

    async def get(self, provider_id: str) -> CloudInstance:
        return await self._answer(provider_id)

    async def list(self, cluster: str) -> tuple[CloudInstance, ...]:
        return (await self._answer(cluster),)

    async def terminate(self, provider_id: str) -> None:
        await self._answer(provider_id)

    async def instance_types(self) -> tuple[InstanceType, ...]:
        return ()

    async def discover(self, wish: Wish) -> Selection:
        await self._answer(wish)
        return Selection()


class Published:
    """A recorder that remembers."""

    def __init__(self) -> None:
        self.events: list[Publish] = []
        self.times: list[datetime] = []
        self.repeats: list[float] = []

    def publish(self, event: Publish, now: datetime, repeat_after_s: float) -> None:
        self.events.append(event)
        self.repeats.append(repeat_after_s)
        self.times.append(now)


class Bench:
    """An interpreter between a store that knows a node and a pod, and a server that has them."""

    def __init__(self, cloud: ScriptedCloud | None = None) -> None:
        self.api = ScriptedApi()
        self.cloud = cloud
        self.store = Store()
        self.recorder = Published()
        self.interpreter = Interpreter(
            self.api, self.store, VirtualClock(), cloud=cloud, recorder=self.recorder
        )
        self.node = self.see("Node", "a", meta={"labels": {"zone": "z1"}})
        self.pod = self.see("Pod", "web-1", "shop")

    def see(self, kind: str, name: str, namespace: str = "", **fields: Any) -> Ref:
        """The server has an object, and the store has seen it."""
        body = self.api.put(kind, name, namespace, **fields)
        self.store.fold(kind, body)
        return Ref(kind, name, namespace=namespace, uid=body["metadata"]["uid"])

    def held(self, ref: Ref) -> Any:
        return self.store.find(ref)

    def verbs(self) -> list[str]:
        return [f"{verb} {what}" for _, verb, what in self.api.calls]

    def do(self, *effects: AnyEffect, may_act: Callable[[], bool] = lambda: True) -> list[Outcome]:
        async def main() -> list[Outcome]:
            return list(await self.interpreter.execute(effects, may_act))

        return run(main())

    def problem(self, effect: AnyEffect) -> ProblemKind | None:
        """What came of one effect."""
        [outcome] = self.do(effect)
        assert outcome.crash == ""
        return None if outcome.problem is None else outcome.problem.kind


def cordon(ref: Ref, **given: Any) -> Patch:
    return Patch(ref=ref, body={"spec": {"unschedulable": True}}, **given)
