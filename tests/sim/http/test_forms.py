"""How answers look, and what requests in protobuf say."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import kubernetes
import pytest

from tests.sim.http.client import MAPS, NOW, TABLE, Client
from unmoor.sim.http import ages, jsonpath, protobuf

MACHINES = "/apis/karpenter.sh/v1alpha5/machines"
PODS = "/api/v1/namespaces/default/pods"
YAML = {"Content-Type": "application/yaml"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (11_000, "3h3m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (9 * 86_400, "9d"),
        (2 * 365 * 86_400, "2y"),
        (2 * 365 * 86_400 + 86_400, "2y1d"),
        (9 * 365 * 86_400, "9y"),
    ],
)
def test_ages(seconds: int, text: str) -> None:
    assert ages.duration(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a", [1]),
        (".b.c", ["x"]),
        (r".labels.k\.io/zone", ["z"]),
        (".labels['k.io/zone']", ["z"]),
        (".list[0].n", [1]),
        (".list[-1].n", [2]),
        (".list[*].n", [1, 2]),
        ('.list[?(@.t=="two")].n', [2]),
        (".list[7].n", []),
        (".nothing.there", []),
        (".a.b", []),
        ("{weird", []),
    ],
)
def test_paths_of_columns(path: str, found: list[Any]) -> None:
    obj = {
        "a": 1,
        "b": {"c": "x"},
        "labels": {"k.io/zone": "z"},
        "list": [{"n": 1, "t": "one"}, {"n": 2, "t": "two"}],
    }

    assert jsonpath.find(path, obj) == found


async def cells(client: Client, path: str) -> list[Any]:
    (row,) = (await client.get(path, TABLE)).body["rows"]
    found: list[Any] = row["cells"]
    return found


async def test_a_pod_in_a_line(client: Client) -> None:
    await client.create(
        PODS, "Pod", "a", spec={"containers": [{"name": n, "image": "i"} for n in ("x", "y")]}
    )
    running = {"name": "x", "ready": True, "restartCount": 0, "state": {"running": {}}}
    stuck = {
        "name": "y",
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"finishedAt": "2026-03-01T11:58:00Z", "exitCode": 1}},
    }
    status = {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [running, stuck]}
    merge = {"Content-Type": "application/merge-patch+json"}
    await client.send("PATCH", f"{PODS}/a/status", {"status": status}, merge)

    found = await cells(client, PODS)

    assert found[:6] == ["a", "1/2", "CrashLoopBackOff", "3 (2m ago)", "0s", "10.0.0.1"]
    assert found[6:] == ["<none>", "<none>", "<none>"]


async def test_a_custom_object_in_a_line(client: Client) -> None:
    labels = {"topology.kubernetes.io/zone": "z1"}
    await client.create(MACHINES, "Machine", "a", metadata={"labels": labels})

    table = (await client.get(MACHINES, TABLE)).body
    line = dict(
        zip(
            (one["name"] for one in table["columnDefinitions"]),
            table["rows"][0]["cells"],
            strict=True,
        )
    )

    assert (line["Name"], line["Zone"], line["Node"], line["Age"]) == ("a", "z1", None, "0s")


@pytest.mark.parametrize("include", ["None", "Metadata", "Object"])
async def test_how_much_goes_along_with_a_row(client: Client, include: str) -> None:
    await client.create(MAPS, "ConfigMap", "a", data={"k": "v"})

    table = (await client.get(f"{MAPS}?includeObject={include}", TABLE)).body
    given = table["rows"][0].get("object") or {}

    assert ("metadata" in given) == (include != "None")
    assert ("data" in given) == (include == "Object")


async def test_yaml_in_and_out(client: Client) -> None:
    made = await client.send("POST", MAPS, b"metadata: {name: a}\ndata: {k: '2026-01-01'}\n", YAML)
    found = await client.get(f"{MAPS}/a", "application/yaml")

    assert made.body["data"] == {"k": "2026-01-01"}
    assert b"kind: ConfigMap" in found.raw


async def test_what_is_dropped_is_warned_of(client: Client) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"k":"1"},"data":{"k":"2"},"x":1}'
    strict = await client.send("POST", f"{MAPS}?fieldValidation=Strict", body)
    warned = await client.send("POST", MAPS, body)

    assert strict.code == 400
    assert warned.code == 201
    assert sorted(warned.warnings) == [
        '299 - "duplicate field \\"data\\""',
        '299 - "unknown field \\"x\\""',
    ]


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def envelope(version: str, kind: str, raw: bytes) -> bytes:
    identity = field(1, version.encode()) + field(2, kind.encode())
    return protobuf.MAGIC + field(1, identity) + field(2, raw)


def test_protobuf_says_what_json_would() -> None:
    meta = field(1, b"web") + field(3, b"") + field(11, field(1, b"app") + field(2, b"web"))
    budget = field(1, field(1, 0) + field(2, 2)) + field(
        2, field(1, field(1, b"app") + field(2, b"web"))
    )
    body = envelope("policy/v1", "PodDisruptionBudget", field(1, meta) + field(2, budget))

    assert protobuf.decoded(body) == {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }


def test_a_zero_that_was_said_is_kept() -> None:
    body = envelope("v1", "DeleteOptions", field(1, 0))

    assert protobuf.decoded(body)["gracePeriodSeconds"] == 0


def test_half_a_message_is_refused_or_less_of_the_same() -> None:
    meta = field(1, b"web") + field(11, field(1, b"app") + field(2, b"web"))
    body = envelope("v1", "ConfigMap", field(1, meta) + field(2, field(1, b"k") + field(2, b"v")))
    for length in range(len(body)):
        try:
            protobuf.decoded(body[:length])
        except protobuf.NotProtobuf:
            continue


async def test_the_official_client_reads_and_writes(client: Client) -> None:
    settings = client.face.kubeconfig()

    def talk() -> tuple[list[Any], Any, list[Any]]:
        library: Any = kubernetes  # what types it has are not those it returns
        api = library.config.new_client_from_config_dict(settings)
        core = library.client.CoreV1Api(api)
        made = {"metadata": {"name": "a"}, "data": {"k": "v"}}
        core.create_namespaced_config_map("default", made)
        core.patch_namespaced_config_map("a", "default", {"data": {"k": "w"}})
        spaces = [one.metadata.name for one in core.list_namespace().items]
        value = core.read_namespaced_config_map("a", "default").data["k"]
        watch = library.watch.Watch()
        told = watch.stream(core.list_namespaced_config_map, "default", timeout_seconds=1)
        names = [one["object"].metadata.name for one in told]
        api.close()
        return spaces, value, names

    spaces, value, names = await asyncio.to_thread(talk)

    assert "default" in spaces
    assert value == "w"
    assert names == ["a"]


def test_the_clock_of_these_cases_stands_still() -> None:
    assert ages.since("2026-03-01T11:59:00Z", NOW) == "60s"
