"""What befalls machines, the API server and unmoor's own processes in a simulated cluster.

A crew is the processes of one world: the first runs nearly always, the second only for a while, in
two minds about the lease. Everything happens at times drawn beforehand; ``calm`` ends it all and
leaves one healthy process.

Must not: be fair.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from random import Random

from unmoor.runtime.controller import Options
from unmoor.runtime.leader import LeaseTimes
from unmoor.runtime.ports import Api, Cloud
from unmoor.runtime.reconciler import Reconciler
from unmoor.runtime.reconcilers import RECONCILERS
from unmoor.runtime.story import Record, Story
from unmoor.sim import promises
from unmoor.sim.checkers import Checkers
from unmoor.sim.draws import CLUSTER, Draw
from unmoor.sim.faults import FaultyApi, FaultyCloud
from unmoor.sim.promises import Promises
from unmoor.sim.trap import Trap, When
from unmoor.sim.witness import Witness
from unmoor.sim.world import Process, World

LEASE = LeaseTimes(duration_s=60.0, renew_deadline_s=40.0, retry_s=10.0)
"""Four times the defaults: hours must not cost minutes."""
FIRST_AT_S = 60.0
TRAPPED_S = 300.0
"""How long a trap waits for its write."""

CloudMaker = Callable[[Api], Cloud]


class Member:
    """One process with the faults on its ways, and all that is needed to pull its plug."""

    def __init__(self, crew: Crew, who: str, lease: LeaseTimes | None) -> None:
        """Named ``who``; ``lease`` None makes it act without asking."""
        world, draw = crew.world, crew.draw
        self.who = who
        self.trap = Trap()
        self.story = Story()
        clock = world.clock
        dice = Random(f"{who}/{draw.seed}")
        through = crew.witness.door(who, world.api, self.trap)
        self.api = FaultyApi(through, dice, clock, draw.api)
        door = crew.witness.door(f"{who} in the cloud", world.api, self.trap)
        self.cloud = FaultyCloud(crew.cloud(door), dice, clock, draw.cloud)
        self.process = Process(
            world,
            Options(identity=who, cluster=CLUSTER, lease=lease),
            api=crew.meddling.api(self.api),
            cloud=crew.meddling.cloud(self.cloud),
            observers=(self.story, partial(crew.notice, who)),
            reconcilers=crew.reconcilers,
        )

    async def start(self) -> None:
        """Start it, with an open way."""
        if not self.process.is_running:
            self.trap.disarm()
            await self.process.start()


class Meddling:
    """What a test may put between unmoor and its ways, to see whether it is found."""

    def api(self, api: Api) -> Api:
        """In front of a process's API, and of its faults."""
        return api

    def cloud(self, cloud: Cloud) -> Cloud:
        """In front of a process's cloud, and of its faults."""
        return cloud

    def rows(self, rows: tuple[Reconciler, ...]) -> tuple[Reconciler, ...]:
        """In place of the table."""
        return rows


class Crew:
    """The processes of one world, and what befalls them."""

    def __init__(
        self,
        world: World,
        draw: Draw,
        cloud: CloudMaker,
        witness: Witness,
        checkers: Checkers,
        meddling: Meddling,
    ) -> None:
        """Nothing runs before ``start``."""
        self.world = world
        self.draw = draw
        self.cloud = cloud
        self.witness = witness
        self.checkers = checkers
        self.meddling = meddling
        self.reconcilers = meddling.rows(RECONCILERS)
        self.counts: Counter[str] = Counter()
        self._promises = Promises(checkers.truth, checkers.breach)
        self.first = Member(self, "unmoor-a", LEASE)
        self.second = Member(self, "unmoor-b", LEASE)
        self.third = Member(self, "unmoor-c", None)
        checkers.hung_s = self._hung_s
        self._dice = Random(f"mischief/{draw.seed}")
        self._order = count()
        self._agenda: list[tuple[float, int, Callable[[], Awaitable[None]]]] = []

    @property
    def members(self) -> tuple[Member, ...]:
        """All, running or not. Only the third acts without a lease."""
        return (self.first, self.second, self.third)

    def notice(self, who: str, record: Record) -> None:
        """A step of unmoor never crashes, whatever it finds; what it promises is kept."""
        if record.crash:
            last = record.crash.strip().splitlines()[-1]
            self.checkers.breach("no-step-crashes", f"{record.reconciler} {record.key}: {last}")
        promised = promises.promised_by(who, record)
        if promised is not None:
            unseen_s = self.checkers.allowances.unseen_s
            self._promises.note(promised, self._hung_s(who) + unseen_s)

    def _hung_s(self, who: str) -> float:
        """For how long a process has heard nothing, 0 for one that hears, or has no watches."""
        now_s = self.world.clock.now().mono
        blind = (one.api.blind_since for one in self.members if one.who == who)
        return max((now_s - since for since in blind if since is not None), default=0.0)

    async def run(self, until_s: float) -> None:
        """Let it all happen, until ``until_s``."""
        for kind, times in sorted(self.draw.mischief.items()):
            for _ in range(times):
                self._plan(self._dice.uniform(FIRST_AT_S, until_s), HAPPENS[kind], kind)
        while self._agenda:
            at, _, happen = heapq.heappop(self._agenda)
            await self.world.clock.sleep(at - self.world.clock.now().mono)
            await happen()

    async def calm(self) -> None:
        """Good weather from now on, one process, and its clock is right."""
        for member in self.members:
            member.api.calm()
            member.cloud.calm()
        for member in (self.second, self.third):
            await member.process.stop()
            member.process.clock.skew_s = 0.0
        self.first.process.clock.skew_s = 0.0
        self.first.trap.disarm()
        await self.first.start()

    async def stop(self) -> None:
        """End all processes; whatever one of them raised is a breach."""
        for member in self.members:
            try:
                await member.process.kill()
            except Exception as error:  # noqa: BLE001 - a bug of ours, told like any other
                self.checkers.breach("no-process-crashes", f"{member.who}: {error!r}")

    def weather(self) -> Counter[str]:
        """How often each fault has happened."""
        counts = Counter(self.counts)
        for member in self.members:
            counts.update({f"api {what}": n for what, n in member.api.counts.items()})
            counts.update({f"cloud {what}": n for what, n in member.cloud.counts.items()})
        return counts

    # The agenda.

    def _plan(self, at: float, happen: Callable[[Crew], Awaitable[None]], kind: str = "") -> None:
        async def now() -> None:
            if kind:
                self.counts[kind] += 1
            await happen(self)

        heapq.heappush(self._agenda, (at, next(self._order), now))

    def _later(
        self, seconds: tuple[float, float], happen: Callable[[Crew], Awaitable[None]]
    ) -> None:
        self._plan(self.world.clock.now().mono + self._dice.uniform(*seconds), happen)

    async def start(self) -> None:
        """Start the first process, if it is not running."""
        await self.first.start()

    # What happens.

    async def machine_death(self) -> None:
        """A machine is gone from one moment to the next."""
        running = [
            one["metadata"]["name"]
            for one in self.world.server.store.tables["Instance"].objects.values()
            if (one.get("status") or {}).get("phase") == "Running"
            and one["spec"].get("cluster") == CLUSTER
        ]
        if running:
            await self.world.machines.kill(self._dice.choice(running))

    async def kubelet_crash(self) -> None:
        """A kubelet is silent for a while; its containers go on."""
        nodes = [key[1] for key in self.world.server.store.tables["Node"].objects]
        if nodes:
            self.world.kubelets.crash(self._dice.choice(nodes), self._dice.uniform(10, 400))

    async def restart(self) -> None:
        """SIGTERM, and up again."""
        await self.first.process.stop()
        self._later((0.0, 30.0), Crew.start)

    async def kill(self) -> None:
        """SIGKILL: now, or before or after one of its next writes."""
        first = self.first
        if self._dice.randrange(3) == 0:
            await first.process.kill()
            self._later((0.0, 60.0), Crew.start)
            return
        sprung = asyncio.Event()

        def spring() -> None:
            first.process.cut()
            sprung.set()

        first.trap.arm(
            self._dice.randint(1, 8), self._dice.choice((When.BEFORE, When.AFTER)), spring
        )
        try:
            async with asyncio.timeout(TRAPPED_S):
                await sprung.wait()
        except TimeoutError:
            first.trap.disarm()
            return
        await first.process.kill()
        self._later((0.0, 60.0), Crew.start)

    async def wipe(self) -> None:
        """Everything that may be forgotten is forgotten."""
        for member in self.members:
            if member.process.is_running and member.process.controller is not None:
                member.process.controller.loop.forget()

    async def join(self) -> None:
        """A second instance, well-behaved: it waits for the lease."""
        await self.second.start()
        self._later((60.0, 900.0), Crew.part)

    async def part(self) -> None:
        """The second instance ends, one way or the other."""
        await (
            self.second.process.kill() if self._dice.randrange(2) else self.second.process.stop()
        )

    async def intrude(self) -> None:
        """Another instance that does not care for the lease, for moments."""
        await self.third.start()
        self._later((5.0, 120.0), Crew.leave)

    async def leave(self) -> None:
        """It ends."""
        await self.third.process.kill()

    async def skew(self) -> None:
        """A clock that is wrong from now on."""
        self._set_skew(self._dice.uniform(-120.0, 120.0))

    async def jump(self) -> None:
        """A clock that is set right, or wrong, at once."""
        self._set_skew(self._dice.choice((0.0, -90.0, -20.0, 20.0, 45.0, 600.0)))

    def _set_skew(self, skew_s: float) -> None:
        allowances = self.checkers.allowances
        allowances.skew_s = max(allowances.skew_s, abs(skew_s))
        self._dice.choice(self.members).process.clock.skew_s = skew_s

    async def server_restart(self) -> None:
        """All watches end, and sometimes the history is gone, too."""
        if self._dice.randrange(2):
            self.world.server.compact()
        self.world.server.close_watches()


HAPPENS: dict[str, Callable[[Crew], Awaitable[None]]] = {
    "machine death": Crew.machine_death,
    "kubelet crash": Crew.kubelet_crash,
    "restart": Crew.restart,
    "kill": Crew.kill,
    "memory wiped": Crew.wipe,
    "two instances": Crew.join,
    "two instances without a lease": Crew.intrude,
    "skew": Crew.skew,
    "clock jump": Crew.jump,
    "server restart": Crew.server_restart,
}
