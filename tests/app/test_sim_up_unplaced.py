"""What ``unmoor sim up`` says of a pod that finds no place."""

from __future__ import annotations

from pathlib import Path

from tests.app import simulated
from tests.app.simulated import until
from unmoor.model.base import JSON
from unmoor.model.kinds import EVENTS, PODS


async def test_why_a_pod_finds_no_place_is_told_and_an_event(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    async with simulated.up(path, "--speed=20") as cluster:
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "9k"}}}
        meta = {"name": "huge", "namespace": "default"}
        body = {"metadata": meta, "spec": {"containers": [container]}}
        ref = PODS.ref("huge", "default")
        await cluster.api.create(ref, {"apiVersion": "v1", "kind": "Pod", **body})

        async def events() -> list[JSON]:
            found = await cluster.all(EVENTS)
            return [one for one in found if one["reason"] == "FailedScheduling"]

        (event,) = await until("an event", events)
        await cluster.stop()

    why = f"0/{len(cluster.first['nodes'])} nodes are available: "
    assert event["message"].startswith(why)
    assert event["involvedObject"]["name"] == "huge"
    assert (event["type"], event["source"]) == ("Warning", {"component": "default-scheduler"})
    told = [text for text in cluster.texts("cluster") if "no place" in text]
    assert told == [f"pod default/huge finds no place: {event['message']}"]
