"""A process that only observes, on the embedded cluster: what it writes, call by call."""

from __future__ import annotations

from collections import Counter

from tests.scenarios import objects, virtual
from tests.scenarios.stage import Stage
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model import kinds, names
from unmoor.model.disruption import Disruption
from unmoor.model.machine import MACHINE_EMPTY
from unmoor.runtime.around import Call
from unmoor.runtime.controller import Options
from unmoor.runtime.reconcilers import OBSERVING
from unmoor.sim.gate import Gate
from unmoor.sim.virtual import run
from unmoor.sim.world import Process, World

READS = {"get", "list", "watch"}
MAY_BE_WRITTEN = {"Disruption", "Event", "Lease"}
FIELDS = {
    "idle": {"ttlSecondsAfterEmpty": 5},
    "dear": {"consolidation": {"enabled": True}},
}


class Observer(Process):
    """unmoor run --observe, with all that it asks of the API server, its cloud's calls included."""

    calls: Counter[tuple[str, str]]

    def __init__(self, world: World, options: Options) -> None:
        self.calls = Counter()
        line = Gate(world.api, before=self._count)
        super().__init__(
            world, options, api=line, cloud=SimulatedCloud(line), reconcilers=OBSERVING
        )

    def _count(self, call: Call) -> None:
        if call.verb not in READS:
            self.calls[call.verb, call.ref.kind] += 1


async def _observed(stage: Stage, observer: Observer) -> list[Disruption]:
    """An empty node, and one that is far too large for its pod, are there before anybody looks."""
    zone = [{"key": names.ZONE, "operator": "In", "values": ["us-east-1a"]}]
    for field in FIELDS:
        await stage.field(field, requirements=zone, labels={objects.FIELD: field})
    await stage.apply(objects.machine("idle-1", provisioner="idle", field="none"))
    await stage.nodes_up("dear", "dear-1", types=("m5.4xlarge",))
    await stage.node_of("idle-1")
    await stage.apply(objects.deployment("web", namespace="dear", replicas=1))
    await stage.ready("dear", "web", 1)
    await stage.unmoor.stop()
    for field, spec in FIELDS.items():
        await stage.api.patch(kinds.PROVISIONERS.ref(field), {"spec": spec})

    await observer.start()

    async def both() -> list[Disruption]:
        found = await stage.listed(kinds.DISRUPTIONS)
        is_all = {one.spec.method for one in found} == {"emptiness", "consolidation"}
        return found if is_all and all(one.phase == "Observed" for one in found) else []

    async def are_two() -> bool:
        return len(await both()) == len(FIELDS)

    await stage.eventually("both are recorded", both)
    await stage.always("each is recorded once", are_two, for_s=60.0)
    await observer.stop()
    return await both()


def test_an_observer_writes_to_no_node_pod_or_machine() -> None:
    async def play() -> None:
        async with virtual.stage() as stage:
            process = stage.unmoor
            assert isinstance(process, Process)
            options = Options(namespace=virtual.NAMESPACE, is_observing=True)
            observer = Observer(process._world, options)
            found = await _observed(stage, observer)
            machines = await stage.listed(kinds.MACHINES)

            assert all(one.spec.is_observed for one in found)
            assert not any(one.has(MACHINE_EMPTY) or one.is_deleting for one in machines)
            assert sorted(one.name for one in machines) == ["dear-1", "idle-1"]
            assert {kind for _, kind in observer.calls} == MAY_BE_WRITTEN
            # Made, its phase written: twice; what else is said of them is said in events.
            assert observer.calls["create", "Disruption"] == 2
            assert observer.calls["patch", "Disruption"] == 2

    run(play())
