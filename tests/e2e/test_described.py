"""What ``kubectl describe node`` says of a node that stays: two lines of the page (001:103-107).

On the real control plane, with ``unmoor run`` as a process: one node whose pod a budget holds, one
of the cheapest type whose pod fits nowhere else.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import eventually
from tests.e2e.test_observed import RUN, Cluster, of, ready_pods, real, settings, web
from tests.e2e.test_processes import PATIENCE_S, machine, node_of, process, provisioner
from unmoor.model import names

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

FULL = "1500m"
"""Of the two cores of an m5.large: two such pods fit onto no node."""


def cheapest(name: str) -> dict[str, Any]:
    """Nothing that its Provisioner may have is cheaper than what there is."""
    keys = {names.INSTANCE_TYPE: "m5.large", names.CAPACITY_TYPE: names.ON_DEMAND}
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in keys.items()]
    return of(name, provisioner(consolidation={"enabled": True}, requirements=wanted))


def workload(name: str) -> dict[str, Any]:
    """A pod that has to be on a node of the Provisioner of the same name."""
    made = web()
    made["metadata"]["name"] = name
    spec = made["spec"]
    spec["selector"]["matchLabels"] = spec["template"]["metadata"]["labels"] = {"app": name}
    inner = spec["template"]["spec"]
    inner["nodeSelector"] = {names.PROVISIONER_NAME: name}
    inner["containers"][0]["resources"] = {"requests": {"cpu": FULL}}
    return made


def budget(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"{name}-pdb", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}},
    }


def said_of(cluster: Cluster, node: str) -> list[list[str]]:
    """The events of our refusals as ``kubectl describe`` shows them: type, reason, age, words."""
    lines = cluster.kubectl("describe", "node", node).splitlines()
    told = [line.split(maxsplit=2) for line in lines if "Unconsolidatable" in line]
    return [[kind, reason, *rest.rsplit("unmoor", 1)] for kind, reason, rest in told]


def is_said(cluster: Cluster, node: str, words: str) -> bool:
    return any(one[-1].strip() == words for one in said_of(cluster, node))


def test_the_lines_of_the_page_come_out_for_its_two_situations(tmp_path: Path) -> None:
    with real(tmp_path) as cluster:
        cluster.apply(settings(), cheapest("inflate"), cheapest("plain"), budget("inflate"))
        for name in ("inflate", "plain"):
            single = of(name, machine(f"{name}-1"))
            on_demand = {"key": names.CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]}
            single["spec"]["requirements"].append(on_demand)
            cluster.apply(single, workload(name))
        log = tmp_path / "run.log"
        with process(cluster.token, log, *RUN, "--metrics-port=0"):
            nodes = {name: node_of(cluster, f"{name}-1") for name in ("inflate", "plain")}
            eventually("pods", lambda: len(ready_pods(cluster)) == 2, timeout_s=PATIENCE_S)
            wanted = {
                "inflate": "pdb default/inflate-pdb prevents pod evictions",
                "plain": "can't replace with a cheaper node",
            }
            for name, words in wanted.items():
                told = partial(is_said, cluster, nodes[name], words)
                eventually(f"what is said of {name}", told, timeout_s=PATIENCE_S)
            events = [one for node in nodes.values() for one in said_of(cluster, node)]
            assert {(kind, reason) for kind, reason, *_ in events} == {
                ("Normal", "Unconsolidatable")
            }
