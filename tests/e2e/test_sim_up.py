"""``unmoor sim up`` with the real ``kubectl``, which no test of ours has written.

Nodes are looked at, drained by kubectl itself, deleted and watched; what kubectl dumps is what a
second cluster begins with. (The README's tutorial is run by ``make tutorial``.)
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import ending
from tests.controlplane import binaries_or_skip, eventually
from tests.e2e.test_processes import UNMOOR
from unmoor.app import manifests

PATIENCE_S = 60.0
STOP_S = 2.0
SHOP = manifests.shipped("quickstart") / "3-shop.yaml"
DUMPED = "nodes,machines,instances,provisioners,namespaces,deployments,replicasets,pods,pdb"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


class Up:
    """One cluster, and kubectl for it."""

    def __init__(self, process: subprocess.Popen[str], kubeconfig: Path) -> None:
        self.process = process
        self._env = {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}
        self._kubectl = binaries_or_skip() / "kubectl"

    def kubectl(self, *args: str) -> str:
        done = subprocess.run(
            [self._kubectl, *args],
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"kubectl {' '.join(args)}: {done.stderr}"
        return done.stdout

    def get(self, *args: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = json.loads(self.kubectl("get", *args, "-o=json"))["items"]
        return items

    @contextmanager
    def watching(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """``kubectl get --watch``, which has printed its first line."""
        with subprocess.Popen(
            [self._kubectl, "get", *args, "--watch"],
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as watch:
            assert watch.stdout is not None
            watch.stdout.readline()
            yield watch
            watch.kill()


@contextmanager
def up(directory: Path, *args: str, stdin: str = "") -> Iterator[Up]:
    """A cluster at 10 times the speed, on a free port."""
    directory.mkdir()
    kubeconfig = directory / "kubeconfig"
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(
            [UNMOOR, "sim", "up", "--port=0", "--speed=10", f"--kubeconfig={kubeconfig}", *args],
            env={**os.environ, "HOME": str(directory)},
            stdin=subprocess.PIPE,
            stdout=log,
            text=True,
        )
    try:
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        eventually("kubeconfig", lambda: kubeconfig.exists() and kubeconfig.stat().st_size)
        yield Up(process, kubeconfig)
        code, took_s = ending.told_and_waited(process, signal.SIGTERM)
        assert code == 0
        assert took_s < STOP_S
        assert not kubeconfig.exists()
    finally:
        process.kill()
        process.wait()


def read_until(watch: subprocess.Popen[str], *wanted: str) -> set[str]:
    """Read on until all of these words have been seen; what was seen of them, if it ends before."""
    assert watch.stdout is not None
    seen: set[str] = set()
    for line in watch.stdout:
        seen |= {*wanted} & {*line.split()}
        if len(seen) == len(wanted):
            break
    return seen


def node_of_first_pod(cluster: Up) -> str:
    return str(cluster.get("pods", "-n=shop")[0]["spec"]["nodeName"])


def test_a_newcomer_with_kubectl(tmp_path: Path) -> None:
    with up(tmp_path / "one") as cluster:
        table = cluster.kubectl("get", "nodes")
        assert table.count(" Ready ") == 4
        assert "general-c-1" in cluster.kubectl("get", "machines")
        cluster.kubectl("apply", f"--filename={SHOP}")
        cluster.kubectl("rollout", "status", "--namespace=shop", "deployment/cart")

        drained = node_of_first_pod(cluster)
        assert "drained" in cluster.kubectl("drain", drained, "--ignore-daemonsets")
        described = cluster.kubectl("describe", "node", drained)
        assert "Unschedulable:      true" in described
        assert "Non-terminated Pods:          (0 in total)" in described

        deleted = node_of_first_pod(cluster)
        with cluster.watching("pods", "--namespace=shop") as watch:
            cluster.kubectl("delete", "node", deleted)
            seen = read_until(watch, "Terminating", "Pending")
        assert {"Terminating", "Pending"} <= seen
        events = ("get", "events", "--namespace=shop", "--field-selector=reason=Evicted")
        evicted = f"evicted from node {deleted}, which is being drained"
        eventually("event", lambda: evicted in cluster.kubectl(*events))

        patch = '{"spec":{"ttlSecondsAfterEmpty":30}}'
        cluster.kubectl("patch", "provisioner", "general", "--type=merge", f"--patch={patch}")
        cluster.kubectl("wait", "--for=delete", f"node/{drained}", "--timeout=50s")
        assert drained in cluster.kubectl("get", "disruptions")

    told = (tmp_path / "one" / "log").read_text()
    assert "you     kubectl creates deployment shop/cart" in told
    assert f"you     kubectl deletes node {deleted}" in told
    assert "its budget says not yet" in told
    assert "The cluster was up for" in told


def test_what_kubectl_dumps_can_be_loaded(tmp_path: Path) -> None:
    with up(tmp_path / "one") as cluster:
        cluster.kubectl("apply", f"--filename={SHOP}")
        cluster.kubectl("rollout", "status", "--namespace=shop", "deployment/cart")
        dump = cluster.kubectl("get", DUMPED, "--all-namespaces", "--output=json")
        places = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in places_of(cluster)}

    with up(tmp_path / "two", "--load=-", stdin=dump) as cluster:
        now = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in places_of(cluster)}
        assert now == places
        cluster.kubectl("delete", "node", node_of_first_pod(cluster))
        cluster.kubectl("rollout", "status", "--namespace=shop", "deployment/cart")


def places_of(cluster: Up) -> list[dict[str, Any]]:
    return cluster.get("pods", "--namespace=shop")
