"""A process that is behind: what it decided on an older state must not undo what came since.

The weather of the swarm brings this about too seldom (three faults in one second), so it is staged:
two processes without a lease, and the number of a launch that lingers on its way.
"""

from __future__ import annotations

from typing import Any

from tests.scenarios import objects
from tests.scenarios.settings import SETTINGS
from tests.scenarios.virtual import NAMESPACE, QUICK
from tests.sim import sabotage
from tests.sim.sabotage import CloudWrapper
from unmoor.model import names
from unmoor.model.base import JSON, Ref
from unmoor.model.instance import CloudInstance, LaunchRequest
from unmoor.runtime.around import ApiAround
from unmoor.runtime.controller import Options
from unmoor.runtime.ports import Api, Cloud, CloudError, DeleteOptions, PatchType
from unmoor.sim.allowances import Allowances
from unmoor.sim.checkers import Checkers
from unmoor.sim.mischief import Meddling
from unmoor.sim.settled import unsettled
from unmoor.sim.truth import Truth
from unmoor.sim.virtual import VirtualClock, run
from unmoor.sim.witness import Witness
from unmoor.sim.world import Process, World

LINGERS_S = 5.0
ANSWERED_AFTER_S = 20.0
REST_S = 120.0


class Lingering(ApiAround):
    """Numbers of launches reach the server late."""

    def __init__(self, api: Api, clock: VirtualClock) -> None:
        super().__init__(api)
        self.clock = clock
        self.numbers = 0

    async def patch(
        self,
        ref: Ref,
        body: Any,
        *,
        how: PatchType = "merge",
        subresource: str = "",
        dry_run: bool = False,
    ) -> JSON:
        if names.LAUNCH_ATTEMPT in ((body.get("metadata") or {}).get("annotations") or {}):
            self.numbers += 1
            await self.clock.sleep(LINGERS_S)
        return await super().patch(ref, body, how=how, subresource=subresource, dry_run=dry_run)


class Moody(CloudWrapper):
    """The first launch is refused; the next one is made at once and answered late."""

    def __init__(self, cloud: Cloud, clock: VirtualClock) -> None:
        super().__init__(cloud)
        self.clock = clock
        self.launches = 0

    async def create(self, request: LaunchRequest) -> CloudInstance:
        self.launches += 1
        if self.launches == 1:
            raise CloudError("failed", "not today")
        made = await super().create(request)
        await self.clock.sleep(ANSWERED_AFTER_S)
        return made


class AnyAttemptOverwritten(Meddling):
    """The number is written over whatever number is there by now."""

    def api(self, api: Api) -> Api:
        class Careless(ApiAround):
            async def patch(
                self,
                ref: Ref,
                body: Any,
                *,
                how: PatchType = "merge",
                subresource: str = "",
                dry_run: bool = False,
            ) -> JSON:
                meta = dict(body.get("metadata") or {})
                if names.LAUNCH_ATTEMPT in (meta.get("annotations") or {}):
                    meta.pop("resourceVersion", None)
                    body = {**body, "metadata": meta}
                return await super().patch(
                    ref, body, how=how, subresource=subresource, dry_run=dry_run
                )

        return Careless(api)


async def furnish(world: World, **provisioner: Any) -> None:
    """Apply one machine, and all that it needs."""
    for ref, body in (
        objects.namespace(NAMESPACE),
        objects.settings(NAMESPACE, **SETTINGS),
        objects.provisioner("red", **provisioner),
        objects.machine("m1", provisioner="red"),
    ):
        await world.api.create(ref, body)


async def play(meddling: Meddling) -> list[str]:
    """Two processes launch one machine; return the rules that were broken."""
    world = World(0, cloud=sabotage.cloud_of, types=sabotage.TYPES_BY_NAME, delays=QUICK)
    clock = world.clock
    witness = Witness(lambda: clock.now().mono)
    truth = Truth(world.server, objects.CLUSTER, lambda: clock.now().mono)
    checkers = Checkers(truth, witness, Allowances(unseen_s=15.0))
    late, prompt = witness.door("late", world.api), witness.door("prompt", world.api)
    lingering = Lingering(meddling.api(late), clock)
    moody = Moody(sabotage.cloud_of(prompt), clock)
    options = Options(namespace=NAMESPACE, lease=None)
    processes = (
        Process(world, options, api=lingering, cloud=sabotage.cloud_of(late)),
        Process(world, options, api=prompt, cloud=moody),
    )
    async with world:
        for process in processes:
            await process.start()
        await furnish(world)
        await clock.sleep(REST_S)
        for process in processes:
            await process.stop()
    assert lingering.numbers
    assert moody.launches >= 2
    return [breach.rule for breach in checkers.breaches] + [one[0] for one in unsettled(truth)]


class Rival(ApiAround):
    """Right before a node's deletion reaches the server, a person writes to the node."""

    def __init__(self, api: Api, person: Api, writes: JSON) -> None:
        super().__init__(api)
        self.person = person
        self.writes = writes
        self.has_written = False

    async def delete(self, ref: Ref, options: DeleteOptions = DeleteOptions()) -> JSON:
        if ref.kind == "Node" and not self.has_written:
            self.has_written = True
            await self.person.patch(ref, self.writes)
        return await super().delete(ref, options)


async def lose_race(writes: JSON) -> tuple[JSON | None, str]:
    """Return the node that a command wanted to delete, and what became of the command."""
    world = World(0, cloud=sabotage.cloud_of, types=sabotage.TYPES_BY_NAME, delays=QUICK)
    rival = Rival(world.api, world.api, writes)
    process = Process(world, Options(namespace=NAMESPACE, lease=None), api=rival)
    async with world:
        await process.start()
        await furnish(world, ttlSecondsAfterEmpty=3)
        await world.clock.sleep(REST_S)
        await process.stop()
    assert rival.has_written
    tables = world.server.store.tables
    [command] = tables["Disruption"].objects.values()
    nodes = list(tables["Node"].objects.values())
    return nodes[0] if nodes else None, command["status"]["phase"]


def test_a_person_who_takes_a_node_back_at_the_last_moment_is_heard() -> None:
    node, phase = run(lose_race({"spec": {"unschedulable": False}}))

    assert node is not None
    assert "deletionTimestamp" not in node["metadata"]
    assert phase == "Cancelled"


def test_whoever_writes_something_else_only_delays_it() -> None:
    node, phase = run(lose_race({"metadata": {"labels": {"rack": "r1"}}}))

    assert (node, phase) == (None, "Succeeded")


def test_a_number_that_comes_late_does_not_launch_a_second_time() -> None:
    assert run(play(Meddling())) == []


def test_and_it_would_be_seen() -> None:
    assert "a-machine-is-launched-once" in run(play(AnyAttemptOverwritten()))
