"""Where is consolidation after ten minutes of a cluster's life? (a process of its own)

python -m tests.bench.living --nodes 300 --way ours

The whole loop in a simulated cluster: machines boot, pods stop and start, and the scheduler spreads
as kube-scheduler does. ``--way``: ours, the same without steering, or the page's plain way:
the bisection and single nodes, whatever a command saves.

Must not: count how long it takes to make the cluster up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from random import Random
from typing import Any

import msgspec

from tests.bench.converging import mix_of, plain
from tests.bench.gauges import Stopwatch
from tests.bench.planned import price_of
from unmoor.app import loading
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.lifecycle.effects import Create, Evict, Fact
from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.model.cluster import InstanceSpec
from unmoor.model.node import Node
from unmoor.model.settings import CONFIG_MAP_NAME, NAMESPACE
from unmoor.policy import methods
from unmoor.policy.command import Proposal
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method
from unmoor.runtime.controller import Options
from unmoor.runtime.informer import Informer
from unmoor.runtime.store import Store
from unmoor.runtime.story import Record
from unmoor.sim import virtual
from unmoor.sim.actors.kubelet import KubeletDelays
from unmoor.sim.actors.machines import MachineDelays
from unmoor.sim.apiserver import ROOMY
from unmoor.sim.clusters import generator
from unmoor.sim.clusters.mix import Mix
from unmoor.sim.manifests import settings
from unmoor.sim.world import Delays, Process, World

WATCHED = (kinds.NODES, kinds.PODS)
PRELUDE_S = 60.0
AT_ONCE = Delays(
    kubelet=KubeletDelays(
        boot_s=(0.0, 0.0), ready_s=(0.0, 0.0), start_s=(0.0, 1.0), stop_s=(0.0, 1.0)
    ),
    machine=MachineDelays(launch_s=(0.0, 0.0), shut_down_s=(0.0, 0.0)),
)
"""Machines and pods cost no time: what others were measured with."""
WAYS: dict[str, dict[str, str]] = {
    "ours": {},
    "unsteered": {"unmoor.steering": "false"},
    "plain": {
        "unmoor.steering": "false",
        "unmoor.leastSaving": "0",
        "unmoor.movedWorkloadRespect": "0s",
    },
}


class Seen:
    """What unmoor has done: an observer of every step."""

    def __init__(self) -> None:
        self.evicted: dict[str, None] = {}
        self.commands = 0
        self.planned_machines = 0
        self.unplanned_machines = 0
        self.taints = 0
        self.landed: dict[str, float] = {}
        self.crashes: list[str] = []
        self.steps: list[str] = []

    def __call__(self, record: Record) -> None:
        if record.crash:
            self.crashes.append(record.crash)
        for outcome in record.outcomes:
            if outcome.problem is None:
                self._done(record, outcome.effect)
        for fact in record.step.facts:
            self._fact(fact)

    def _done(self, record: Record, effect: Any) -> None:
        match effect:
            case Evict():
                self.evicted[effect.ref.uid] = None
            case Create() if effect.ref.kind == kinds.DISRUPTIONS.kind:
                self.commands += 1
                self.steps.append(f"{record.moment.mono:.0f} s: {effect.why}")
            case Create() if effect.ref.kind == kinds.MACHINES.kind:
                if record.reconciler == "deprovisioning":
                    self.planned_machines += 1
                else:
                    self.unplanned_machines += 1
            case _ if record.reconciler == "steering":
                self.taints += 1

    def _fact(self, fact: Fact) -> None:
        if fact.name == "moved_pods_landed_total":
            where = fact.labels["where"]
            self.landed[where] = self.landed.get(where, 0.0) + (fact.value or 0.0)


class Life:
    """A cluster in virtual time with unmoor in it, looked at once a second."""

    def __init__(self, mix: Mix, way: str, delays: Delays) -> None:
        self._way, self._mix, self._delays = way, mix, delays
        self._types = {one.name: one for one in ec2_types()}
        self.seen = Seen()
        self.store = Store()
        self.prices: dict[str, float] = {}
        self.nodes: dict[str, int] = {}
        self.moves: dict[str, int] = {}
        self.pending_most = 0
        self.pending_pod_s = 0
        self.first: frozenset[str] = frozenset()

    async def live(self, minutes: int) -> None:
        """From the first look on."""
        offers = tuple(self._types.values())
        world = World(
            1,
            cloud=lambda api: SimulatedCloud(api, offers),
            types=self._types,
            manners=ROOMY,
            delays=self._delays,
        )
        objects = [*generator.generate(self._mix, offers)]
        objects += [_instance(body, self._mix.cluster) for ref, body in objects if _is_node(ref)]
        objects.append(settings(CONFIG_MAP_NAME, NAMESPACE, WAYS[self._way] | self._cluster))
        await loading.load(world.server, objects, cluster=self._mix.cluster)
        async with world:
            informer = Informer(world.api, self.store, world.clock, jitter=Random(0).random)
            following = asyncio.create_task(informer.run(WATCHED))
            # What waits has its place, and the kubelets have said who they are.
            await world.clock.sleep(PRELUDE_S)
            self.first = frozenset(pod.uid for pod in self.store.sorted(kinds.PODS))
            unmoor = Process(world, Options(namespace=NAMESPACE, lease=None), observers=[self.seen])
            await unmoor.start()
            self._note(0)
            for second in range(1, minutes * 60 + 1):
                await world.clock.sleep(1.0)
                unmoor.check()
                self._sample()
                if second % 60 == 0:
                    self._note(second // 60)
            await unmoor.stop()
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    @property
    def _cluster(self) -> dict[str, str]:
        return {"aws.clusterName": self._mix.cluster}

    def price_usd_per_h(self) -> float:
        """What all nodes cost together."""
        return sum(self._price_of(node) for node in self.store.sorted(kinds.NODES))

    def _price_of(self, node: Node) -> float:
        return price_of(self._types, node) or 0.0

    def _note(self, minute: int) -> None:
        at = str(minute)
        self.prices[at] = self.price_usd_per_h()
        self.nodes[at] = len(self.store.all(kinds.NODES))
        self.moves[at] = len(self.seen.evicted)

    def _sample(self) -> None:
        pods = self.store.all(kinds.PODS).values()
        waiting = sum(pod.is_unschedulable and not pod.node_name for pod in pods)
        self.pending_most = max(self.pending_most, waiting)
        self.pending_pod_s += waiting


def _is_node(ref: Ref) -> bool:
    return ref.kind == kinds.NODES.kind


def _instance(node: JSON, cluster: str) -> tuple[Ref, JSON]:
    """What the cloud has for a node."""
    meta = node["metadata"]
    labels = meta["labels"]
    [machine] = [one["name"] for one in meta["ownerReferences"] if one["kind"] == "Machine"]
    spec = InstanceSpec(
        cluster=cluster,
        token=machine,
        machine=machine,
        instance_type=labels[names.INSTANCE_TYPE],
        zone=labels[names.ZONE],
        capacity_type=labels[names.CAPACITY_TYPE],
    )
    body = {
        "metadata": {
            "name": meta["name"],
            "uid": f"instance-{meta['name']}",
            "creationTimestamp": meta["creationTimestamp"],
        },
        "spec": msgspec.to_builtins(spec),
        "status": {"phase": "Running", "nodeName": meta["name"]},
    }
    body |= {"apiVersion": kinds.INSTANCES.api_version, "kind": kinds.INSTANCES.kind}
    return kinds.INSTANCES.ref(meta["name"]), body


def lived(mix: Mix, way: str, minutes: int, delays: Delays) -> dict[str, Any]:
    """What became of the cluster."""
    watch = Stopwatch()
    life = Life(mix, way, delays)
    rows = methods.METHODS
    if way == "plain":
        methods.METHODS = tuple(map(_plainly, rows))
    try:
        virtual.run(life.live(minutes))
    finally:
        methods.METHODS = rows
    seen = life.seen
    return {
        "prices": life.prices,
        "nodes": life.nodes,
        "evictions": life.moves,
        "moves": len(seen.evicted),
        "moved_pods": sum(uid in life.first for uid in seen.evicted),
        "commands": seen.commands,
        "steps": seen.steps,
        "planned_machines": seen.planned_machines,
        "unplanned_machines": seen.unplanned_machines,
        "taints": seen.taints,
        "landed": seen.landed,
        "pending_most": life.pending_most,
        "pending_pod_s": life.pending_pod_s,
        "crashes": seen.crashes[:3],
        "cpu_s": watch.cpu_s,
    }


def _plainly(row: methods.Row) -> methods.Row:
    if row.method is not Method.CONSOLIDATION:
        return row
    return msgspec.structs.replace(row, propose=_proposed)


def _proposed(look: Look) -> Proposal:
    return Proposal(command=plain(look))


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--minutes", type=int, default=20)
    parser.add_argument("--way", choices=[*WAYS], required=True)
    parser.add_argument("--at-once", action="store_true")
    given = parser.parse_args()
    delays = AT_ONCE if given.at_once else Delays()
    print(json.dumps(lived(mix_of(given.nodes, 0), given.way, given.minutes, delays)))


if __name__ == "__main__":
    main()
