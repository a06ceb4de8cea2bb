"""A cloud that is out of everything for an hour: no storm of machines, and people are told."""

from __future__ import annotations

from collections import Counter

from tests.scenarios import objects
from tests.scenarios.virtual import NAMESPACE, QUICK
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.cluster import SIMULATED_SHELF, UNAVAILABLE
from unmoor.runtime.controller import Options
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.virtual import run
from unmoor.sim.world import Process, World

PODS = 8
HOUR_S = 3_600.0
SHELVES = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SIMULATED_SHELF.name}}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": names.HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


class SoldOut:
    """Pods that each need a machine of their own, while there is none to be had."""

    def __init__(self) -> None:
        self.writes: Counter[tuple[str, str]] = Counter()
        self.told: list[JSON] = []
        self.ran = 0

    def _observe(self, _: object, entry: Entry) -> None:
        self.writes[entry.obj["kind"], entry.type] += 1

    async def play(self) -> None:
        types = {one.name: one for one in ec2_types()}
        async with World(0, cloud=SimulatedCloud, types=types, delays=QUICK) as world:
            unmoor = Process(
                world,
                Options(namespace=NAMESPACE),
                api=world.api,
                cloud=SimulatedCloud(world.api),
            )
            for ref, body in (
                objects.namespace(NAMESPACE),
                objects.settings(NAMESPACE),
                objects.provisioner("red", labels={objects.FIELD: "apps"}),
                objects.namespace("apps"),
                (SIMULATED_SHELF, {**SHELVES, "data": {UNAVAILABLE: "* * *"}}),
                objects.deployment("web", namespace="apps", replicas=PODS, affinity=APART),
            ):
                await world.api.create(ref, body)
            world.server.observers.append(self._observe)
            await unmoor.start()
            await world.clock.sleep(HOUR_S)
            tables = world.server.store.tables
            self.told = list(tables["Event"].objects.values())
            world.server.observers.remove(self._observe)
            await world.api.patch(SIMULATED_SHELF, {"data": {UNAVAILABLE: ""}})
            await world.clock.sleep(HOUR_S / 3)
            pods = tables["Pod"].objects.values()
            self.ran = sum(pod["status"].get("phase") == "Running" for pod in pods)
            await unmoor.stop()


def test_an_hour_without_stock_is_no_storm_and_ends_when_there_is_some() -> None:
    story = SoldOut()
    run(story.play())
    failures = [one["message"] for one in story.told if one["reason"] == "FailedScheduling"]

    # One each; then one at a time, as long as there are types that were not asked for a while.
    assert PODS < story.writes["Machine", "ADDED"] <= PODS + 25
    assert story.writes["Machine", "DELETED"] == story.writes["Machine", "ADDED"]
    assert story.writes["Event", "ADDED"] + story.writes["Event", "MODIFIED"] < 250
    assert any("provisioner on hold: red: the cloud had no capacity" in one for one in failures)
    assert any("none is to be had now" in one for one in failures)
    assert story.ran == PODS
