"""A simulated cluster for people and their tools: assembled, served, and told as it goes.

The world of the rehearsals, with a port before its API server. Everything in it, unmoor included,
lives on one clock, which runs at a speed (``sim.paced``): the API's time stamps are that clock's.
The first minutes are played at once, so that machines have booted when the cluster is shown; they
end at the machine's own time, and at speed 1 both clocks agree from then on.

Must not: print, or know what a person typed.
"""

from __future__ import annotations

import asyncio
import errno
import os
from contextlib import AsyncExitStack, suppress
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Protocol

import msgspec

from unmoor.app import loading
from unmoor.app.bill import Cost, Sum
from unmoor.app.cli.command import Failure
from unmoor.app.kubeconfig_file import KubeconfigFile
from unmoor.app.manifests import Notes, Objects
from unmoor.app.narrator import Line, Narrator, unplaced
from unmoor.app.price_books import Offer
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model import kinds, names
from unmoor.model.settings import NAMESPACE
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.controller import Options
from unmoor.runtime.informer import Informer
from unmoor.runtime.ports import ApiError
from unmoor.runtime.recorder import EventRecorder
from unmoor.runtime.store import Store
from unmoor.sim import paced
from unmoor.sim.apiserver import FAITHFUL
from unmoor.sim.http import Asked, HttpFace
from unmoor.sim.http.face import Settings
from unmoor.sim.trouble import Trouble
from unmoor.sim.world import Process, World

PRELUDE_S = 120.0
"""Simulated seconds before the cluster is shown. The slowest machine boots in 75."""
LOOK_S = 1.0
OF_THE_PORT = (errno.EADDRINUSE, errno.EACCES)
"""Listening fails with these because of the port; with others because of the host."""
FREE_PORT = "choose another, or 0 for a free one"
HERE = "write an address of this machine, or 0.0.0.0 for all of them"
UNMOOR = "unmoor"
"""How unmoor's client names itself. What comes of its writes is told anyway."""
FORCED = (UNMOOR, "delete", "pods")
"""How pods go that a drain's deadline cuts off. They are told of: evictions end the others."""
SCHEDULER = "default-scheduler"
"""From whom the events come that say why a pod finds no place."""
UNTOLD = ("Lease", "Event")
"""Writes of these are no news."""
SAYS = {
    "create": "creates",
    "update": "replaces",
    "patch": "changes",
    "delete": "deletes",
    "deletecollection": "deletes every",
}
WATCHED = (
    kinds.NODES,
    kinds.PODS,
    kinds.MACHINES,
    kinds.PROVISIONERS,
    kinds.DISRUPTIONS,
    kinds.INSTANCES,
)


class UpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a person chose. ``cluster``: whose machines are unmoor's. ``port`` 0: any."""

    objects: Objects
    offer: Offer
    notes: Notes = msgspec.field(default_factory=Notes)
    cluster: str
    host: str
    port: int
    speed: float = 1.0
    seed: int = 1
    has_controller: bool = True
    faults: tuple[str, ...] = ()


class Member(msgspec.Struct, frozen=True):
    """One node when the cluster is shown."""

    name: str
    zone: str
    instance_type: str
    is_ready: bool


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster is there. ``machines``: those that are unmoor's."""

    server: str
    kubeconfig: Path
    cluster: str
    nodes: tuple[Member, ...]
    pods: int
    machines: int
    prices: str
    speed: float
    has_controller: bool


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it, since the cluster was shown. Times are simulated seconds.

    ``nodes_gone``: how many; ``nodes_removed``: who, of many the latest. ``unused``: machines that
    were ordered and never had a pod.
    """

    lasted_s: float
    nodes: int
    nodes_gone: int
    nodes_removed: tuple[str, ...]
    evictions: int
    refusals: int
    crashes: int
    cost: Cost
    unused: tuple[str, ...]
    faults: dict[str, int]


class Show(Protocol):
    """Who is told."""

    def started(self, started: Started) -> None:
        """The cluster is there."""
        ...

    def line(self, line: Line, at: datetime) -> None:
        """Something happened; ``at`` is the cluster's time."""
        ...

    def ended(self, ended: Ended) -> None:
        """It is over."""
        ...


class Sandbox:
    """One cluster. Runs once, on a paced loop, until cancelled."""

    def __init__(self, options: UpOptions, show: Show) -> None:
        """Build everything; nothing moves yet."""
        self._options, self._show = options, show
        self._machine_clock = SystemClock()
        self._world = World(
            options.seed,
            cloud=lambda api: SimulatedCloud(api, options.offer.types),
            types=options.offer.types_by_name,
            manners=FAITHFUL,
            epoch=self._machine_clock.now().wall - timedelta(seconds=PRELUDE_S),
        )
        self._store = Store()
        self._narrator = Narrator(self._world.clock, options.offer.types_by_name, self._say)
        self._trouble = Trouble(
            options.faults,
            self._world,
            Random(f"trouble/{options.seed}"),
            lambda text: self._narrator.tell("fault", text),
        )
        self._up_at_s: float | None = None
        self._before = Sum()
        self._early: list[tuple[Line, datetime]] = []
        """What is told of the prelude once the cluster is shown."""

    async def run(self, file: KubeconfigFile) -> None:
        """Serve until cancelled, and return when everything is put away."""
        options = self._options
        with suppress(asyncio.CancelledError):
            await loading.load(
                self._world.server,
                options.objects,
                cluster=options.cluster,
                notes=options.notes,
            )
            await self._serve(file)
        if self._up_at_s is not None:
            self._show.ended(self._ended(self._up_at_s))

    async def _serve(self, file: KubeconfigFile) -> None:
        world = self._world
        events = EventRecorder(world.api, world.clock, component=SCHEDULER)
        world.stage.tell = lambda event: events.publish(event, world.clock.wall())
        async with AsyncExitStack() as stack:
            face = await self._face(stack)
            await stack.enter_async_context(world)
            process = await self._process(stack)
            async with asyncio.TaskGroup() as tasks:
                informer = Informer(world.api, self._store, world.clock, jitter=Random(0).random)
                self._store.subscribe(lambda _, old, new: self._narrator.see(old, new))
                tasks.create_task(informer.run(WATCHED))
                tasks.create_task(world.last())
                tasks.create_task(events.run())
                await self._play_prelude()
                self._appear(face, file)
                tasks.create_task(self._trouble.run())
                while True:
                    await world.clock.sleep(LOOK_S)
                    if process is not None:
                        process.check()

    async def _face(self, stack: AsyncExitStack) -> HttpFace:
        options = self._options
        settings = Settings(
            host=options.host,
            port=options.port,
            names=(*Settings().names, "127.0.0.1", "::1"),
            pace=options.speed,
        )
        face = HttpFace(self._world.server, after=self._heed, settings=settings)
        try:
            return await stack.enter_async_context(face)
        except OSError as error:
            number = error.errno or 0  # that of a name that leads nowhere is below 0
            why = os.strerror(number) if number > 0 else error.strerror
            wrong, remedy = ("--port", FREE_PORT) if number in OF_THE_PORT else ("--host", HERE)
            raise Failure(
                f"{wrong}: {options.host}:{options.port} cannot be listened on: {why}: {remedy}"
            ) from None

    async def _process(self, stack: AsyncExitStack) -> Process | None:
        if not self._options.has_controller:
            return None
        world, trouble = self._world, self._trouble
        process = Process(
            world,
            Options(namespace=NAMESPACE),
            api=trouble.api(world.api),
            cloud=trouble.cloud(world.cloud),
            observers=[self._narrator.hear],
        )
        await process.start()
        stack.push_async_callback(process.stop)
        trouble.process = process
        return process

    async def _play_prelude(self) -> None:
        """Let the first minutes pass, and bring the cluster's clock to the machine's."""
        loop, world = paced.running(), self._world
        await world.clock.sleep(PRELUDE_S)
        behind = self._machine_clock.now().wall - world.clock.wall()
        loop.skip(max(behind.total_seconds(), 0.0))
        loop.speed = self._options.speed

    def _appear(self, face: HttpFace, file: KubeconfigFile) -> None:
        file.write(face.kubeconfig())
        self._up_at_s = self._narrator.at_s
        self._before = self._narrator.bill.fleet()
        self._narrator.bill.begin_anew(self._up_at_s)
        self._narrator.counts.clear()
        self._narrator.removed_at.clear()
        nodes = self._store.sorted(kinds.NODES)
        self._show.started(
            Started(
                server=face.url,
                kubeconfig=file.path,
                cluster=self._options.cluster,
                nodes=tuple(
                    Member(
                        node.name,
                        node.metadata.labels.get(names.ZONE, ""),
                        node.metadata.labels.get(names.INSTANCE_TYPE, ""),
                        node.is_ready,
                    )
                    for node in nodes
                ),
                pods=len(self._store.sorted(kinds.PODS)),
                machines=sum(
                    machine.metadata.annotations.get(names.MANAGED_BY) == self._options.cluster
                    for machine in self._store.sorted(kinds.MACHINES)
                ),
                prices=self._options.offer.prices,
                speed=self._options.speed,
                has_controller=self._options.has_controller,
            )
        )
        for line, wall in self._early:
            self._tell(line, wall, self._up_at_s)
        for pod in self._store.sorted(kinds.PODS):
            if unplaced(pod):
                self._narrator.unplaced(pod)

    def _ended(self, up_at_s: float) -> Ended:
        narrator, bill = self._narrator, self._narrator.bill
        return Ended(
            lasted_s=round(narrator.at_s - up_at_s, 1),
            nodes=len(self._store.sorted(kinds.NODES)),
            nodes_gone=narrator.counts["nodes removed"],
            nodes_removed=tuple(sorted(narrator.removed_at)),
            evictions=narrator.counts["evictions"],
            refusals=narrator.counts["refusals"],
            crashes=narrator.counts["crashes"],
            cost=bill.cost(self._options.offer.prices, self._before, narrator.at_s),
            unused=tuple(narrator.bookings.unused()),
            faults=self._trouble.counts(),
        )

    # What is told.

    def _say(self, line: Line) -> None:
        """Tell it; of the prelude, when it is over, what went wrong and what was bought."""
        wall = self._world.clock.wall()
        if self._up_at_s is not None:
            self._tell(line, wall, self._up_at_s)
        elif line.is_warning or line.is_purchase:
            self._early.append((line, wall))

    def _tell(self, line: Line, wall: datetime, up_at_s: float) -> None:
        """What was before has a time below zero."""
        shown = msgspec.structs.replace(line, at_s=round(line.at_s - up_at_s, 1))
        self._show.line(shown, wall)

    def _heed(self, asked: Asked, error: ApiError | None) -> None:
        """Tell what came in through the port."""
        if asked.resource == "pods/eviction":
            self._narrator.eviction(_who(asked), f"{asked.namespace}/{asked.name}", error)
        elif error is None and (asked.agent, asked.verb, asked.resource) == FORCED:
            text = f"deleted {asked.namespace}/{asked.name}: its drain's deadline allows no more"
            self._narrator.tell("unmoor", text, is_warning=True)
        elif error is None and asked.kind not in UNTOLD and asked.agent != UNMOOR:
            self._narrator.tell(_who(asked), said_of(asked))


def _who(asked: Asked) -> str:
    return "unmoor" if asked.agent == UNMOOR else "you"


def said_of(asked: Asked) -> str:
    """A write in words: ``kubectl deletes node i-1``."""
    named = "/".join(part for part in (asked.namespace, asked.name) if part)
    part = asked.resource.partition("/")[2]
    of = f"the {part} of " if part else ""
    return (
        f"{asked.agent or 'somebody'} {SAYS[asked.verb]} {of}{asked.kind.lower()} {named}".strip()
    )
