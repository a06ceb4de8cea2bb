"""What is only observed is not done: a proxy before the API server has seen every write.

``unmoor run`` as a process, on the real control plane and on the embedded cluster: with --observe,
with the setting that names methods, and with the annotation on Provisioners.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import ports
from tests.controlplane import ControlPlane, binaries_or_skip, eventually
from tests.e2e.recording import ABOUT_ITSELF, Recorder, Written
from tests.e2e.test_processes import (
    DEPLOY,
    PATIENCE_S,
    kubeconfig_of_service_account,
    machine,
    node_of,
    process,
    provisioner,
)
from tests.e2e.test_sim_up import up
from unmoor.model import names
from unmoor.model.crds import all_crds

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

RUN = ("run", "--cloud=simulated", "--cluster-name=shop", "--log-level=debug", "--health-port=0")
QUICK = {"cadence.deprovisioningPoll": "500ms", "cadence.drainPoll": "200ms"}
WATCHED_S = 6.0
"""So long it is looked on after the last command was recorded: a dozen looks."""


class Cluster:
    """Any cluster, by ``kubectl``."""

    def __init__(self, kubeconfig: Path, token: Path, kubectl: Path) -> None:
        """``token``: a kubeconfig that lets unmoor in by a token."""
        self.kubeconfig, self.token, self._kubectl = kubeconfig, token, kubectl
        self.directory = kubeconfig.parent

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002 - as subprocess
        done = subprocess.run(
            [self._kubectl, f"--kubeconfig={self.kubeconfig}", *args],
            input=input,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def get(self, *args: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", *args, "-o=json"))
        return found

    def apply(self, *manifests: object) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
        self.kubectl("apply", "--filename=-", input=text)


@contextmanager
def real(directory: Path) -> Iterator[Cluster]:
    with ControlPlane(directory=directory) as plane:
        plane.wait_for_service_account()
        plane.create(*all_crds())
        crds = [f"crd/{crd['metadata']['name']}" for crd in all_crds()]
        plane.kubectl("wait", "--for=condition=Established", *crds)
        for file in ("namespace.yaml", "rbac.yaml", "rbac-simulated.yaml"):
            plane.kubectl("apply", f"--filename={DEPLOY / file}")
        account = kubeconfig_of_service_account(plane)
        with process(plane.kubeconfig, directory / "sim.log", "sim", "nodes", "--speed=20"):
            yield Cluster(plane.kubeconfig, account, binaries_or_skip() / "kubectl")


@contextmanager
def embedded(directory: Path) -> Iterator[Cluster]:
    kubectl = binaries_or_skip() / "kubectl"
    with up(directory / "up", "--no-controller", "--empty") as cluster:
        del cluster
        kubeconfig = directory / "up" / "kubeconfig"
        made = Cluster(kubeconfig, kubeconfig, kubectl)
        yield made


CLUSTERS: dict[str, Callable[[Path], AbstractContextManager[Cluster]]] = {
    "real": real,
    "embedded": embedded,
}
WAYS = ("process", "methods", "provisioners")


def of(name: str, made: dict[str, Any]) -> dict[str, Any]:
    """A Machine of the Provisioner of this name, or that Provisioner."""
    if made["kind"] == "Provisioner":
        made["metadata"]["name"] = name
    else:
        made["metadata"]["labels"][names.PROVISIONER_NAME] = name
    return made


def settings(**more: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "karpenter-global-settings", "namespace": "karpenter"},
        "data": {**QUICK, **more},
    }


def web() -> dict[str, Any]:
    """One pod with little to do on the node that is far too large."""
    labels = {"app": "web"}
    requests = {"requests": {"cpu": "100m"}}
    spec = {
        "nodeSelector": {names.PROVISIONER_NAME: "dear"},
        "containers": [{"name": "web", "image": "web", "resources": requests}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def an_evening(cluster: Cluster) -> None:
    """Two nodes come up, one empty, one far too large; unmoor has gone when this returns."""
    if not cluster.kubectl("get", "namespace", "karpenter", "--ignore-not-found"):
        cluster.kubectl("create", "namespace", "karpenter")
    large = of("dear", machine("dear-1"))
    large["spec"]["requirements"] = [
        {"key": names.INSTANCE_TYPE, "operator": "In", "values": ["m5.4xlarge"]},
        {"key": names.CAPACITY_TYPE, "operator": "In", "values": [names.ON_DEMAND]},
    ]
    cluster.apply(settings(), of("idle", provisioner()), of("dear", provisioner()))
    cluster.apply(of("idle", machine("idle-1")), large, web())
    log = cluster.directory / "before.log"
    with process(cluster.token, log, *RUN, "--metrics-port=0"):
        for name in ("idle-1", "dear-1"):
            node_of(cluster, name)
        eventually("the pod runs", partial(ready_pods, cluster), timeout_s=PATIENCE_S)


def ready_pods(cluster: Cluster) -> list[str]:
    pods = cluster.get("pods", "--all-namespaces")["items"]
    return [
        one["metadata"]["uid"]
        for one in pods
        if {"type": "Ready", "status": "True"}.items()
        <= next(
            (c for c in one["status"].get("conditions", []) if c["type"] == "Ready"), {}
        ).items()
    ]


def to_be_had(cluster: Cluster, way: str) -> tuple[str, ...]:
    """From now on both nodes would go, if that were not only observed; more flags of ``run``."""
    annotations = {names.OBSERVE: "true"} if way == "provisioners" else {}
    idle = of("idle", provisioner(ttlSecondsAfterEmpty=1))
    dear = of("dear", provisioner(consolidation={"enabled": True}))
    for one in (idle, dear):
        one["metadata"]["annotations"] = annotations
    observed = {"unmoor.observe": "emptiness,consolidation"} if way == "methods" else {}
    cluster.apply(settings(**observed), idle, dear)
    return ("--observe",) if way == "process" else ()


def methods_observed(cluster: Cluster) -> set[str]:
    stands = cluster.get("disruptions", "--selector=unmoor.dev/observed=true")["items"]
    return {
        one["spec"]["method"] for one in stands if one.get("status", {}).get("phase") == "Observed"
    }


def as_it_is(cluster: Cluster) -> dict[str, Any]:
    """All that must stay: nodes with cordons and taints, machines, pods."""
    found: dict[str, Any] = {}
    for kind in ("nodes", "machines", "pods"):
        for one in cluster.get(kind, "--all-namespaces")["items"]:
            kept = {key: one["metadata"].get(key) for key in ("uid", "annotations", "labels")}
            kept["deleted"] = one["metadata"].get("deletionTimestamp")
            kept["spec"] = one["spec"]
            found[f"{kind}/{one['metadata']['name']}"] = kept
    return found


def figures(port: int) -> dict[str, float]:
    """The metrics of what is observed, by name and method."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    prefix = "karpenter_deprovisioning_observed_"
    told = (line.removeprefix(prefix).rsplit(" ", 1) for line in lines if line.startswith(prefix))
    return {name: float(value) for name, value in told}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("where", sorted(CLUSTERS))
def test_nothing_is_written_to_what_is_only_observed(where: str, way: str, tmp_path: Path) -> None:
    """Not to nodes, pods or machines; two commands are recorded, and stay two."""
    with CLUSTERS[where](tmp_path) as cluster:
        an_evening(cluster)
        before = as_it_is(cluster)

        written = asyncio.run(observed(cluster, way))

        assert as_it_is(cluster) == before
        assert {one["spec"]["method"] for one in cluster.get("disruptions")["items"]} == {
            "emptiness",
            "consolidation",
        }
    assert [one for one in written if not is_allowed(one, way)] == []


def is_allowed(one: Written, way: str) -> bool:
    """What acts on others keeps the conditions of all Machines, and the sums of Provisioners."""
    if one.kind in ABOUT_ITSELF:
        return True
    return way != "process" and one.kind in {"machines", "provisioners"} and one.is_of_status


async def observed(cluster: Cluster, way: str) -> list[Written]:
    """Run it behind the proxy until both are recorded, and some looks longer; what it wrote."""
    flags = to_be_had(cluster, way)
    port = ports.free()
    log = cluster.directory / "observed.log"
    async with Recorder(cluster.token) as recorder:
        through = recorder.kubeconfig(cluster.directory / "through.kubeconfig")
        with process(through, log, *RUN, f"--metrics-port={port}", *flags):
            recorded = partial(is_recorded, cluster)
            await asyncio.to_thread(eventually, "both recorded", recorded, timeout_s=PATIENCE_S)
            reads = recorder.reads
            await asyncio.sleep(WATCHED_S)
            told = await asyncio.to_thread(figures, port)
    assert "disruptions" in {one.kind for one in recorder.written}, "the proxy saw nothing of it"
    assert "forbidden" not in log.read_text()
    assert reads > 0
    for method in ("emptiness", "consolidation"):
        assert told[f'commands{{deprovisioner="{method}"}}'] == 1
        assert told[f'machines{{deprovisioner="{method}"}}'] == 1
    assert told['saving_usd_per_hour{deprovisioner="consolidation"}'] > 0
    return recorder.written


def is_recorded(cluster: Cluster) -> bool:
    return methods_observed(cluster) == {"emptiness", "consolidation"}
