"""Stories of unmoor that can be stopped at any of its writes, and told to their end by another.

A story is played once without a stop, to count its writes (API and cloud, events included). Then it
is played again for each of them, twice: the plug is pulled right before the write, and right after
it, when the server has it and unmoor does not know. A second process is started, and in the end
everything is as it would have been. On the way no rule of the rehearsals may be broken.

Must not: tell a story itself.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec

from tests.scenarios import objects
from tests.scenarios.settings import SETTINGS
from tests.scenarios.virtual import NAMESPACE, QUICK
from tests.sim import sabotage
from unmoor.model.base import JSON, Ref
from unmoor.runtime.controller import Options
from unmoor.sim.allowances import Allowances
from unmoor.sim.checkers import Checkers
from unmoor.sim.settled import unsettled
from unmoor.sim.trap import Trap, When
from unmoor.sim.truth import Truth
from unmoor.sim.virtual import run
from unmoor.sim.witness import Witness
from unmoor.sim.world import Process, World

FIELD = "apps"
PATIENCE_S = 300.0
LOOK_S = 0.5
RESTART_AFTER_S = 2.0
REST_S = 10.0
"""What comes after the end of a story, comes within this time."""
UNSEEN_S = 5.0
STUCK_S = 2.0
"""``cadence.stuckTerminating`` of the stories."""

Stop = tuple[int, When]


class Ground:
    """A cluster with unmoor on it, and a trap on all ways of unmoor."""

    def __init__(self, stop: Stop | None) -> None:
        self.world = World(0, cloud=sabotage.cloud_of, types=sabotage.TYPES_BY_NAME, delays=QUICK)
        self.trap = Trap()
        self.broken: list[str] = []
        """What a story itself has found to be wrong."""
        self.was_stopped = False
        witness = Witness(self.now_s)
        self.truth = Truth(
            self.world.server,
            objects.CLUSTER,
            self.now_s,
            tuple(sabotage.TYPES_BY_NAME.values()),
        )
        self.checkers = Checkers(
            self.truth, witness, Allowances(unseen_s=UNSEEN_S, stuck_s=STUCK_S)
        )
        door = witness.door("unmoor", self.world.api, self.trap)
        self.process = Process(
            self.world,
            Options(namespace=NAMESPACE, lease=None),
            api=door,
            cloud=sabotage.cloud_of(witness.door("unmoor", self.world.api, self.trap)),
        )
        self._stop = stop
        self._written_before = 0

    def now_s(self) -> float:
        return self.world.clock.now().mono

    def begin(self) -> None:
        """Count from here on, and stop where it is to be stopped."""
        self._written_before = self.trap.writes
        if self._stop is not None:
            self.trap.arm(*self._stop, self.process.cut)

    @property
    def writes(self) -> int:
        return self.trap.writes - self._written_before

    async def apply(self, *manifests: tuple[Ref, JSON]) -> None:
        for ref, body in manifests:
            await self.world.api.create(ref, body)

    def all(self, kind: str) -> list[JSON]:
        return list(self.truth.all(kind))

    def running(self, app: str = "") -> list[JSON]:
        """Pods that run and nobody has asked to go."""
        return [
            pod
            for pod in self.all("Pod")
            if (pod.get("status") or {}).get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
            and app in {"", pod["metadata"]["labels"]["app"]}
        ]

    async def until(self, is_so: Callable[[], bool]) -> None:
        end = self.now_s() + PATIENCE_S
        while not is_so():
            assert self.now_s() < end, f"not in time: {self.state()}"
            await self.world.clock.sleep(LOOK_S)

    async def rise(
        self, *machines: tuple[Ref, JSON], ttl_s: int | None = None, **more: str
    ) -> None:
        """Apply these machines and all that they need; ``more`` are settings.

        No other is bought for pods that wait: a story is about the machines that it has.
        """
        spec: JSON = {"limits": {"resources": {"cpu": "0"}}}
        if ttl_s is not None:
            spec["ttlSecondsAfterEmpty"] = ttl_s
        await self.apply(
            objects.namespace(NAMESPACE),
            objects.namespace(FIELD),
            objects.settings(NAMESPACE, **SETTINGS | more),
            objects.provisioner("red", **spec),
            *machines,
        )

    async def up(self, *machines: tuple[Ref, JSON], **more: str) -> None:
        """The same, and wait until their nodes are ready for pods."""
        await self.rise(*machines, ttl_s=None, **more)
        await self.until(lambda: self._initialized() == len(machines))

    def _initialized(self) -> int:
        labels = [node["metadata"].get("labels") or {} for node in self.all("Node")]
        return sum("karpenter.sh/initialized" in one for one in labels)

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

    def wrong(self) -> list[str]:
        """Everything that must not have happened, or must have by now."""
        breaches = [str(breach) for breach in self.checkers.breaches]
        open_ends = [f"{rule}: {message}" for rule, message, _ in unsettled(self.truth)]
        return [*self.broken, *breaches, *open_ends]


def machine(name: str) -> tuple[Ref, JSON]:
    """One machine of the stories."""
    return objects.machine(name, provisioner="red", field=FIELD)


def _marks_of(node: JSON) -> str:
    """All that unmoor may leave on a node."""
    meta = node["metadata"]
    owners = [one["kind"] for one in meta.get("ownerReferences") or ()]
    marks = sorted(one for one in meta.get("annotations") or {} if one.startswith("unmoor.dev/"))
    cordon = node["spec"].get("unschedulable", False)
    return f"{owners} {marks} {sorted(meta['labels'])} {cordon} {meta.get('finalizers')}"


class Story(msgspec.Struct, frozen=True):
    """``tell`` goes on until nothing but unmoor has to act; ``is_over`` says when it has.

    ``least_writes``: fewer would mean that it has stopped telling what it should.
    """

    tell: Callable[[Ground], Awaitable[None]]
    is_over: Callable[[Ground], bool]
    least_writes: int


class Ending(msgspec.Struct, frozen=True):
    """How a story has ended, and how many writes of unmoor it took."""

    state: dict[str, object]
    wrong: list[str]
    writes: int
    was_stopped: bool


def play(story: Story, stop: Stop | None = None) -> Ending:
    """Play a story, with a stop at the n-th write after its beginning."""
    return run(_play(story, stop))


async def _play(story: Story, stop: Stop | None) -> Ending:
    ground = Ground(stop)
    async with ground.world:
        await ground.process.start()
        nurse = asyncio.create_task(_nurse(ground))
        await story.tell(ground)
        await ground.until(lambda: story.is_over(ground))
        writes = ground.writes
        await ground.world.clock.sleep(REST_S)
        nurse.cancel()
        await ground.process.kill()
    return Ending(ground.state(), ground.wrong(), writes, ground.was_stopped)


async def _nurse(ground: Ground) -> None:
    """Start a new process some time after the old one was stopped."""
    while True:
        if ground.trap.is_sprung:
            ground.was_stopped = True
            await ground.process.kill()
            await ground.world.clock.sleep(RESTART_AFTER_S)
            ground.trap.disarm()
            await ground.process.start()
        await ground.world.clock.sleep(LOOK_S)
