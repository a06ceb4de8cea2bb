"""The real control plane is what we take it for, and leaves nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import controlplane
from tests.controlplane import ControlPlane

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(directory=tmp_path_factory.mktemp("controlplane")) as started:
        started.wait_for_service_account()
        yield started


def ready_node(name: str) -> dict[str, object]:
    """What a kubelet would register: room for pods, and a fresh word that all is well."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room, "conditions": [condition]},
    }


def deployment(name: str, *, replicas: int) -> dict[str, object]:
    labels = {"app": name}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def disruption_budget(name: str, *, min_available: int) -> dict[str, object]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": name}}},
    }


def taints(plane: ControlPlane, node: str) -> set[str]:
    found: list[dict[str, str]] = plane.get("node", node)["spec"].get("taints", [])
    return {f"{taint['key']}:{taint['effect']}" for taint in found}


def bound_pods(plane: ControlPlane, app: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = plane.get("pods", f"--selector=app={app}")["items"]
    return [pod for pod in items if "nodeName" in pod["spec"]]


def test_server_and_client_are_the_pinned_version(plane: ControlPlane) -> None:
    versions = json.loads(plane.kubectl("version", "--output=json").stdout)

    assert versions["serverVersion"]["gitVersion"] == "v1.36.3"
    assert versions["serverVersion"]["minor"] == "36"
    assert versions["clientVersion"]["gitVersion"] == "v1.36.3"


def test_a_new_node_loses_its_not_ready_taint_when_it_says_it_is_ready(plane: ControlPlane) -> None:
    plane.create(ready_node("fresh"))

    controlplane.eventually("node without taints", lambda: not taints(plane, "fresh"))

    plane.kubectl("delete", "node", "fresh")


def test_pods_of_a_deployment_are_bound_and_counted_by_their_budget(plane: ControlPlane) -> None:
    plane.create(
        ready_node("roomy"),
        deployment("web", replicas=3),
        disruption_budget("web", min_available=2),
    )

    pods = controlplane.eventually(
        "three bound pods",
        lambda: bound if len(bound := bound_pods(plane, "web")) == 3 else None,
    )
    assert pods is not None
    assert {pod["spec"]["nodeName"] for pod in pods} == {"roomy"}

    # There is no kubelet: the test itself says that the pods are ready.
    ready = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    for pod in pods:
        name = pod["metadata"]["name"]
        plane.kubectl("patch", "pod", name, "--subresource=status", f"--patch={ready}")
    controlplane.eventually(
        "budget that allows one disruption",
        lambda: plane.get("pdb", "web").get("status", {}).get("disruptionsAllowed") == 1,
    )

    status = plane.get("pdb", "web")["status"]
    assert (status["currentHealthy"], status["desiredHealthy"], status["expectedPods"]) == (3, 2, 3)


def test_an_apiserver_restart_keeps_address_and_data(plane: ControlPlane) -> None:
    plane.kubectl("create", "configmap", "keepsake", "--from-literal=word=stays")
    before = plane.pids()

    plane.restart_apiserver()

    after = plane.pids()
    assert [name for name in before if before[name] != after[name]] == ["kube-apiserver"]
    assert plane.get("configmap", "keepsake")["data"] == {"word": "stays"}
    # The controller manager found it again by itself.
    plane.kubectl("create", "namespace", "later")
    plane.wait_for_service_account("later")


def test_without_its_controller_manager_a_namespace_gets_no_account(plane: ControlPlane) -> None:
    plane.stop_component("kube-controller-manager")
    plane.kubectl("create", "namespace", "orphan")

    with pytest.raises(controlplane.ControlPlaneError, match="no service account orphan/default"):
        controlplane.eventually(
            "service account orphan/default",
            lambda: plane.get("serviceaccounts", "--namespace=orphan")["items"],
            timeout_s=1,
        )

    plane.start_component("kube-controller-manager")
    plane.wait_for_service_account("orphan")


@pytest.mark.parametrize(
    ("context", "user", "may"),
    [
        (controlplane.TOKEN, "admin", "yes"),
        (controlplane.CERTIFICATE, "certificate-admin", "yes"),
        (controlplane.UNPRIVILEGED, "nobody", "no"),
    ],
)
def test_each_user_is_known_by_name(plane: ControlPlane, context: str, user: str, may: str) -> None:
    whoami = plane.kubectl("auth", "whoami", f"--context={context}", "--output=json").stdout
    answer = plane.kubectl("auth", "can-i", "delete", "nodes", f"--context={context}", check=False)

    assert json.loads(whoami)["status"]["userInfo"]["username"] == user
    assert answer.stdout.strip() == may


def test_a_refused_kubectl_says_why(plane: ControlPlane) -> None:
    with pytest.raises(controlplane.ControlPlaneError, match="Forbidden"):
        plane.kubectl("get", "nodes", f"--context={controlplane.UNPRIVILEGED}")


def test_a_silent_node_is_given_up_as_soon_as_asked() -> None:
    monitor = controlplane.NodeMonitor(period_s=0.5, grace_s=3, startup_grace_s=3)
    with ControlPlane(components=["kube-controller-manager"], node_monitor=monitor) as plane:
        plane.create(ready_node("silent"))

        # NoExecute would need a second node that is ready.
        controlplane.eventually(
            "unreachable taint",
            lambda: "node.kubernetes.io/unreachable:NoSchedule" in taints(plane, "silent"),
        )

    assert not plane.directory.exists()


def test_a_component_that_will_not_start_shows_its_log(tmp_path: Path) -> None:
    extra: dict[controlplane.Component, list[str]] = {"kube-apiserver": ["--no-such-flag"]}
    plane = ControlPlane(directory=tmp_path, components=["kube-apiserver"], extra_args=extra)

    with pytest.raises(controlplane.ControlPlaneError) as failure:
        plane.start()

    assert "kube-apiserver is ended with 1" in str(failure.value)
    assert str(plane.log_file("kube-apiserver")) in str(failure.value)
    assert "unknown flag: --no-such-flag" in str(failure.value)
    assert plane.pids() == {}


def test_without_controllers_pods_need_no_service_account() -> None:
    with ControlPlane(components=[]) as plane:
        plane.kubectl("run", "alone", "--image=none")


def test_a_killed_test_run_leaves_no_process(tmp_path: Path) -> None:
    controlplane.binaries_or_skip()
    script = (
        "import json, pathlib, sys\n"
        "from tests.controlplane import ControlPlane\n"
        "plane = ControlPlane(directory=pathlib.Path(sys.argv[1]))\n"
        "plane.start()\n"
        "print(json.dumps(plane.pids()), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        pids: dict[str, int] = json.loads(run.stdout.readline())
        assert set(pids) == set(controlplane.ALL)

        os.kill(run.pid, signal.SIGKILL)

    controlplane.eventually("end of all", lambda: not any(is_alive(p) for p in pids.values()))
    shutil.rmtree(tmp_path / "etcd")  # 128 MB that pytest would keep for three runs


def is_alive(pid: int) -> bool:
    """A process that ended and waits to be collected by its new parent counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
