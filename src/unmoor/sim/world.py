"""A simulated cluster with its cast, its cloud and unmoor itself, in virtual time or paced.

One API server, one clock, one set of dice: everything that happens follows from the seed. The cast
(kubelets, machines, scheduler, workload controllers) speaks to the server directly; unmoor speaks
through its own API and cloud ports, which a world's maker may put faults or witnesses in front of.

Must not: import any adapter. The cloud is handed in by whoever makes a world.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from random import Random
from types import TracebackType
from typing import Self

import msgspec

from unmoor.model.instance import InstanceType
from unmoor.runtime.controller import Controller, Options, Ports
from unmoor.runtime.loop import InlineExecutor
from unmoor.runtime.ports import Api, Cloud
from unmoor.runtime.reconciler import Reconciler
from unmoor.runtime.reconcilers import RECONCILERS
from unmoor.runtime.recorder import EventRecorder
from unmoor.runtime.story import Observer
from unmoor.sim.actors.actor import Actor, Stage
from unmoor.sim.actors.cast import everybody
from unmoor.sim.actors.garbage import GarbageCollector
from unmoor.sim.actors.kubelet import HollowKubelets, KubeletDelays
from unmoor.sim.actors.machines import MachineDelays, Machines
from unmoor.sim.apiserver import EASY, Manners, Server
from unmoor.sim.direct import DirectApi, send_bookmarks
from unmoor.sim.gate import Gate
from unmoor.sim.virtual import EPOCH, VirtualClock

PASS_DELAY_S = (0.0, 0.5)
"""How long a pass over the cluster takes in a world, drawn anew for each."""


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """How long the cast takes for things."""

    kubelet: KubeletDelays = KubeletDelays()
    machine: MachineDelays = MachineDelays()


class World:
    """Use as an async context manager on a loop whose time begins with the world.

    ``cloud`` makes a cloud over an API; ``types`` are its instance types by name; ``epoch`` is
    what its clocks show at time 0 of the loop.
    """

    def __init__(
        self,
        seed: int,
        *,
        cloud: Callable[[Api], Cloud],
        types: Mapping[str, InstanceType],
        delays: Delays = Delays(),
        manners: Manners = EASY,
        epoch: datetime = EPOCH,
    ) -> None:
        """Build the cluster; nothing moves before the context is entered."""
        self.dice = Random(f"world/{seed}")
        self.epoch = epoch
        self.clock = VirtualClock(epoch)
        self.server = Server(clock=self.clock.wall, seed=seed, manners=manners)
        self.api = DirectApi(self.server)
        self.cloud = cloud(self.api)
        self.stage = Stage(self.api, self.clock, Random(f"cast/{seed}"))
        self.kubelets = HollowKubelets(self.stage, types, delays.kubelet)
        self.machines = Machines(self.stage, delays.machine)
        self._garbage = GarbageCollector(self.api, self.clock, resources=self.server.kinds)
        self._tasks: list[asyncio.Task[None]] = []

    def cast(self) -> Sequence[Actor]:
        """Everybody but unmoor and the garbage collector, in the order of their entrance."""
        return everybody(self.machines, self.kubelets, self.server.resources)

    async def last(self) -> None:
        """Return never; raise when one of the cast crashes."""
        await asyncio.gather(*self._tasks)

    async def __aenter__(self) -> Self:
        """Let the cast play."""
        self._tasks = [
            asyncio.create_task(self.stage.run(self.cast()), name="cast"),
            asyncio.create_task(self._garbage.run(), name="garbage collector"),
            asyncio.create_task(send_bookmarks(self.server, self.clock), name="bookmarks"),
        ]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it; whoever of the cast has crashed is heard now."""
        for task in self._tasks:
            if not task.done():
                task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        crashes = [r for r in results if isinstance(r, Exception)]
        if crashes and error is None:
            raise crashes[0]


class Process:
    """unmoor in a world: started, stopped, killed, and started again from nothing but the API."""

    def __init__(
        self,
        world: World,
        options: Options,
        *,
        api: Api | None = None,
        cloud: Cloud | None = None,
        observers: Sequence[Observer] = (),
        reconcilers: Sequence[Reconciler] = RECONCILERS,
    ) -> None:
        """``api`` and ``cloud`` default to the world's own, without faults."""
        self._world = world
        self._options = options
        self._api = api or world.api
        self._cloud = cloud or world.cloud
        self._observers = observers
        self._reconcilers = reconcilers
        self._task: asyncio.Task[None] | None = None
        self._gate = Gate(self._api)
        self.controller: Controller | None = None
        self.clock = VirtualClock(world.epoch)
        """Its own: only its wall clock may be wrong."""

    @property
    def is_running(self) -> bool:
        """Started, and neither stopped nor killed."""
        return self._task is not None and not self._task.done()

    def check(self) -> None:
        """Raise what it has ended with, if it has ended by itself."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def start(self) -> None:
        """Start a new process; whatever the last one remembered is gone."""
        assert not self.is_running, "it is running"
        gate = self._gate = Gate(self._api)
        recorder = EventRecorder(gate, self.clock, instance=self._options.identity)
        dice = self._world.dice
        self.controller = Controller(
            Ports(
                api=gate,
                clock=self.clock,
                executor=InlineExecutor(self._think),
                recorder=recorder,
                cloud=self._cloud,
                jitter=dice.random,
            ),
            self._options,
            observers=self._observers,
        )
        self._task = asyncio.create_task(self._run(self.controller, recorder), name="unmoor")

    async def stop(self) -> None:
        """Ask it to stop, as SIGTERM does."""
        await self._end()

    async def kill(self) -> None:
        """Pull its plug: not another word of it reaches anybody."""
        self.cut()
        await self._end()

    def cut(self) -> None:
        """Cut it off from the API server at this very moment; end it by ``kill``."""
        self._gate.shut()

    async def _end(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(result, Exception):
            raise result

    async def _run(self, controller: Controller, recorder: EventRecorder) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(recorder.run())
            await controller.run(self._reconcilers)

    async def _think(self) -> None:
        await self.clock.sleep(self._world.dice.uniform(*PASS_DELAY_S))
