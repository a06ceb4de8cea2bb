"""What may go wrong in a cluster that people look at, by name, and making it go wrong.

Faults on unmoor's own ways (``api-``, ``cloud-``) have a chance at each call. Everything else
befalls the cluster or unmoor's process now and then: each kind has a mean pause, and chance comes
from the dice that are handed in. A group's name stands for all of its faults.

Must not: act before ``run``, or touch unmoor when it is outside.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import TypeAlias

import msgspec

from unmoor.model import kinds
from unmoor.runtime.ports import Api, Cloud, PortError
from unmoor.sim.faults import ApiFaults, CloudFaults, FaultyApi, FaultyCloud, Ratio
from unmoor.sim.world import Process, World

FIRST_AFTER_S = 15.0
"""So long everything is as it should be."""
DOWN_S = (5.0, 30.0)
"""How long unmoor is gone when it restarts or is killed."""
SILENT_S = (60.0, 180.0)
"""How long a kubelet is silent; after 50 s its node is NotReady."""

OFTEN: Ratio = (1, 8)
SOMETIMES: Ratio = (1, 30)


class Chance(msgspec.Struct, frozen=True):
    """A fault on one of unmoor's ways: which field of which faults, how often, and what it is."""

    field: str
    ratio: Ratio
    about: str


class Mishap(msgspec.Struct, frozen=True):
    """Something that happens every ``mean_s`` simulated seconds, on average."""

    mean_s: float
    about: str


CHANCES: dict[str, Chance] = {
    "api-lost-request": Chance("lost_request", OFTEN, "a call does not reach the API server"),
    "api-lost-answer": Chance("lost_answer", OFTEN, "a call is carried out, its answer is lost"),
    "api-conflict": Chance("conflict", OFTEN, "409: somebody else was first"),
    "api-too-many": Chance("too_many", OFTEN, "429: slow down"),
    "api-server-error": Chance("server_error", OFTEN, "500: nothing was done"),
    "api-slow": Chance("slow", OFTEN, "an answer takes up to 5 s"),
    "api-watch-cut": Chance("watch_cut", SOMETIMES, "a watch ends"),
    "api-watch-expired": Chance("watch_expired", (1, 3), "410: a watch must start again"),
    "api-watch-late": Chance("watch_late", SOMETIMES, "a watch is up to 3 s behind"),
    "cloud-lost-request": Chance("lost_request", OFTEN, "a call does not reach the cloud"),
    "cloud-lost-answer": Chance("lost_answer", OFTEN, "a call is carried out, its answer is lost"),
    "cloud-rate-limited": Chance("rate_limited", OFTEN, "a call is refused: too many"),
    "cloud-stock-out": Chance("stock_out", (1, 2), "a launch is refused: out of capacity"),
    "cloud-slow": Chance("slow", OFTEN, "an answer takes up to 20 s"),
    "cloud-lagging": Chance("lagging", (1, 2), "lists show machines as they were, up to 60 s ago"),
}
MISHAPS: dict[str, Mishap] = {
    "node-dies": Mishap(300.0, "a machine is gone, without a word"),
    "node-silent": Mishap(180.0, "a kubelet is silent for 1 to 3 min, its pods run on"),
    "server-restart": Mishap(120.0, "all watches end, kubectl's too; history is forgotten"),
    "unmoor-restart": Mishap(120.0, "unmoor stops cleanly and comes back after 5 to 30 s"),
    "unmoor-crash": Mishap(120.0, "unmoor is killed and comes back after 5 to 30 s"),
    "unmoor-forgets": Mishap(180.0, "unmoor loses everything that it need not remember"),
}
ABOUT: dict[str, str] = {name: one.about for name, one in (CHANCES | MISHAPS).items()}
"""Every fault and what it does."""
GROUPS = tuple(dict.fromkeys(name.partition("-")[0] for name in ABOUT))
ALL = "all"

Tell: TypeAlias = Callable[[str], None]


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """The faults that are meant; raises KeyError for the first name that is none."""
    found: set[str] = set()
    for name in names:
        meant = {one for one in ABOUT if name in {one, one.partition("-")[0], ALL}}
        if not meant:
            raise KeyError(name)
        found |= meant
    return tuple(one for one in ABOUT if one in found)


def needs_unmoor(name: str) -> bool:
    """It befalls unmoor itself, or its ways."""
    return name in CHANCES or name.startswith("unmoor-")


class Trouble:
    """The chosen faults of one cluster. ``tell`` hears of each mishap."""

    def __init__(self, names: tuple[str, ...], world: World, dice: Random, tell: Tell) -> None:
        """Everything is well until ``run``."""
        self._names = names
        self._world = world
        self._dice = dice
        self._tell = tell
        self._ways: list[FaultyApi | FaultyCloud] = []
        self._mishaps: Counter[str] = Counter()
        self.process: Process | None = None
        """unmoor, if it is in the world."""

    def api(self, api: Api) -> Api:
        """Unmoor's way to the API server, with the chosen faults."""
        rates = self._rates("api")
        if not rates:
            return api
        faulty = FaultyApi(api, Random(self._dice.random()), self._world.clock, ApiFaults(**rates))
        faulty.calm()
        self._ways.append(faulty)
        return faulty

    def cloud(self, cloud: Cloud) -> Cloud:
        """Unmoor's way to the cloud, with the chosen faults."""
        rates = self._rates("cloud")
        if not rates:
            return cloud
        dice = Random(self._dice.random())
        faulty = FaultyCloud(cloud, dice, self._world.clock, CloudFaults(**rates))
        faulty.calm()
        self._ways.append(faulty)
        return faulty

    def _rates(self, group: str) -> dict[str, Ratio]:
        names = [name for name in self._names if name.startswith(f"{group}-")]
        return {CHANCES[name].field: CHANCES[name].ratio for name in names}

    def counts(self) -> dict[str, int]:
        """How often each fault has happened."""
        fields = {(name.partition("-")[0], one.field): name for name, one in CHANCES.items()}
        found = Counter(self._mishaps)
        for way in self._ways:
            group = "api" if isinstance(way, FaultyApi) else "cloud"
            found.update({fields[group, field]: n for field, n in way.counts.items()})
        return {name: found[name] for name in ABOUT if found[name]}

    async def run(self) -> None:
        """Let it all happen, until cancelled."""
        await self._world.clock.sleep(FIRST_AFTER_S)
        for way in self._ways:
            way.storm()
        async with asyncio.TaskGroup() as tasks:
            for name in self._names:
                if name in MISHAPS:
                    dice = Random(self._dice.random())
                    tasks.create_task(self._again_and_again(name, dice), name=name)

    async def _again_and_again(self, name: str, dice: Random) -> None:
        while True:
            await self._world.clock.sleep(dice.expovariate(1.0 / MISHAPS[name].mean_s))
            try:
                self._mishaps[name] += await _HAPPENS[name](self, dice)
            except PortError:
                continue  # whom it was to befall has gone

    # What happens; True when it did.

    async def node_dies(self, dice: Random) -> bool:
        """A machine is gone from one moment to the next."""
        instances = self._world.server.list(kinds.INSTANCES).items
        running = [
            one["metadata"]["name"]
            for one in instances
            if (one.get("status") or {}).get("phase") == "Running"
        ]
        if not running:
            return False
        name = dice.choice(running)
        self._tell(f"machine {name} dies")
        await self._world.machines.kill(name)
        return True

    async def node_silent(self, dice: Random) -> bool:
        """A kubelet is silent for a while; its containers go on."""
        nodes = [one["metadata"]["name"] for one in self._world.server.list(kinds.NODES).items]
        heard = [name for name in nodes if self._world.kubelets.plays(name)]
        if not heard:
            return False
        name = dice.choice(heard)
        for_s = dice.uniform(*SILENT_S)
        self._tell(f"the kubelet of {name} is silent for {for_s:.0f} s")
        self._world.kubelets.crash(name, for_s)
        return True

    async def server_restart(self, _: Random) -> bool:
        """All watches end, and the history is gone."""
        self._tell("the API server restarts: all watches end")
        self._world.server.compact()
        self._world.server.close_watches()
        return True

    async def unmoor_restart(self, dice: Random) -> bool:
        """SIGTERM, and up again after a while."""
        return await self._down(dice, "unmoor restarts", kill=False)

    async def unmoor_crash(self, dice: Random) -> bool:
        """SIGKILL, and up again after a while."""
        return await self._down(dice, "unmoor is killed", kill=True)

    async def _down(self, dice: Random, said: str, *, kill: bool) -> bool:
        process = self.process
        if process is None or not process.is_running:
            return False
        gone_s = dice.uniform(*DOWN_S)
        self._tell(f"{said}, and comes back in {gone_s:.0f} s")
        await (process.kill() if kill else process.stop())
        await self._world.clock.sleep(gone_s)
        await process.start()
        return True

    async def unmoor_forgets(self, _: Random) -> bool:
        """Everything that may be forgotten is forgotten."""
        process = self.process
        if process is None or not process.is_running or process.controller is None:
            return False
        self._tell("unmoor forgets what it need not remember")
        process.controller.loop.forget()
        return True


_HAPPENS: dict[str, Callable[[Trouble, Random], Awaitable[bool]]] = {
    "node-dies": Trouble.node_dies,
    "node-silent": Trouble.node_silent,
    "server-restart": Trouble.server_restart,
    "unmoor-restart": Trouble.unmoor_restart,
    "unmoor-crash": Trouble.unmoor_crash,
    "unmoor-forgets": Trouble.unmoor_forgets,
}
