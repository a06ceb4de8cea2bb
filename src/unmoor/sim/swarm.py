"""One seed, one world: hours of cluster life with people, workloads and faults, then calm.

While it goes on, every write of unmoor is held against the rules that must never be broken
(``checkers``). Then faults stop and people leave, and within a bounded time everything has to be as
it finally should be (``settled``), and unmoor has to be quiet. A seed is its own bug report: the
same seed is the same story on any machine.

Must not: know any adapter; the cloud and its types are handed in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

import msgspec

from unmoor.model import kinds
from unmoor.model.base import JSON, Ref
from unmoor.model.cadence import Cadence
from unmoor.model.instance import InstanceType, LaunchRequest
from unmoor.model.names import INSTANCE_TYPE, PROVISIONER_NAME, TERMINATION_FINALIZER
from unmoor.model.settings import CONFIG_MAP_NAME, NAMESPACE
from unmoor.model.wording import counted
from unmoor.runtime.ports import Api, Cloud
from unmoor.runtime.story import Record, describe, tell
from unmoor.sim import manifests, settled, virtual
from unmoor.sim import truth as true
from unmoor.sim.actors.kubelet import KubeletDelays
from unmoor.sim.allowances import Allowances
from unmoor.sim.checkers import Breach, Checkers
from unmoor.sim.draws import APPS, CLUSTER, ELSEWHERE, Draw, draw
from unmoor.sim.faults import NEVER
from unmoor.sim.mischief import Crew, Meddling
from unmoor.sim.people import People
from unmoor.sim.shortages import Shortages
from unmoor.sim.terms import RESPECTS
from unmoor.sim.truth import Truth
from unmoor.sim.witness import Witness
from unmoor.sim.world import Delays, World

BOOT_LIMIT_S = 600.0
"""How long people wait for their first nodes before they begin."""
LOOK_S = 10.0
"""How often the world is asked whether a rule is broken, or all is settled."""
LIVENESS_LIMIT_S = 3600.0
"""From the calm until everything has to be settled: registration's 15 min, settling's 10 min, and
the back-offs between them, with room."""
QUIET_S = 240.0
"""Nothing but leases and events is written for so long: then unmoor is quiet."""
UNSEEN_S = 15.0
"""How long a process may not know of a pod when nothing is slow: a failed watch is tried again
after at most 10 s."""
RECORDS_TOLD = 60
PATIENT = Delays(kubelet=KubeletDelays(lease_every_s=20.0, status_every_s=1800.0))
"""Heartbeats are rare: hours must not cost minutes."""


class SeedResult(msgspec.Struct, frozen=True):
    """What came of one seed. ``rule``: the first that was broken, "" when none was."""

    seed: int
    ok: bool
    summary: str
    trace_hash: str
    story: str = ""
    rule: str = ""
    writes: int = 0
    methods: tuple[str, ...] = ()
    """Those that have begun a command."""
    met: dict[str, int] = {}
    """How often what was met that can be (``coverage``)."""


def run_seed(
    seed: int,
    hours: float,
    *,
    cloud: Callable[[Api], Cloud],
    types: Mapping[str, InstanceType],
    meddling: Meddling | None = None,
) -> SeedResult:
    """Live through one seed; ``meddling`` is for tests that plant a bug."""
    drawn = draw(seed, sorted(types))

    async def play() -> SeedResult:
        return await _Run(drawn, hours * 3600.0, cloud, types, meddling or Meddling()).play()

    return virtual.run(play())


class _Run:
    """One world in the making."""

    def __init__(
        self,
        drawn: Draw,
        seconds: float,
        cloud: Callable[[Api], Cloud],
        types: Mapping[str, InstanceType],
        meddling: Meddling,
    ) -> None:
        self._draw = drawn
        self._seconds = seconds
        delays = PATIENT if drawn.demands.boot_s is None else _slow(drawn.demands.boot_s)
        self._world = World(drawn.seed, cloud=cloud, types=types, delays=delays)
        self._witness = Witness(self._time_s)
        self._truth = Truth(
            self._world.server,
            CLUSTER,
            self._time_s,
            tuple(types.values()),
            drawn.cloud.stock_out == NEVER and not drawn.demands.shortages,
        )
        self._allowances = Allowances(
            unseen_s=_unseen_s(drawn), blind_s=_blind_s(drawn), respect_s=_respect_s(drawn)
        )
        self._checkers = Checkers(self._truth, self._witness, self._allowances)
        self._people = People(self._world.api, self._world.clock, drawn, self._allowances)
        self._crew = Crew(self._world, drawn, cloud, self._witness, self._checkers, meddling)
        self._shortages = Shortages(self._world.api, self._world.clock, drawn.demands.shortages)
        self._nodes = 0

    def _time_s(self) -> float:
        return asyncio.get_running_loop().time()

    async def play(self) -> SeedResult:
        """From the first manifest to the verdict."""
        async with self._world:
            try:
                await self._raise_cluster()
                await self._live()
                await self._settle()
            finally:
                await self._crew.stop()
        return self.result(next(iter(self._checkers.breaches), None))

    # The three parts of a world's life.

    async def _raise_cluster(self) -> None:
        people, drawn = self._people, self._draw
        await people.apply(
            manifests.make(kinds.NAMESPACES, NAMESPACE),
            manifests.make(kinds.NAMESPACES, APPS),
            manifests.settings(CONFIG_MAP_NAME, NAMESPACE, drawn.settings),
            *drawn.provisioners,
            *(
                manifests.machine(name, owner, cluster=CLUSTER, types=drawn.types)
                for name, owner in drawn.machines
            ),
            *drawn.apps[::2],
        )
        for index in range(drawn.foreign):
            await self._launch_elsewhere(index)
        await self._crew.start()
        await self._until(self._is_up, BOOT_LIMIT_S)
        await self._adopt()
        await people.apply(*drawn.apps, *drawn.budgets)

    async def _live(self) -> None:
        end = self._time_s() + self._seconds
        acts = (
            asyncio.create_task(self._people.run(), name="people"),
            asyncio.create_task(self._crew.run(end), name="mischief"),
            asyncio.create_task(self._shortages.run(), name="shortages"),
        )
        try:
            await self._until(lambda: bool(self._checkers.breaches), self._seconds)
        finally:
            for act in acts:
                act.cancel()
            for result in await asyncio.gather(*acts, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result

    async def _settle(self) -> None:
        if self._checkers.breaches:
            return
        await self._crew.calm()
        await self._shortages.end()
        await self._people.settle()
        self._nodes = sum(1 for _ in self._truth.all("Node"))
        await self._until(
            lambda: bool(self._checkers.breaches) or self._is_quiet(), LIVENESS_LIMIT_S
        )
        for rule, message, ref in settled.unsettled(self._truth, self._checkers.past):
            self._checkers.breach(rule, message, ref)
        if not self._checkers.breaches and not self._is_quiet():
            self._checkers.breach("unmoor-comes-to-rest", "it goes on writing")
        self._hold_cordons()

    def _hold_cordons(self) -> None:
        """R27: a person's cordon is there until a person takes it away."""
        for node in self._truth.all("Node"):
            if true.uid(node) in self._people.cordons and not node["spec"].get("unschedulable"):
                message = f"the cordon of node {true.name(node)} was a person's and is gone"
                self._checkers.breach("a-cordon-of-a-person-stays", message)

    async def _until(self, is_so: Callable[[], bool], limit_s: float) -> None:
        end = self._time_s() + limit_s
        while not is_so() and self._time_s() < end:
            await self._world.clock.sleep(min(LOOK_S, end - self._time_s()))

    def _is_up(self) -> bool:
        wanted = len(self._draw.machines)
        nodes = [node for node in self._truth.all("Node") if self._truth.is_ours(node)]
        return len(nodes) >= wanted

    def _is_quiet(self) -> bool:
        has_rested = self._time_s() - self._witness.last_effect_s >= QUIET_S
        return has_rested and not settled.unsettled(self._truth, self._checkers.past)

    # Those who are not ours.

    async def _launch_elsewhere(self, index: int) -> None:
        """A machine of another cluster, in the same cloud."""
        request = LaunchRequest(
            token=f"karpenter-{index}-1",
            cluster=ELSEWHERE,
            machine=f"karpenter-{index}",
            requirements=((INSTANCE_TYPE, "In", self._draw.types),),
            labels={PROVISIONER_NAME: "red"} if index == 0 else {},
        )
        await self._world.cloud.create(request)

    async def _adopt(self) -> None:
        """Karpenter's Machine for the first of them, with the finalizer that it shares with us."""
        api = self._world.api
        for instance in list(self._truth.all("Instance")):
            name = true.name(instance)
            is_first = instance["spec"].get("token") == "karpenter-0-1"
            node = self._truth.get("Node", name)
            if not is_first or node is None:
                continue
            machine, body = manifests.machine(
                "karpenter-0", "red", cluster="", types=self._draw.types
            )
            body["metadata"]["finalizers"] = [TERMINATION_FINALIZER]
            await api.create(machine, body)
            status: JSON = {"providerID": node["spec"]["providerID"], "nodeName": name}
            await api.patch(machine, {"status": status}, subresource="status")
            held = {"metadata": {"finalizers": [TERMINATION_FINALIZER]}}
            await api.patch(kinds.NODES.ref(name), held)

    # The verdict.

    def result(self, breach: Breach | None) -> SeedResult:
        """Say what came of it."""
        faults = self._crew.weather()
        told = ", ".join(f"{what} {n}" for what, n in sorted(faults.items())) or "none"
        writes = self._witness.writes
        begun = sorted(self._truth.commands.items())
        commands = (
            ", ".join(f"{counted(n, 'command')} by {method}" for method, n in begun)
            or "no commands"
        )
        went = (
            f"{counted(writes['eviction Pod'], 'eviction')}, "
            f"{counted(writes['delete Node'], 'node')} deleted, {commands}, "
            f"{counted(writes['create Instance'], 'instance')} launched"
        )
        total = sum(n for what, n in writes.items() if not what.endswith((" Lease", " Event")))
        verdict = "ok" if breach is None else f"FAILED {breach}"
        summary = (
            f"seed={self._draw.seed} {verdict}; {counted(len(self._draw.machines), 'machine')}, "
            f"{counted(total, 'write')}, {went}; faults: {told}"
        )
        return SeedResult(
            seed=self._draw.seed,
            ok=breach is None,
            summary=summary,
            trace_hash=self._witness.trace_hash,
            story="" if breach is None else self._story(breach),
            rule="" if breach is None else breach.rule,
            writes=total,
            methods=tuple(method for method, _ in begun),
            met={**self._checkers.past.reached, **faults},
        )

    def _story(self, breach: Breach) -> str:
        lines = [*self._draw.lines(), f"seed={self._draw.seed} {breach}"]
        keys = self._keys_of(breach.about)
        for member in self._crew.members:
            records = [one for one in member.story.all() if _concerns(one, keys)]
            if records:
                lines += [f"--- {member.who}", tell(records[-RECORDS_TOLD:])]
        return "\n".join(lines)

    def _keys_of(self, about: Iterable[Ref]) -> frozenset[str]:
        """The names under which the objects concerned are stepped."""
        keys: set[str] = set()
        for ref in about:
            keys.add(ref.name)
            obj = self._truth.get(ref.kind, ref.name, ref.namespace)
            if ref.kind == "Pod" and obj is not None:
                keys.add(obj["spec"].get("nodeName", ""))
            if ref.kind == "Instance" and obj is not None:
                keys.add(obj["spec"].get("machine", ""))
            for instance in self._truth.all("Instance"):
                if true.name(instance) in keys:
                    keys.add(instance["spec"].get("machine", ""))
        return frozenset(keys - {""})


def _slow(boot_s: tuple[float, float]) -> Delays:
    kubelet = msgspec.structs.replace(PATIENT.kubelet, boot_s=boot_s)
    return msgspec.structs.replace(PATIENT, kubelet=kubelet)


def _unseen_s(drawn: Draw) -> float:
    """From a pod's binding until a machine that is told to go can know of it, in this weather."""
    api, cloud = drawn.api, drawn.cloud
    seen_s = UNSEEN_S + (api.slow_s[1] if api.slow != NEVER else 0.0)
    return seen_s + (cloud.slow_s[1] if cloud.slow != NEVER else 0.0)


def _blind_s(drawn: Draw) -> float:
    """How old a picture of the pods may be: until a watch that hangs is given up, if one may."""
    hangs = drawn.api.watch_silent != NEVER
    return _unseen_s(drawn) + (Cadence().watch_silence_s if hangs else 0.0)


def _respect_s(drawn: Draw) -> float:
    value = drawn.settings.get("unmoor.movedWorkloadRespect", "")
    return RESPECTS.get(value, Allowances(unseen_s=0.0).respect_s)


def _concerns(record: Record, keys: frozenset[str]) -> bool:
    """The record is of one of these keys, does something to one, or crashed."""
    if not keys or record.key in keys or record.crash:
        return True
    said = [describe(outcome.effect) for outcome in record.outcomes]
    return any(key in text for key in keys for text in said)
