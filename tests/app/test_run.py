"""``unmoor run`` as a pod runs it: a process, its ports, its log, and how it ends."""

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests import ending
from tests.app import loopback
from tests.app.loopback import UNMOOR, Cluster
from unmoor.app.cli.run import PLACEHOLDER
from unmoor.model import names
from unmoor.model.base import Ref
from unmoor.runtime.ports import ApiError

PATIENCE_S = 30.0
STOP_S = 2.0
LEASE = Ref("Lease", "unmoor", namespace="karpenter")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with loopback.cluster(tmp_path) as built:
        await built.api.create(Ref("Namespace", "karpenter"), {"metadata": {"name": "karpenter"}})
        yield built


class Running:
    """One process, its ports and its log."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.ports: dict[str, int] = {}
        self.log: list[dict[str, Any]] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.log.append(json.loads(line))

    async def get(self, port: str, path: str) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.ports[port]}{path}"
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return response.status, await response.text()

    async def until_said(self, cluster: Cluster, message: str) -> dict[str, Any]:
        await cluster.until(message, lambda: message in self.said())
        return next(line for line in self.log if line["message"] == message)

    def said(self) -> list[str]:
        return [line["message"] for line in self.log]

    async def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Exit code, and how long it took."""
        code, took_s = await ending.told(self.process, number)
        await self._reading
        return code, took_s


async def start(cluster: Cluster, *args: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        UNMOOR,
        "run",
        f"--kubeconfig={cluster.kubeconfig}",
        "--cluster-name=shop",
        "--cloud=simulated",
        "--address=127.0.0.1",
        "--metrics-port=0",
        "--health-port=0",
        "--log-level=debug",
        "--output=json",
        *args,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@asynccontextmanager
async def running(cluster: Cluster, *args: str) -> AsyncIterator[Running]:
    """A process that has listed everything; killed at the end if it still runs."""
    built = Running(await start(cluster, *args))
    try:
        assert built.process.stdout is not None
        line = await asyncio.wait_for(built.process.stdout.readline(), PATIENCE_S)
        built.ports = json.loads(line)
        await built.until_said(cluster, "ready")
        yield built
    finally:
        if built.process.returncode is None:
            built.process.kill()
            await built.process.wait()


async def refused(cluster: Cluster, *args: str) -> tuple[int, str]:
    """Exit code and the last line of a process that does not start."""
    process = await start(cluster, *args)
    _, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode is not None
    assert b"Traceback" not in err
    return process.returncode, err.decode().splitlines()[-1]


def holder(cluster: Cluster) -> str | None:
    try:
        found: str = cluster.server.get(LEASE)["spec"].get("holderIdentity", "")
    except ApiError:
        return None
    return found


async def test_it_is_healthy_ready_and_measured_and_gives_the_lease_up(cluster: Cluster) -> None:
    async with running(cluster, "--identity=one") as unmoor:
        await unmoor.until_said(cluster, "acting")

        assert holder(cluster) == "one"
        assert await unmoor.get("health_port", "/healthz") == (200, "ok\n")
        assert await unmoor.get("health_port", "/readyz") == (200, "ok\n")
        code, text = await unmoor.get("metrics_port", "/metrics")
        assert code == 200
        assert "# TYPE karpenter_nodes_terminated counter" in text
        assert "karpenter_nodes_leases_deleted 0.0" in text

        code, took_s = await unmoor.stop()

    assert code == 0
    assert took_s < STOP_S
    assert holder(cluster) == ""
    assert unmoor.said()[-1] == "stopped"


async def test_a_second_instance_waits_and_takes_over(cluster: Cluster) -> None:
    async with running(cluster, "--identity=one") as one:
        await one.until_said(cluster, "acting")
        async with running(cluster, "--identity=two") as two:
            assert await two.get("health_port", "/readyz") == (200, "ok\n")
            await two.until_said(cluster, "waiting for the lease")
            assert "acting" not in two.said()

            await one.stop()
            await two.until_said(cluster, "acting")

            assert holder(cluster) == "two"


async def test_a_machine_comes_up_and_its_deleted_node_is_drained(cluster: Cluster) -> None:
    await cluster.machine("m1", cluster_name="shop")
    await cluster.deployment("web", 1)
    async with running(cluster, "--no-leader-election") as unmoor:
        await unmoor.until_said(cluster, "launched machine")
        await unmoor.until_said(cluster, "machine initialized")
        name = cluster.server.get(Ref("Machine", "m1"))["status"]["nodeName"]
        await cluster.until("the pod runs", lambda: cluster.running_on(name))
        await cluster.api.delete(Ref("Node", name))
        await unmoor.until_said(cluster, "released machine")
        await unmoor.until_said(cluster, "created machine")
        said = unmoor.said()
        launched = await unmoor.until_said(cluster, "launched machine")
        _, metrics = await unmoor.get("metrics_port", "/metrics")
        await unmoor.stop()

    order = ["cordoned node", "evicted pod", "terminated instance", "released node"]
    assert [message for message in said if message in order] == order
    assert launched["machine"] == "m1"
    assert launched["provider-id"].startswith("sim:///")
    assert launched["instance-type"] == "m5.large"
    assert holder(cluster) is None
    assert 'karpenter_nodes_terminated{provisioner="default"} 1.0' in metrics
    assert 'karpenter_machines_launched{provisioner="default"}' in metrics
    created = 'karpenter_machines_created{provisioner="default",reason="provisioning"} 1.0'
    assert created in metrics, "the pod of the deleted node needs another"
    assert 'cloudprovider_duration_seconds_count{controller="unmoor",method="Create"' in metrics


async def test_missing_definitions_are_named_with_the_remedy(cluster: Cluster) -> None:
    cluster.missing |= {"Machine", "Disruption"}

    code, said = await refused(cluster)

    assert code == 1
    assert said == (
        "unmoor: the API server does not serve disruptions.unmoor.dev/v1alpha1, "
        "machines.karpenter.sh/v1alpha5: apply the definitions with "
        "`unmoor crds | kubectl apply -f -`"
    )


async def test_missing_rights_are_named_with_the_remedy(cluster: Cluster) -> None:
    cluster.refused.add(("list", "Machine"))

    code, said = await refused(cluster)

    assert code == 1
    assert said == (
        "unmoor: we may not list machines (you may not list machines): "
        "grant what deploy/rbac.yaml lists"
    )


async def test_a_port_that_is_taken_is_named_with_the_remedy(cluster: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        code, said = await refused(cluster, f"--health-port={port}")

    assert code == 1
    assert said.startswith(f"unmoor: --health-port: 127.0.0.1:{port} cannot be listened on: ")
    assert said.endswith("; choose another, or 0 for a free one")


async def test_an_unreachable_server_is_named_with_the_remedy(cluster: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    text = json.loads(cluster.kubeconfig.read_text())
    text["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{port}"
    cluster.kubeconfig.write_text(json.dumps(text))

    code, said = await refused(cluster)

    assert code == 1
    assert said.startswith(f"unmoor: http://127.0.0.1:{port}: GET /apis/")
    assert f"check the server's address in {cluster.kubeconfig}" in said


def _events(cluster: Cluster, reason: str) -> bool:
    found = cluster.server.store.tables["Event"].objects.values()
    return any(one["reason"] == reason for one in found)


async def test_the_settings_are_read_and_a_bad_one_is_told(cluster: Cluster) -> None:
    name = "karpenter-global-settings"
    await cluster.api.create(
        Ref("ConfigMap", name, namespace="karpenter"),
        {
            "metadata": {"name": name, "namespace": "karpenter"},
            "data": {"aws.clusterName": "from-settings", "batchMaxDuration": "soon"},
        },
    )
    async with running(cluster, "--cluster-name=") as unmoor:
        starting = await unmoor.until_said(cluster, "starting")
        await cluster.until("an event about it", lambda: _events(cluster, "InvalidSetting"))

    assert starting["cluster"] == "from-settings"
    (once,) = (line for line in unmoor.log if "batchMaxDuration" in str(line))
    assert (once["message"], once["level"]) == ("object refused", "error")
    assert "data[batchMaxDuration] is 'soon'" in once["error"]


async def test_the_prices_that_were_given_are_written_to_what_is_launched(
    cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"m5.large": {"*": {"on-demand": 0.25}}, "m5.lrage": {"*": {"spot": 1}}}')
    await cluster.machine("m-a", cluster_name="test")

    def annotations() -> dict[str, str]:
        found: dict[str, str] = cluster.server.get(Ref("Machine", "m-a"))["metadata"]["annotations"]
        return found

    async with running(cluster, "--cluster-name=test", f"--prices={file}") as unmoor:
        starting = await unmoor.until_said(cluster, "starting")
        odd = await unmoor.until_said(cluster, "some prices count for nothing")
        await cluster.until("a price", lambda: names.PRICE in annotations())

    assert starting["prices"] == "mine.json"
    assert odd["problem"].endswith("prices what is not on sale: m5.lrage * spot")
    assert annotations()[names.PRICE] == "0.25"
    assert annotations()[names.PRICE_BOOK] == "mine.json"


async def test_without_a_cloud_and_a_name_it_says_that_nothing_is_ours(cluster: Cluster) -> None:
    async with running(cluster, "--cluster-name=", "--cloud=none") as unmoor:
        said = unmoor.said()

    assert "no cluster name, so no machine is ours" in said
    assert "no cloud provider, so no machine is ours" in said


async def test_a_name_that_no_machine_bears_is_doubted_once(cluster: Cluster) -> None:
    await cluster.machine("m1", cluster_name="shop")
    async with running(cluster, "--cluster-name=shpo") as unmoor:
        await unmoor.until_said(cluster, "acting")
        told = await unmoor.until_said(cluster, "our cluster name is on no machine")
        said = unmoor.said()
    async with running(cluster) as unmoor:
        await unmoor.until_said(cluster, "launched machine")
        right = unmoor.said()

    assert told["level"] == "warning"
    assert told["problem"] == (
        "no Machine is annotated unmoor.dev/managed-by: shpo; annotated for others: 1 of shop"
    )
    assert told["remedy"].startswith("check --cluster-name")
    assert said.count("our cluster name is on no machine") == 1
    assert "our cluster name is on no machine" not in right


async def test_the_placeholder_of_the_deployment_is_refused(cluster: Cluster) -> None:
    deploy = Path(__file__).parents[2] / "deploy"
    for file in ("deployment.yaml", "unmoor.service"):
        assert "--cluster-name" in (deploy / file).read_text()
        assert PLACEHOLDER in (deploy / file).read_text()

    code, said = await refused(cluster, f"--cluster-name={PLACEHOLDER}")

    assert code == 2
    assert "CHANGE-ME stands for the name of your cluster" in said


async def test_a_lease_that_nobody_takes_back_does_not_keep_it(cluster: Cluster) -> None:
    async with running(cluster) as unmoor:
        await unmoor.until_said(cluster, "acting")
        cluster.hung.add("Lease")

        code, took_s = await unmoor.stop()

    assert code == 0
    assert took_s < STOP_S
    assert unmoor.said()[-1] == "stopped"


async def test_two_signals_at_once_are_one_and_the_lease_is_given_up(cluster: Cluster) -> None:
    async with running(cluster, "--identity=one") as unmoor:
        await unmoor.until_said(cluster, "acting")

        unmoor.process.send_signal(signal.SIGINT)
        code, _ = await unmoor.stop(signal.SIGTERM)

    assert code == 0
    assert holder(cluster) == ""
    assert unmoor.said()[-1] == "stopped"


async def test_systemd_hears_that_it_is_ready_and_that_it_stops(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = tmp_path / "notify"
    heard: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.setblocking(False)
        asyncio.get_running_loop().add_reader(
            manager.fileno(), lambda: heard.append(manager.recv(4096).decode())
        )
        monkeypatch.setenv("NOTIFY_SOCKET", str(address))
        monkeypatch.setenv("WATCHDOG_USEC", "500000")
        async with running(cluster) as unmoor:
            await cluster.until("a second sign of life", lambda: heard.count("WATCHDOG=1") >= 2)
            await cluster.until("the lease", lambda: "STATUS=acting" in heard)
            await unmoor.stop()
        await cluster.until("the last word", lambda: heard[-1] == "STOPPING=1")
        asyncio.get_running_loop().remove_reader(manager.fileno())

    assert heard.index("READY=1") < heard.index("STATUS=acting")
