"""A rehearsal: a person's manifests come up in a simulated cluster, and nodes are taken out of it.

Five chapters: the cluster comes up, from pods that wait or from machines that are given; the node
with the most pods is deleted; nodes that fall empty go when their time is up; in the evening
workloads shrink, and consolidation makes the bill fall; what happened, what it cost, and whether
everything held.

Must not: print. ``app.cli.demo`` shows the lines.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from unmoor.app import evening, loading, manifests
from unmoor.app.bill import Cost
from unmoor.app.cli.command import Failure
from unmoor.app.narrator import Line, Narrator
from unmoor.app.overruns import Overruns
from unmoor.app.price_books import Offer
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.wording import counted, named
from unmoor.runtime.controller import Options
from unmoor.runtime.informer import Informer
from unmoor.runtime.ports import ApiError
from unmoor.runtime.store import Store
from unmoor.runtime.story import Record
from unmoor.sim.actors.kubelet import RUN_SECONDS
from unmoor.sim.apiserver import ROOMY
from unmoor.sim.world import Process, World

UP_LIMIT_S = 600.0
DRAIN_LIMIT_S = 1800.0
EMPTY_LIMIT_S = 3600.0
"""Simulated seconds that the chapters may take before something is said not to hold."""
LOOK_AGAIN_S = 1.0
STUCK_S = 60.0
"""Nothing changes for so long: pods that wait will wait for ever."""
CALM_S = 20.0
"""Nothing changes for so long: the cluster has come to rest."""
NO_MACHINES = (
    "there is neither a Provisioner nor a Machine among the manifests, so no node that could be "
    "taken out of service: add one, as examples/shop/1-provisioners.yaml does"
)
WATCHED = (
    kinds.NODES,
    kinds.PODS,
    kinds.MACHINES,
    kinds.PROVISIONERS,
    kinds.BUDGETS,
    kinds.DISRUPTIONS,
    kinds.INSTANCES,
)


class Check(msgspec.Struct, frozen=True):
    """One thing that had to hold."""

    what: str
    held: bool
    detail: str = ""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. Times in simulated seconds.

    ``unused``: machines that were ordered and never had a pod.
    """

    lines: list[Line]
    checks: list[Check]
    cost: Cost
    saved: evening.Saved
    unused: list[str]
    evictions: int
    refusals: int
    nodes_removed: list[str]
    lasted_s: float

    @property
    def held(self) -> bool:
        """Everything held."""
        return all(check.held for check in self.checks)


class Rehearsal:
    """One run of a set of manifests. ``chapter`` and ``say`` are told what goes on."""

    def __init__(
        self,
        objects: manifests.Objects,
        *,
        offer: Offer,
        seed: int,
        notes: manifests.Notes,
        say: Callable[[Line], None],
        chapter: Callable[[str], None],
    ) -> None:
        """Build the world; on a virtual loop only."""
        self._objects = objects
        self._notes = notes
        self._prices = offer.prices
        self._world = World(
            seed,
            cloud=lambda api: SimulatedCloud(api, offer.types),
            types=offer.types_by_name,
            manners=ROOMY,
        )
        self._store = Store()
        self._narrator = Narrator(self._world.clock, offer.types_by_name, self._tell)
        self._lines: list[Line] = []
        self._say = say
        self._chapter = chapter
        self._overruns = Overruns()
        self._changed_at = 0.0

    async def play(self) -> Ending:
        """Play all chapters in virtual time."""
        async with self._world as world:
            informer = Informer(world.api, self._store, world.clock, jitter=Random(0).random)
            self._store.subscribe(self._see)
            following = asyncio.create_task(informer.run(WATCHED))
            unmoor = Process(
                world,
                Options(cluster=manifests.cluster_of(self._objects, "demo"), lease=None),
                observers=[self._hear],
            )
            await unmoor.start()
            try:
                return await self._chapters()
            finally:
                await unmoor.stop()
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)

    async def _chapters(self) -> Ending:
        narrator, bill = self._narrator, self._narrator.bill
        self._chapter("The cluster comes up")
        narrator.tell("cluster", f"prices of machines: {self._prices}")
        await self._create_namespaces()
        machines = await self._apply(is_workload=False)
        await self._until(lambda: self._are_up(machines), UP_LIMIT_S)
        await self._apply(is_workload=True)
        if not machines and not any(ref.kind == "Provisioner" for ref, _ in self._objects):
            raise Failure(NO_MACHINES)
        await self._come_to_rest()
        await self._rest()
        before = bill.fleet()
        checks = await self._drain()
        checks += await self._empty()
        checks += await self._evening()
        await self._come_to_rest()
        checks = [*self._placed(), *checks, *self._tidy()]
        return Ending(
            lines=self._lines,
            checks=checks,
            cost=bill.cost(self._prices, before, narrator.at_s),
            saved=evening.saved(self._store),
            unused=narrator.bookings.unused(),
            evictions=narrator.counts["evictions"],
            refusals=narrator.counts["refusals"],
            nodes_removed=sorted(narrator.removed_at),
            lasted_s=round(narrator.at_s, 1),
        )

    # Chapter 1.

    async def _create_namespaces(self) -> None:
        for ref, body in loading.namespaces_of(self._objects):
            if await self._find(ref) is None:
                await self._create(ref, body)

    async def _apply(self, *, is_workload: bool) -> list[str]:
        """Machines first, so that workloads find them; return the machines' names."""
        for ref, body in self._objects:
            if (ref.kind not in loading.FIRST) is is_workload:
                await self._create(ref, body)
        return sorted(ref.name for ref, _ in self._objects if ref.kind == "Machine")

    async def _create(self, ref: Ref, body: JSON) -> None:
        try:
            await self._world.api.create(ref, body)
        except ApiError as error:
            raise Failure(f"{self._notes.named(ref)} cannot be created: {error.message}") from None
        self._narrator.tell("you", f"kubectl apply: {ref}")

    def _are_up(self, machines: list[str]) -> bool:
        found = [self._store.machine(name) for name in machines]
        return all(m is not None and m.is_initialized for m in found)

    def _waiting(self) -> list[Pod]:
        pods = self._store.sorted(kinds.PODS)
        return [pod for pod in pods if not (pod.node_name or pod.is_terminal)]

    def _has_come_up(self) -> bool:
        return all(machine.is_initialized for machine in self._store.sorted(kinds.MACHINES))

    async def _come_to_rest(self) -> None:
        """Wait until every pod has a place, or until nothing more comes of waiting."""
        await self._until(lambda: self._is_settled() or self._is_stuck(), UP_LIMIT_S)
        if waiting := named(tuple("/".join(pod.key) for pod in self._waiting())):
            quiet = f"nothing has changed for {self._narrator.at_s - self._changed_at:.0f} s"
            text = f"{quiet}; without a place: {waiting}"
            self._narrator.tell("cluster", text, is_warning=True)

    def _is_stuck(self) -> bool:
        """Nothing changes, and no machine is on its way that could change it."""
        return self._narrator.at_s - self._changed_at >= STUCK_S and self._has_come_up()

    def _placed(self) -> list[Check]:
        """As it is at the end: what waited at first may have found a place since."""
        waiting = ", ".join("/".join(pod.key) for pod in self._waiting())
        machines = self._store.sorted(kinds.MACHINES)
        missing = ", ".join(machine.name for machine in machines if not machine.is_initialized)
        return [
            Check("every machine has a node that is ready for pods", not missing, missing),
            Check("every pod has a place", not waiting, waiting),
        ]

    def _is_settled(self) -> bool:
        """Every pod that somebody has made so far has a place, and nobody is about to make more."""
        is_calm = self._narrator.at_s - self._changed_at >= LOOK_AGAIN_S
        return is_calm and not self._waiting() and self._has_come_up()

    # Chapter 2.

    async def _drain(self) -> list[Check]:
        self._chapter("A node is deleted")
        if not self._store.sorted(kinds.PODS):
            self._narrator.tell("cluster", "there are no pods, so there is nothing to drain")
            return []
        busiest = max(self._ours(), key=lambda n: (len(self._movable(n)), n.name), default=None)
        if busiest is None or not self._movable(busiest):
            return [Check("a node of ours carries pods that can move", held=False)]
        before = self._ready_by_owner()
        self._narrator.tell("you", f"kubectl delete node {busiest.name}")
        await self._world.api.delete(kinds.NODES.ref(busiest.name))
        is_gone = await self._until(lambda: self._store.node(busiest.name) is None, DRAIN_LIMIT_S)
        is_settled = await self._until(lambda: not self._missing(before), DRAIN_LIMIT_S)
        missing = ", ".join(self._missing(before))
        return [
            Check(f"node {busiest.name} was drained, ended and released", is_gone),
            Check("every workload has as many ready pods as before", is_settled, missing),
        ]

    def _ours(self) -> list[Node]:
        nodes = self._store.sorted(kinds.NODES)
        return [n for n in nodes if names.TERMINATION_FINALIZER in n.metadata.finalizers]

    def _movable(self, node: Node) -> list[Pod]:
        pods = self._store.pods_on(node.name)
        return [p for p in pods if not (p.is_of_its_node or p.is_terminal)]

    def _ready_by_owner(self) -> Counter[str]:
        """Ready pods of each owner that makes new ones."""
        owners = (
            f"{owner.kind} {pod.namespace}/{owner.name}"
            for pod in self._store.sorted(kinds.PODS)
            if pod.is_ready and not pod.is_deleting and (owner := pod.metadata.controller)
        )
        return Counter(owner for owner in owners if not owner.startswith(("DaemonSet", "Job")))

    def _missing(self, before: Counter[str]) -> list[str]:
        now = self._ready_by_owner()
        return [
            f"{owner}: {now[owner]} of {count} ready"
            for owner, count in sorted(before.items())
            if now[owner] < count
        ]

    # Chapter 3.

    async def _empty(self) -> list[Check]:
        self._chapter("Nodes that fall empty")
        ttls = {p.name: p.ttl_after_empty_s for p in self._store.sorted(kinds.PROVISIONERS)}
        if not any(ttl is not None for ttl in ttls.values()):
            self._narrator.tell("unmoor", "no Provisioner sets ttlSecondsAfterEmpty: all stay")
            return []
        is_over = await self._until(self._nothing_more_falls_empty, EMPTY_LIMIT_S)
        await self._rest()
        narrator = self._narrator
        early = [
            f"{node} after {narrator.asked_at[node] - since:.0f} s"
            for node, since in sorted(narrator.empty_since.items())
            if node in narrator.asked_at
            and narrator.asked_at[node] - since < (ttls.get(narrator.provisioner_of[node]) or 0)
        ]
        emptied = sorted(narrator.empty_since)
        return [
            Check("every node that fell empty is gone", is_over, ", ".join(emptied)),
            Check("none of them went before its time", not early, "; ".join(early)),
        ]

    def _nothing_more_falls_empty(self) -> bool:
        """No pod will end by itself, no empty node is left, and no command runs."""
        ending = any(
            RUN_SECONDS in pod.metadata.annotations and not pod.is_terminal
            for pod in self._store.sorted(kinds.PODS)
        )
        empty = any(machine.is_empty for machine in self._store.sorted(kinds.MACHINES))
        return self._is_at_rest() and not (ending or empty)

    def _is_at_rest(self) -> bool:
        running = any(one.is_running for one in self._store.sorted(kinds.DISRUPTIONS))
        return self._narrator.at_s - self._changed_at >= CALM_S and not running

    # Chapter 4.

    async def _evening(self) -> list[Check]:
        shrinking = evening.wanted(self._objects)
        if not shrinking:
            return []
        self._chapter("The bill falls")
        narrator, before = self._narrator, evening.saved(self._store)
        costly = narrator.bill.fleet()
        narrator.tell("cluster", f"the machines cost {costly.said('USD/h')}")
        for ref, replicas in shrinking:
            narrator.tell("you", f"kubectl scale {ref} --replicas={replicas}")
            await self._world.api.patch(ref, {"spec": {"replicas": replicas}})
        self._changed_at = narrator.at_s
        is_over = await self._until(self._is_at_rest, EMPTY_LIMIT_S)
        narrator.tell("cluster", f"the machines cost {narrator.bill.fleet().said('USD/h')}")
        done = evening.saved(self._store)
        has_fallen = narrator.bill.fleet().usd < costly.usd
        return [
            Check("no command is half done", is_over),
            Check("the bill has fallen", done.commands > before.commands and has_fallen, str(done)),
        ]

    # Chapter 5.

    def _tidy(self) -> list[Check]:
        self._chapter("What came of it")
        store = self._store
        claimed = [n for n in store.sorted(kinds.NODES) if names.CORDONED in n.metadata.annotations]
        cordoned = [n.name for n in claimed if n.is_cordoned]
        known = {machine.provider_id for machine in store.sorted(kinds.MACHINES)}
        leaked = [
            instance.name
            for instance in store.sorted(kinds.INSTANCES)
            if instance.status.phase in {"Pending", "Running"}
            and not instance.spec.is_terminating
            and instance.provider_id not in known
        ]
        crashes = self._narrator.counts["crashes"]
        overrun = "; ".join(self._overruns.found)
        return [
            Check("no disruption budget was overrun", not overrun, overrun),
            Check("no cordon of ours is left", not cordoned, ", ".join(cordoned)),
            Check("no machine runs without a node", not leaked, ", ".join(leaked)),
            Check(
                "no step of unmoor crashed",
                crashes == 0,
                f"{counted(crashes, 'step')} did" * bool(crashes),
            ),
        ]

    def _tell(self, line: Line) -> None:
        self._lines.append(line)
        self._say(line)

    # Looking and waiting.

    def _see(self, kind: str, old: Any | None, new: Any | None) -> None:
        self._changed_at = self._narrator.at_s
        self._narrator.see(old, new)
        if kind in {"Pod", "PodDisruptionBudget"}:
            self._overruns.look(self._store)

    def _hear(self, record: Record) -> None:
        self._narrator.hear(record)

    async def _until(self, holds: Callable[[], bool], within_s: float) -> bool:
        ends_at = self._narrator.at_s + within_s
        while not holds():
            if self._narrator.at_s >= ends_at:
                return False
            await self._world.clock.sleep(LOOK_AGAIN_S)
        return True

    async def _rest(self) -> None:
        await self._until(lambda: self._narrator.at_s - self._changed_at >= CALM_S, UP_LIMIT_S)

    async def _find(self, ref: Ref) -> JSON | None:
        try:
            return await self._world.api.get(ref)
        except ApiError:
            return None
