"""``unmoor run`` and ``unmoor sim nodes`` as two processes on the real control plane.

With the rights of ``deploy/rbac.yaml`` and no others: a node comes up, is drained under a budget
when it is deleted, and an empty one goes when its time is up. Then a person drains a hollow node.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests import ending
from tests.controlplane import ControlPlane, binaries_or_skip, eventually
from unmoor.model import names
from unmoor.model.crds import all_crds


class Asked(Protocol):
    """A cluster that tells what it has."""

    def get(self, *args: str) -> dict[str, Any]: ...


UNMOOR = Path(sys.executable).with_name("unmoor")
DEPLOY = Path(__file__).parents[2] / "deploy"
PATIENCE_S = 60.0
QUICK = {"cadence.deprovisioningPoll": "500ms", "cadence.drainPoll": "200ms"}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    binaries_or_skip()
    with ControlPlane(directory=tmp_path) as up:
        up.wait_for_service_account()
        printed = subprocess.run([UNMOOR, "crds"], capture_output=True, text=True, check=True)
        up.kubectl("apply", "--filename=-", input=printed.stdout)
        crds = [f"crd/{crd['metadata']['name']}" for crd in all_crds()]
        up.kubectl("wait", "--for=condition=Established", *crds)
        for file in ("namespace.yaml", "rbac.yaml", "rbac-simulated.yaml"):
            up.kubectl("apply", f"--filename={DEPLOY / file}")
        yield up


def kubeconfig_of_service_account(plane: ControlPlane) -> Path:
    """The kubeconfig of the account that deploy/ gives to the controller."""
    token = plane.kubectl("create", "token", "unmoor", "--namespace=karpenter").stdout.strip()
    config = json.loads(plane.kubeconfig.read_text())
    cluster = config["clusters"][0]["name"]
    config["users"] = [{"name": "unmoor", "user": {"token": token}}]
    config["contexts"] = [{"name": "x", "context": {"cluster": cluster, "user": "unmoor"}}]
    config["current-context"] = "x"
    path = plane.directory / "unmoor.kubeconfig"
    path.write_text(json.dumps(config))
    return path


@contextmanager
def process(kubeconfig: Path, log: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    with log.open("w") as written:
        running = subprocess.Popen(
            [UNMOOR, *args, f"--kubeconfig={kubeconfig}"],
            env={**os.environ, "HOME": str(log.parent)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if args[0] == "run" else written,
            stderr=written,
            text=True,
        )
        try:
            yield running
        finally:
            running.kill()
            running.wait()


def provisioner(**spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "default"},
        "spec": {"providerRef": {"name": "any"}, **spec},
    }


def machine(name: str) -> dict[str, Any]:
    types = {"key": names.INSTANCE_TYPE, "operator": "In", "values": ["m5.large"]}
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "labels": {names.PROVISIONER_NAME: "default"},
            "annotations": {names.MANAGED_BY: "shop"},
        },
        "spec": {"machineTemplateRef": {"name": "any"}, "requirements": [types]},
    }


def workload(replicas: int, available: int) -> tuple[dict[str, Any], dict[str, Any]]:
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "terminationGracePeriodSeconds": 5,
            "containers": [{"name": "web", "image": "web"}],
        },
    }
    return (
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": template,
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"minAvailable": available, "selector": {"matchLabels": labels}},
        },
    )


def pods_ready(plane: ControlPlane) -> dict[str, str]:
    """Node of each ready pod."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in plane.get("pods")["items"]
        if any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in pod["status"].get("conditions", [])
        )
    }


def node_of(plane: Asked, name: str) -> str:
    """The node of a machine, once it is initialised."""

    def initialized() -> str:
        found = plane.get("machine", name)
        conditions = found.get("status", {}).get("conditions", [])
        if any(c["type"] == "MachineInitialized" and c["status"] == "True" for c in conditions):
            return str(found["status"]["nodeName"])
        return ""

    return eventually(f"node of {name}", initialized, timeout_s=PATIENCE_S)


def is_gone(plane: ControlPlane, *what: str) -> bool:
    return not plane.kubectl("get", *what, "--ignore-not-found").stdout


def test_two_processes_with_the_rights_of_deploy(plane: ControlPlane) -> None:
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "karpenter-global-settings", "namespace": "karpenter"},
        "data": {"aws.clusterName": "shop", **QUICK},
    }
    plane.create(settings, provisioner(), machine("m1"), machine("m2"))
    account = kubeconfig_of_service_account(plane)
    log = plane.directory / "run.log"
    run = ("run", "--cloud=simulated", "--metrics-port=0", "--health-port=0", "--log-level=debug")
    with (
        process(plane.kubeconfig, plane.directory / "sim.log", "sim", "nodes", "--speed=20"),
        process(account, log, *run) as unmoor,
    ):
        first, second = node_of(plane, "m1"), node_of(plane, "m2")
        plane.create(*workload(replicas=4, available=3))
        eventually("four pods", lambda: len(pods_ready(plane)) == 4, timeout_s=PATIENCE_S)

        plane.kubectl("delete", "node", first, timeout_s=PATIENCE_S)

        assert is_gone(plane, "node", first)
        eventually("m1 is gone", lambda: is_gone(plane, "machine", "m1"), timeout_s=PATIENCE_S)
        eventually("pods moved", lambda: len(pods_ready(plane)) == 4, timeout_s=PATIENCE_S)
        assert set(pods_ready(plane).values()) == {second}

        plane.kubectl("delete", "deployment", "web")
        plane.kubectl("patch", "provisioner", "default", "--type=merge", "--patch",
                      '{"spec": {"ttlSecondsAfterEmpty": 5}}')  # fmt: skip
        eventually("m2 is gone", lambda: is_gone(plane, "machine", "m2"), timeout_s=PATIENCE_S)
        assert is_gone(plane, "node", second)

        code, took_s = ending.told_and_waited(unmoor, signal.SIGTERM)
        assert code == 0
        assert took_s < 2.0

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line for line in lines if line["level"] == "error"] == []
    assert "forbidden" not in log.read_text()
    lease = plane.get("lease", "unmoor", "--namespace=karpenter")
    assert lease["spec"].get("holderIdentity", "") == ""


def test_a_person_drains_a_node_of_any_cluster(plane: ControlPlane) -> None:
    labels = {"sim.unmoor.dev/hollow": "true", names.INSTANCE_TYPE: "m5.large"}
    for name in ("a", "b"):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        plane.create(node)
    with process(plane.kubeconfig, plane.directory / "sim.log", "sim", "nodes", "--speed=20"):
        plane.create(*workload(replicas=4, available=3))
        eventually("four pods", lambda: len(pods_ready(plane)) == 4, timeout_s=PATIENCE_S)
        on_a = [pod for pod, node in pods_ready(plane).items() if node == "a"]
        drain = (UNMOOR, "drain", "node/a", "--kubeconfig", str(plane.kubeconfig), "-o", "json")

        dry = subprocess.run([*drain, "--dry-run"], capture_output=True, text=True, check=True)
        still_on_a = [pod for pod, node in pods_ready(plane).items() if node == "a"]
        done = subprocess.run(
            [*drain, "--timeout=60s"], capture_output=True, text=True, check=True, timeout=90
        )

        outlook = json.loads(dry.stdout)
        assert {pod["what"] for pod in outlook["pods"]} == {"evicted"}
        assert still_on_a == on_a
        summary = json.loads(done.stdout.splitlines()[-1])
        assert summary["drained"] == ["a"]
        assert summary["nodes"][0]["moved"] == len(on_a)
        eventually("pods moved", lambda: len(pods_ready(plane)) == 4, timeout_s=PATIENCE_S)
        assert set(pods_ready(plane).values()) == {"b"}
        assert plane.get("node", "a")["spec"]["unschedulable"] is True
