"""``unmoor sim up``: a cluster that others use, how it begins, and how it ends."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.app import simulated
from tests.app.loopback import UNMOOR
from tests.app.simulated import PATIENCE_S, Up, refused, until
from unmoor.app import manifests
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.crds import all_crds
from unmoor.model.kinds import (
    DEPLOYMENTS,
    DISRUPTIONS,
    KINDS,
    LEASES,
    MACHINES,
    NODES,
    PODS,
    Resource,
)
from unmoor.model.kinds import PROVISIONERS as OWNERS
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver.definitions import DEFINITIONS

STOP_S = 2.0
FAST = "--speed=20"
SHOP = manifests.shipped("quickstart") / "3-shop.yaml"
CART = DEPLOYMENTS.ref("cart", "shop")


async def deploy(cluster: Up) -> None:
    """The shop, until all of it is ready."""
    for ref, body in manifests.read(SHOP):
        await cluster.api.create(ref, body)

    async def is_ready() -> bool:
        status: JSON = (await cluster.api.get(CART)).get("status") or {}
        return status.get("readyReplicas") == 6

    await until("six ready pods", is_ready)


async def busy_node(cluster: Up) -> str:
    pods = await cluster.all(PODS)
    return str(pods[0]["spec"]["nodeName"])


async def until_gone(cluster: Up, node: str) -> None:
    async def is_gone() -> bool:
        return node not in [one["metadata"]["name"] for one in await cluster.all(NODES)]

    await until(f"no node {node}", is_gone)


async def test_a_node_is_deleted_drained_and_told_about(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    async with simulated.up(path, FAST) as cluster:
        assert cluster.first["event"] == "up"
        assert cluster.first["kubeconfig"] == str(path)
        assert [one["is_ready"] for one in cluster.first["nodes"]] == [True] * 4
        assert {one["zone"][-1] for one in cluster.first["nodes"]} == {"a", "b", "c"}
        await deploy(cluster)
        node = await busy_node(cluster)
        await cluster.api.delete(NODES.ref(node))
        await until_gone(cluster, node)

        code, took_s = await cluster.stop()

    assert code == 0
    assert took_s < STOP_S
    assert not path.exists()
    told = cluster.texts("unmoor")
    assert f"cordoned {node}: no new pods go there" in told
    assert any("its budget says not yet" in text for text in told)
    assert any(text.startswith("told the cloud to end") and node in text for text in told)
    assert f"node {node} is gone" in cluster.texts("cluster")
    last = cluster.said[-1]
    assert last["event"] == "down"
    assert last["nodes_removed"] == [node]
    assert last["evictions"] > 0
    assert last["usd_per_h_after"] < last["usd_per_h_before"]


async def test_an_empty_node_goes_when_a_provisioner_says_so(tmp_path: Path) -> None:
    async with simulated.up(tmp_path / "kubeconfig", FAST) as cluster:
        ttl: JSON = {"spec": {"ttlSecondsAfterEmpty": 30}}
        await cluster.api.patch(OWNERS.ref("general"), ttl)

        async def are_gone() -> bool:
            return not await cluster.all(NODES)

        await until("no nodes", are_gone)
        methods = {one["spec"]["method"] for one in await cluster.all(DISRUPTIONS)}
        assert methods == {"emptiness"}


async def test_ctrl_c_ends_it_with_watches_open_and_in_its_first_second(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    async with simulated.up(path, "--empty", "--speed=100") as cluster:
        assert cluster.first["nodes"] == []
        since = (await cluster.api.list(PODS.raw())).resource_version
        watch = aiter(cluster.api.watch(PODS.raw(), since=since))
        waiting = asyncio.ensure_future(anext(watch))
        await until("a lease", lambda: cluster.all(LEASES))

        code, took_s = await cluster.stop(signal.SIGINT)

        await asyncio.gather(waiting, return_exceptions=True)
    assert code == 0
    assert took_s < STOP_S
    assert not path.exists()


async def test_two_signals_at_once_are_one(tmp_path: Path) -> None:
    """So it is where `timeout -s INT` ends it."""
    path = tmp_path / "kubeconfig"
    async with simulated.up(path, "--empty") as cluster:
        cluster.process.send_signal(signal.SIGINT)
        code, _ = await cluster.stop(signal.SIGTERM)

    assert code == 0
    assert cluster.said[-1]["event"] == "down"
    assert not path.exists()


async def test_even_one_that_hangs_takes_its_file_away(tmp_path: Path) -> None:
    """Nobody reads what it says, so it cannot go on; a second signal later ends it."""
    path, nodes = tmp_path / "kubeconfig", tmp_path / "nodes.json"
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}"}}
        for number in range(100)
    ]
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    ours, its = os.pipe()
    fcntl.fcntl(its, fcntl.F_SETPIPE_SZ, 4096)
    process = await asyncio.create_subprocess_exec(
        UNMOOR, "sim", "up", "--port=0", f"--kubeconfig={path}", f"--load={nodes}", "-ojson",
        stdout=its,
    )  # fmt: skip
    os.close(its)
    try:

        async def is_written() -> bool:
            return path.exists() and bool(path.read_bytes())

        await until("a kubeconfig", is_written)

        async def has_ended() -> bool:
            process.send_signal(signal.SIGINT)
            return process.returncode is not None

        with suppress(ProcessLookupError):
            await until("its end", has_ended)
        code = await asyncio.wait_for(process.wait(), PATIENCE_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)

    assert code == 128 + signal.SIGINT
    assert not path.exists()


async def test_two_live_side_by_side_and_the_same_seed_has_the_same_nodes(tmp_path: Path) -> None:
    async with (
        simulated.up(tmp_path / "a") as one,
        simulated.up(tmp_path / "b") as other,
        simulated.up(tmp_path / "c", "--seed=2") as third,
    ):
        servers = {cluster.first["server"] for cluster in (one, other, third)}

        assert len(servers) == 3
        assert one.first["nodes"] == other.first["nodes"] != third.first["nodes"]


async def test_unmoor_can_be_outside(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    async with simulated.up(path, FAST, "--no-controller") as cluster:
        assert cluster.first["nodes"] == []
        outside = await asyncio.create_subprocess_exec(
            UNMOOR,
            "run",
            f"--kubeconfig={path}",
            "--cloud=simulated",
            "--metrics-port=0",
            "--health-port=0",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:

            async def are_up() -> bool:
                labels = [one["metadata"]["labels"] for one in await cluster.all(NODES)]
                return sum(names.INITIALIZED in one for one in labels) == 4

            await until("four initialized nodes", are_up)
            await deploy(cluster)
            node = await busy_node(cluster)
            await cluster.api.delete(NODES.ref(node))
            await until_gone(cluster, node)
        finally:
            outside.kill()
            await outside.wait()
        await cluster.stop()

    told = cluster.texts("unmoor")
    assert any(text.endswith("the server admits it") for text in told)
    assert any(text.startswith("told the cloud to end") and node in text for text in told)


async def test_whom_a_deadline_deletes_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    async with simulated.up(path) as cluster:
        await deploy(cluster)
        node = await busy_node(cluster)
        pods = [
            f"shop/{pod['metadata']['name']}"
            for pod in await cluster.all(PODS)
            if pod["spec"]["nodeName"] == node
        ]
        drain = await asyncio.create_subprocess_exec(
            UNMOOR, "drain", node, f"--kubeconfig={path}", "--deadline=1s"
        )
        assert await asyncio.wait_for(drain.wait(), PATIENCE_S) == 0
        await cluster.stop()

    told = cluster.texts("unmoor")
    deleted = {f"deleted {pod}: its drain's deadline allows no more" for pod in pods}
    assert deleted
    assert deleted <= set(told)


async def test_what_one_cluster_holds_another_can_begin_with(tmp_path: Path) -> None:
    """Pods stay where they are, with their owners; nodes and machines live on."""
    async with simulated.up(tmp_path / "a", FAST) as first:
        await deploy(first)
        lists = [
            {"apiVersion": kind.api_version, "kind": f"{name}List", "items": await first.all(kind)}
            for name, kind in KINDS.items()
        ]
        places = {one["metadata"]["uid"]: one["spec"]["nodeName"] for one in await first.all(PODS)}
        await first.stop()
    stored: JSON = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    foreign: JSON = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web"}}
    dump = "\n---\n".join(json.dumps(one) for one in (*lists, stored, foreign))

    async with simulated.up(tmp_path / "b", FAST, "--load=-", stdin=dump.encode()) as cluster:
        found = {one["metadata"]["uid"]: one["spec"]["nodeName"] for one in await cluster.all(PODS)}
        assert found == places
        assert len(await cluster.all(MACHINES)) == 4
        node = await busy_node(cluster)
        await cluster.api.delete(NODES.ref(node))
        await until_gone(cluster, node)
        await cluster.stop()

    assert "left out, as the cluster does not serve them: 1 Endpoints" in cluster.errors


async def test_what_a_dump_defines_is_served(tmp_path: Path) -> None:
    """In whatever order and file, and our own definitions are there already."""
    widgets: Resource[JSON] = Resource("Widget", "widgets", "example.com", "v1", True, dict)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    definition: JSON = {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": "widgets.example.com", "uid": "u-1", "resourceVersion": "7"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    meta = {"name": "a", "namespace": "shop", "uid": "u-2"}
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "size": 3}
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    one.write_text(json.dumps(widget))
    items = [*all_crds(), definition]
    other.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    async with simulated.up(tmp_path / "a", f"--load={one}", f"--load={other}") as cluster:
        (found,) = await cluster.all(widgets)
        defined = await cluster.all(DEFINITIONS)
        await cluster.stop()

    assert (found["metadata"]["uid"], found["size"]) == ("u-2", 3)
    assert len(defined) == len(items)
    assert cluster.errors == ""


async def test_a_dump_of_another_cloud_gets_simulated_instances(tmp_path: Path) -> None:
    """No other cluster has Instances, or Machines that are unmoor's already.

    Handed over as told, its nodes can be drained, and go when they are empty.
    """
    async with simulated.up(tmp_path / "a", FAST) as first:
        await deploy(first)
        lists = [
            {"apiVersion": kind.api_version, "kind": f"{name}List", "items": await first.all(kind)}
            for name, kind in KINDS.items()
            if name != "Instance"
        ]
        await first.stop()
    dump = "\n---\n".join(map(json.dumps, lists)).replace("sim:///", "aws:///")
    dump = dump.replace(names.MANAGED_BY, "karpenter.sh/managed-by")
    dump = re.sub(r'"i-(\w+)"', r'"ip-\1.internal"', dump)  # a node is not called as its instance

    async with simulated.up(tmp_path / "b", FAST, "--load=-", stdin=dump.encode()) as cluster:
        assert cluster.first["machines"] == 0
        handed: JSON = {"metadata": {"annotations": {names.MANAGED_BY: "sim"}}}
        for machine in await cluster.all(MACHINES):
            await cluster.api.patch(MACHINES.ref(machine["metadata"]["name"]), handed)
        node = await busy_node(cluster)
        assert node.endswith(".internal")
        await cluster.api.delete(NODES.ref(node))
        await until_gone(cluster, node)
        await cluster.api.delete(CART)
        ttl: JSON = {"spec": {"ttlSecondsAfterEmpty": 30}}
        await cluster.api.patch(OWNERS.ref("general"), ttl)

        async def are_gone() -> bool:
            return not await cluster.all(NODES) and not await cluster.all(MACHINES)

        await until("no nodes, no machines", are_gone)
        await cluster.stop()

    assert "4 machines get simulated instances in place of those of aws\n" in cluster.errors
    hand_over = f"kubectl annotate machines --all {names.MANAGED_BY}=sim"
    assert f"no Machine is handed to unmoor: `{hand_over}` does it\n" in cluster.errors
    told = cluster.texts("unmoor")
    assert sum(text.startswith("told the cloud to end sim:///") for text in told) == 4


async def test_faults_befall_it_and_are_counted(tmp_path: Path) -> None:
    async with simulated.up(
        tmp_path / "kubeconfig", "--speed=100", "--faults=api-conflict,server"
    ) as cluster:

        async def is_told() -> bool:
            return bool(cluster.texts("fault"))

        await until("a fault", is_told)
        await cluster.stop()

    assert cluster.said[-1]["faults"]["server-restart"] >= 1


async def test_the_loop_is_in_step_with_the_clock_of_its_users(tmp_path: Path) -> None:
    """At speed 1 what a client stamps and what the server stamps can be compared."""
    async with simulated.up(tmp_path / "kubeconfig") as cluster:
        ours = SystemClock()
        ref = KINDS["ConfigMap"].ref("a", "default")
        before = ours.now().wall
        made = await cluster.api.create(ref, {"metadata": {"name": "a", "namespace": "default"}})
        after = ours.now().wall

    stamp = made["metadata"]["creationTimestamp"]
    assert f"{before:%Y-%m-%dT%H:%M:%SZ}" <= stamp <= f"{after:%Y-%m-%dT%H:%M:%SZ}"


async def test_only_its_own_file_is_written_and_only_while_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    async with simulated.up(path, "--empty") as cluster:
        port = cluster.first["server"].rpartition(":")[2]
        taken = await refused(f"--port={port}", f"--kubeconfig={tmp_path / 'other'}")
        same = await refused("--port=0", f"--kubeconfig={path}")
        assert path.stat().st_mode & 0o777 == 0o600

    assert f"--port: 127.0.0.1:{port} cannot be listened on: Address already in use" in taken
    assert not (tmp_path / "other").exists()
    assert "is that of an `unmoor sim up` which is running" in same
    # It was killed, so the file is still there, and in nobody's way.
    assert path.exists()
    async with simulated.up(path, "--empty") as cluster:
        assert await cluster.all(NODES) == ()
        with pytest.raises(ApiError):
            await cluster.api.get(NODES.ref("nobody"))
