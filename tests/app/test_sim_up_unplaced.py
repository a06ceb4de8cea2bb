"""What ``unmoor sim up`` says of a pod that finds no place."""

from __future__ import annotations

from pathlib import Path

from tests.app import simulated
from tests.app.simulated import until
from unmoor.model.base import JSON
from unmoor.model.kinds import EVENTS, PODS

SHOP = Path(__file__).parents[2] / "examples" / "shop"


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


async def test_what_is_bought_while_a_folder_is_loaded_is_told_once_the_cluster_is_shown(
    tmp_path: Path,
) -> None:
    """With times below zero; a reason that holds no longer stands beside it as it was."""
    path = tmp_path / "kubeconfig"
    async with simulated.up(path, f"--load={SHOP}") as cluster:
        await cluster.stop()

    assert cluster.first["event"] == "up"
    bought = [one for one in cluster.said if one.get("is_purchase")]
    words = [one["text"].partition(" ")[0] for one in bought]
    assert (words.count("ordered"), words.count("launched")) == (9, 9)
    assert all(one["at_s"] < 0 for one in bought)
    assert [one["time"] for one in bought] == sorted(one["time"] for one in bought)
