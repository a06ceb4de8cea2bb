from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.sim.actors.cluster import TYPES_BY_NAME, Cluster, in_virtual_time
from unmoor.model import names
from unmoor.model.base import JSON, condition_of
from unmoor.model.kinds import NODES, PODS
from unmoor.sim.actors.kubelet import HollowKubelets, KubeletDelays
from unmoor.sim.actors.nodelife import NodeLife

QUICK = KubeletDelays(start_s=(0, 0), stop_s=(0, 0))
FOR_EVER = [{"operator": "Exists"}]


def tainted(cluster: Cluster, name: str = "a") -> list[str]:
    node = cluster.node(name)
    assert node is not None
    return sorted(one.identity_text for one in node.spec.taints)


def ready(cluster: Cluster) -> str:
    node = cluster.node("a")
    assert node is not None
    condition = condition_of(node.status.conditions, "Ready")
    return condition.status if condition else ""


def cast(cluster: Cluster) -> tuple[HollowKubelets, NodeLife]:
    return HollowKubelets(cluster.stage, TYPES_BY_NAME, QUICK), NodeLife(cluster.stage)


@asynccontextmanager
async def served(**of_the_pod: Any) -> AsyncIterator[tuple[Cluster, HollowKubelets]]:
    """A cluster with the node a, on which the pod web runs."""
    cluster = Cluster()
    kubelets, nodelife = cast(cluster)
    async with cluster.playing(kubelets, nodelife):
        await cluster.add_node("a")
        await cluster.add_pod("web", "a", **of_the_pod)
        await cluster.until(lambda: cluster.running("web"))
        yield cluster, kubelets


@in_virtual_time
async def test_a_cordon_gets_its_taint_and_loses_it_again() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        mine = {"key": "mine", "effect": "NoSchedule"}
        await cluster.patch(NODES.ref("a"), {"spec": {"unschedulable": True, "taints": [mine]}})
        await cluster.wait(1)
        assert tainted(cluster) == ["mine:NoSchedule", f"{names.UNSCHEDULABLE}:NoSchedule"]

        await cluster.patch(NODES.ref("a"), {"spec": {"unschedulable": None}})
        await cluster.wait(1)
        assert tainted(cluster) == ["mine:NoSchedule"]


@in_virtual_time
async def test_a_node_that_becomes_ready_is_opened() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        not_ready = {
            "conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
        }
        await cluster.patch(NODES.ref("a"), {"status": not_ready}, "status")
        await cluster.wait(1)
        assert tainted(cluster) == [f"{names.NOT_READY}:NoExecute", f"{names.NOT_READY}:NoSchedule"]

        is_ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        await cluster.patch(NODES.ref("a"), {"status": is_ready}, "status")
        await cluster.wait(1)
        assert tainted(cluster) == []


@in_virtual_time
async def test_a_node_is_unknown_fifty_seconds_after_its_last_word() -> None:
    async with served() as (cluster, kubelets):
        await cluster.wait(1000 - cluster.now_s)
        assert ready(cluster) == "True"

        kubelets.crash("a", for_s=10_000)
        began_s = cluster.now_s
        await cluster.until(lambda: ready(cluster) == "Unknown")
        assert 39 <= cluster.now_s - began_s <= 51
        await cluster.wait(1)
        assert tainted(cluster) == [
            f"{names.UNREACHABLE}:NoExecute",
            f"{names.UNREACHABLE}:NoSchedule",
        ]
        assert cluster.running("web") == []


@in_virtual_time
async def test_a_kubelet_that_comes_back_opens_its_node_again() -> None:
    async with served() as (cluster, kubelets):
        kubelets.crash("a", for_s=120)
        await cluster.until(lambda: ready(cluster) == "Unknown")
        await cluster.until(lambda: ready(cluster) == "True", within_s=120)
        await cluster.wait(1)

        assert tainted(cluster) == []
        assert cluster.running("web") == ["web"]
        await cluster.wait(1000)
        assert ready(cluster) == "True"


@pytest.mark.parametrize(
    ("tolerations", "stays_s"),
    [
        pytest.param([], 0, id="who does not tolerate it goes at once"),
        pytest.param(
            [{"key": "bad", "operator": "Exists", "tolerationSeconds": 60}], 60, id="for a while"
        ),
        pytest.param(
            [
                {"key": "bad", "operator": "Exists", "tolerationSeconds": 60},
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20},
            ],
            20,
            id="the shortest counts",
        ),
        pytest.param(FOR_EVER, None, id="for ever"),
    ],
)
@in_virtual_time
async def test_taints_send_pods_away(tolerations: list[JSON], stays_s: float | None) -> None:
    async with served(tolerations=tolerations) as (cluster, _):
        stamp = cluster.clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ")
        bad = {"key": "bad", "effect": "NoExecute", "timeAdded": stamp}
        await cluster.patch(NODES.ref("a"), {"spec": {"taints": [bad]}})
        began_s = cluster.now_s
        if stays_s is None:
            await cluster.wait(1000)
            assert cluster.running("web") == ["web"]
        else:
            await cluster.until(lambda: cluster.pod("web") is None)
            assert cluster.now_s - began_s == pytest.approx(stays_s, abs=2)


@in_virtual_time
async def test_pods_leave_an_unreachable_node_after_five_minutes_and_hang() -> None:
    async with served() as (cluster, kubelets):
        kubelets.crash("a", for_s=10**6)
        await cluster.until(lambda: ready(cluster) == "Unknown")
        await cluster.wait(295)
        pod = cluster.pod("web")
        assert pod is not None
        assert not pod.is_deleting

        await cluster.wait(10)
        pod = cluster.pod("web")
        assert pod is not None
        assert pod.is_deleting
        await cluster.wait(10_000)
        assert cluster.pod("web") is not None


@in_virtual_time
async def test_the_out_of_service_taint_lets_hanging_pods_go() -> None:
    async with served() as (cluster, kubelets):
        await cluster.add_pod("keeps", "a", tolerations=FOR_EVER)
        await cluster.until(lambda: cluster.running("keeps"))
        kubelets.crash("a", for_s=10**6)
        await cluster.until(lambda: (pod := cluster.pod("web")) is not None and pod.is_deleting)
        node = cluster.server.get(NODES.ref("a"))
        out = {"key": names.OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
        taints = [*node["spec"]["taints"], out]
        await cluster.patch(NODES.ref("a"), {"spec": {"taints": taints}})
        await cluster.wait(1)

        assert cluster.pod("web") is None
        assert cluster.running("keeps") == []
        assert cluster.pod("keeps") is not None


@in_virtual_time
async def test_pods_of_a_node_that_is_gone_are_removed() -> None:
    async with served() as (cluster, _):
        await cluster.delete(NODES.ref("a"))
        await cluster.wait(39)
        assert cluster.pod("web") is not None

        await cluster.wait(2)
        assert cluster.pod("web") is None
        assert cluster.find(PODS.ref("web", "default")) is None
