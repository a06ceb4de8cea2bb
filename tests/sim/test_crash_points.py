"""A stop before and after each write of unmoor ends in the same final state: every one, no sample.

A story is played once without a stop, to count its writes (API and cloud). Then it is played again
for each of them, twice: the plug is pulled right before the write, and right after it, when the
server has it and unmoor does not know. A second process is started, and in the end everything is
as it would have been. Three stories have 107 writes, events included: 214 stops.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from tests.scenarios import objects
from tests.scenarios.settings import SETTINGS
from tests.scenarios.virtual import NAMESPACE, QUICK
from tests.sim import sabotage
from unmoor.model import kinds
from unmoor.model.base import JSON, Ref
from unmoor.runtime.controller import Options
from unmoor.runtime.ports import DeleteOptions
from unmoor.sim.trap import Trap, When
from unmoor.sim.virtual import run
from unmoor.sim.witness import Witness
from unmoor.sim.world import Process, World

FIELD = "apps"
PATIENCE_S = 300.0
LOOK_S = 0.5
RESTART_AFTER_S = 2.0
REST_S = 10.0
"""What comes after the end of a story, comes within this time."""


class Ground:
    """A cluster with unmoor on it, and a trap on all ways of unmoor."""

    def __init__(self) -> None:
        self.world = World(0, cloud=sabotage.cloud_of, shapes=sabotage.SHAPES, delays=QUICK)
        self.trap = Trap()
        witness = Witness(lambda: self.world.clock.now().mono)
        door = witness.door("unmoor", self.world.api, self.trap)
        self.process = Process(
            self.world,
            Options(namespace=NAMESPACE, lease=None),
            api=door,
            cloud=sabotage.cloud_of(witness.door("unmoor", self.world.api, self.trap)),
        )

    async def apply(self, *manifests: tuple[Ref, JSON]) -> None:
        for ref, body in manifests:
            await self.world.api.create(ref, body)

    def all(self, kind: str) -> list[JSON]:
        return list(self.world.server.store.tables[kind].objects.values())

    async def until(self, is_so: Callable[[], bool]) -> None:
        end = self.world.clock.now().mono + PATIENCE_S
        while not is_so():
            assert self.world.clock.now().mono < end, f"not in time: {self.state()}"
            await self.world.clock.sleep(LOOK_S)

    def state(self) -> dict[str, object]:
        """What counts in the end, without names and times that a restart may change."""
        pods = [pod for pod in self.all("Pod") if "deletionTimestamp" not in pod["metadata"]]
        instances = [one for one in self.all("Instance") if not one["spec"].get("terminate")]
        return {
            "nodes": sorted(_marks_of(node) for node in self.all("Node")),
            "machines": len(self.all("Machine")),
            "instances": len(instances),
            "pods": Counter(str(pod["metadata"]["labels"]["app"]) for pod in pods),
            # Nodes that would have gone together may go one after the other.
            "disruptions": sorted(
                {str((one.get("status") or {}).get("phase")) for one in self.all("Disruption")}
            ),
            "provisioners": sorted(str(one["metadata"]["name"]) for one in self.all("Provisioner")),
        }


def _marks_of(node: JSON) -> str:
    """All that unmoor may leave on a node."""
    meta = node["metadata"]
    owners = [one["kind"] for one in meta.get("ownerReferences") or ()]
    marks = sorted(one for one in meta.get("annotations") or {} if one.startswith("unmoor.dev/"))
    cordon = node["spec"].get("unschedulable", False)
    return f"{owners} {marks} {sorted(meta['labels'])} {cordon} {meta.get('finalizers')}"


Story = Callable[[Ground], Awaitable[None]]
End = Callable[[Ground], bool]


async def raise_cluster(ground: Ground, *machines: str, ttl_s: int | None = None) -> None:
    """Nodes for these machines, initialized."""
    more: JSON = {} if ttl_s is None else {"ttlSecondsAfterEmpty": ttl_s}
    await ground.apply(
        objects.namespace(NAMESPACE),
        objects.namespace(FIELD),
        objects.settings(NAMESPACE, **SETTINGS),
        objects.provisioner("red", **more),
        *(objects.machine(one, provisioner="red", field=FIELD) for one in machines),
    )


def _is_up(ground: Ground, count: int) -> bool:
    labels = [node["metadata"].get("labels") or {} for node in ground.all("Node")]
    return sum("karpenter.sh/initialized" in one for one in labels) == count


async def launch(ground: Ground) -> None:
    """A machine comes up, from its manifest to its initialization."""
    await raise_cluster(ground, "m1")


async def drain(ground: Ground) -> None:
    """A node with a naked pod and a workload under a budget is deleted, its machine with it."""
    await raise_cluster(ground, "m1", "m2")
    await ground.until(lambda: _is_up(ground, 2))
    await ground.apply(
        objects.deployment("web", namespace=FIELD, replicas=3),
        objects.budget("web", namespace=FIELD, app="web", maxUnavailable=1),
        objects.pod("naked", namespace=FIELD),
    )
    await ground.until(lambda: len(_running(ground)) == 4)
    (naked,) = [pod for pod in ground.all("Pod") if pod["metadata"]["name"] == "naked"]
    await ground.world.api.delete(kinds.NODES.ref(naked["spec"]["nodeName"]), DeleteOptions())


def _running(ground: Ground) -> list[JSON]:
    return [
        pod
        for pod in ground.all("Pod")
        if (pod.get("status") or {}).get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
    ]


async def empty(ground: Ground) -> None:
    """Two nodes are empty, and go by a command of their own."""
    await raise_cluster(ground, "m1", "m2", ttl_s=3)


def is_launched(ground: Ground) -> bool:
    conditions = [
        one["type"]
        for machine in ground.all("Machine")
        for one in (machine.get("status") or {}).get("conditions") or ()
        if one["status"] == "True"
    ]
    return "MachineInitialized" in conditions and "Ready" in conditions


def is_drained(ground: Ground) -> bool:
    return len(ground.all("Node")) == len(ground.all("Machine")) == 1 and len(_running(ground)) >= 3


def is_emptied(ground: Ground) -> bool:
    commands = [(one.get("status") or {}).get("phase") for one in ground.all("Disruption")]
    return not ground.all("Node") and not ground.all("Machine") and set(commands) == {"Succeeded"}


STORIES: dict[str, tuple[Story, End]] = {
    "launch": (launch, is_launched),
    "drain": (drain, is_drained),
    "emptiness": (empty, is_emptied),
}
LEAST_WRITES = {"launch": 10, "drain": 35, "emptiness": 40}
"""Fewer would mean that a story has stopped telling what it should."""


async def play(name: str, stop: tuple[int, When] | None = None) -> tuple[dict[str, object], int]:
    """Play a story, with a stop at the n-th write; return its final state and its writes."""
    story, end = STORIES[name]
    ground = Ground()
    async with ground.world:
        await ground.process.start()
        if stop is not None:
            ground.trap.arm(*stop, ground.process.cut)
        nurse = asyncio.create_task(_nurse(ground))
        await story(ground)
        await ground.until(lambda: end(ground))
        writes = ground.trap.writes
        await ground.world.clock.sleep(REST_S)
        nurse.cancel()
        await ground.process.kill()
    return ground.state(), writes


async def _nurse(ground: Ground) -> None:
    """Start a new process some time after the old one was stopped."""
    while True:
        if ground.trap.is_sprung:
            await ground.process.kill()
            await ground.world.clock.sleep(RESTART_AFTER_S)
            ground.trap.disarm()
            await ground.process.start()
        await ground.world.clock.sleep(LOOK_S)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(STORIES))
def test_a_stop_at_any_write_ends_in_the_same_state(name: str) -> None:
    expected, writes = run(play(name))
    assert writes >= LEAST_WRITES[name]

    for number in range(1, writes + 1):
        for when in When:
            actual, _ = run(play(name, (number, when)))

            assert actual == expected, f"{name}: stopped {when.value} write {number} of {writes}"
