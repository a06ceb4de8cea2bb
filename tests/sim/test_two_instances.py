"""Two processes at once: without a lease they do no harm, with one only one of them acts."""

from __future__ import annotations

import pytest

from tests.scenarios import objects
from tests.scenarios.settings import SETTINGS
from tests.scenarios.virtual import NAMESPACE, QUICK
from tests.sim import sabotage
from unmoor.model import kinds
from unmoor.model.base import JSON
from unmoor.runtime.controller import Options
from unmoor.runtime.leader import LeaseTimes
from unmoor.runtime.ports import DeleteOptions
from unmoor.sim.allowances import Allowances
from unmoor.sim.checkers import Checkers
from unmoor.sim.settled import unsettled
from unmoor.sim.truth import Truth
from unmoor.sim.virtual import run
from unmoor.sim.witness import Act, Witness
from unmoor.sim.world import Process, World

FIELD = "apps"
PATIENCE_S = 600.0
LEASE = LeaseTimes()
LOOK_S = 0.5
START_S = 5.0
REST_S = 60.0
"""What a second process would still do wrong, it does within this time."""


class Pair:
    """Two processes in one cluster, each with a witness of its own name on all its ways."""

    def __init__(self, seed: int, lease: LeaseTimes | None) -> None:
        self.world = World(
            seed, cloud=sabotage.cloud_of, types=sabotage.TYPES_BY_NAME, delays=QUICK
        )
        self.witness = Witness(self.now_s)
        self.truth = Truth(
            self.world.server,
            objects.CLUSTER,
            self.now_s,
            tuple(sabotage.TYPES_BY_NAME.values()),
        )
        self.checkers = Checkers(self.truth, self.witness, Allowances(unseen_s=15.0, blind_s=1.0))
        self.acts: list[tuple[float, Act]] = []
        self.witness.listen(lambda act: self.acts.append((self.now_s(), act)))
        self.first = self._process("first", lease)
        self.second = self._process("second", lease)

    def now_s(self) -> float:
        return self.world.clock.now().mono

    def _process(self, who: str, lease: LeaseTimes | None) -> Process:
        door = self.witness.door(who, self.world.api)
        return Process(
            self.world,
            Options(identity=who, namespace=NAMESPACE, lease=lease),
            api=door,
            cloud=sabotage.cloud_of(self.witness.door(who, self.world.api)),
        )

    def all(self, kind: str) -> list[JSON]:
        return list(self.truth.all(kind))

    async def until_nodes(self, count: int) -> None:
        end = self.now_s() + PATIENCE_S
        while self.now_s() < end:
            labels = [node["metadata"].get("labels") or {} for node in self.all("Node")]
            if sum("karpenter.sh/initialized" in one for one in labels) == count:
                return
            await self.world.clock.sleep(LOOK_S)
        raise AssertionError(f"not {count} nodes in time")

    async def play(self) -> None:
        """Three machines come up; one node is deleted, one machine, and the third is empty."""
        await self.apply_cluster()
        await self.until_nodes(3)
        for ref, body in (
            objects.deployment("web", namespace=FIELD, replicas=4),
            objects.budget("web", namespace=FIELD, app="web", maxUnavailable=1),
        ):
            await self.world.api.create(ref, body)
        await self.world.clock.sleep(START_S)
        node = self.all("Node")[0]["metadata"]["name"]
        await self.world.api.delete(kinds.NODES.ref(node), DeleteOptions())
        await self.until_nodes(2)
        await self.world.api.delete(kinds.DEPLOYMENTS.ref("web", FIELD), DeleteOptions())
        await self.until_nodes(0)
        await self.world.clock.sleep(REST_S)

    async def apply_cluster(self) -> None:
        """Three machines of a Provisioner that lets empty nodes go."""
        for ref, body in (
            objects.namespace(NAMESPACE),
            objects.namespace(FIELD),
            objects.settings(NAMESPACE, **SETTINGS),
            objects.provisioner("red", ttlSecondsAfterEmpty=30),
            *(objects.machine(f"m{i}", provisioner="red", field=FIELD) for i in range(3)),
        ):
            await self.world.api.create(ref, body)

    def effects_of(self, who: str) -> list[tuple[float, Act]]:
        return [
            (at, act)
            for at, act in self.acts
            if act.who == who and act.call.ref.kind not in {"Lease", "Event"}
        ]


@pytest.mark.parametrize("seed", range(5))
def test_two_without_a_lease_do_no_harm(seed: int) -> None:
    pair = run(_both(seed, None))

    assert pair.effects_of("first")
    assert pair.effects_of("second")
    assert pair.checkers.breaches == []
    assert unsettled(pair.truth) == []
    launched = {act.call.ref for _, act in pair.acts if act.call.ref.kind == "Instance"}
    assert len(launched) == 3


@pytest.mark.parametrize("seed", range(3))
def test_with_a_lease_only_one_acts(seed: int) -> None:
    pair = run(_both(seed, LEASE))

    who = {act.who for _, act in pair.acts if act.call.ref.kind != "Lease"}
    assert len(who) == 1
    assert pair.checkers.breaches == []


async def _both(seed: int, lease: LeaseTimes | None) -> Pair:
    pair = Pair(seed, lease)
    async with pair.world:
        await pair.first.start()
        await pair.second.start()
        await pair.play()
        await pair.first.stop()
        await pair.second.stop()
    return pair


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_other_takes_over_and_they_never_act_at_the_same_time(end: str) -> None:
    pair = run(_handed_over(end))

    first, second = pair.effects_of("first"), pair.effects_of("second")
    assert first
    assert second
    assert max(at for at, _ in first) < min(at for at, _ in second)
    assert pair.checkers.breaches == []
    assert unsettled(pair.truth) == []


async def _handed_over(end: str) -> Pair:
    pair = Pair(0, LEASE)
    async with pair.world:
        await pair.apply_cluster()
        await pair.first.start()
        await pair.until_nodes(3)
        await pair.second.start()
        await (pair.first.kill() if end == "kill" else pair.first.stop())
        await pair.until_nodes(0)
        await pair.world.clock.sleep(REST_S)
        await pair.second.stop()
    return pair
