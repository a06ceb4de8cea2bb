import pytest

from tests.sim.actors.cluster import TYPES_BY_NAME, Cluster, in_virtual_time, workload
from unmoor.model.base import JSON
from unmoor.model.kinds import BUDGETS, DEPLOYMENTS, PODS
from unmoor.runtime.ports import ApiError
from unmoor.sim.actors.actor import Actor
from unmoor.sim.actors.budgets import Budgets
from unmoor.sim.actors.deployments import Deployments, ReplicaSets
from unmoor.sim.actors.kubelet import READY, STOP_SECONDS, HollowKubelets
from unmoor.sim.actors.scheduler import Scheduler


def cast(cluster: Cluster) -> tuple[Actor, ...]:
    stage = cluster.stage
    return (
        HollowKubelets(stage, TYPES_BY_NAME),
        Scheduler(stage),
        Deployments(stage),
        ReplicaSets(stage),
        Budgets(stage),
    )


def counts(cluster: Cluster) -> tuple[int, ...]:
    """(expected, healthy, desired, allowed)."""
    status = cluster.status(BUDGETS, "web")
    fields = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")
    return tuple(status.get(field, -1) for field in fields)


async def evict(cluster: Cluster, name: str) -> int:
    """The code that the server answers with."""
    ref = PODS.ref(name, "default")
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
    }
    try:
        await cluster.api.create(ref, body, subresource="eviction")
    except ApiError as error:
        return error.code
    return 201


def budget(**spec: object) -> JSON:
    return {"selector": {"matchLabels": {"app": "web"}}, **spec}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"minAvailable": 2}, (5, 5, 2, 3), id="so many must stay"),
        pytest.param({"minAvailable": "50%"}, (5, 5, 3, 2), id="a share, rounded up"),
        pytest.param({"maxUnavailable": 1}, (5, 5, 4, 1), id="so many may go"),
        pytest.param({"maxUnavailable": "30%"}, (5, 5, 3, 2), id="a share may go, rounded up"),
        pytest.param({"maxUnavailable": 0}, (5, 5, 5, 0), id="none may go"),
        pytest.param({"maxUnavailable": "100%"}, (5, 5, 0, 5), id="all may go"),
        pytest.param({"minAvailable": 9}, (5, 5, 9, 0), id="more than there are"),
    ],
)
@in_virtual_time
async def test_what_a_budget_counts(spec: JSON, expected: tuple[int, ...]) -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(BUDGETS, "web", budget(**spec))
        await cluster.create(DEPLOYMENTS, "web", workload("web", 5))
        await cluster.until(lambda: len(cluster.running("web")) == 5)
        await cluster.wait(1)

        assert counts(cluster) == expected


@in_virtual_time
async def test_a_budget_without_pods_allows_nothing() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.create(BUDGETS, "web", budget(maxUnavailable=3))
        await cluster.wait(1)

        assert counts(cluster) == (0, 0, 0, 0)
        assert cluster.status(BUDGETS, "web")["observedGeneration"] == 1


@in_virtual_time
async def test_a_pod_without_an_owner_is_not_expected() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.add_pod("web", "a")
        await cluster.create(BUDGETS, "web", budget(maxUnavailable=0))
        await cluster.until(lambda: cluster.running("web"))
        await cluster.wait(1)

        assert counts(cluster) == (0, 1, 0, 0)


@in_virtual_time
async def test_a_pod_that_is_not_ready_is_not_healthy() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(DEPLOYMENTS, "web", workload("web", 2, annotations={READY: "false"}))
        await cluster.create(BUDGETS, "web", budget(maxUnavailable=1))
        await cluster.wait(60)

        assert counts(cluster) == (2, 0, 1, 0)


@in_virtual_time
async def test_evictions_use_a_budget_up_and_replacements_fill_it_again() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        slow = workload("web", 3, annotations={STOP_SECONDS: "25"})
        await cluster.create(DEPLOYMENTS, "web", slow)
        await cluster.create(BUDGETS, "web", budget(maxUnavailable=1))
        first, second, _ = await cluster.until(lambda: len(r := cluster.running("web")) == 3 and r)
        await cluster.wait(1)

        assert await evict(cluster, first) == 201
        assert await evict(cluster, second) == 429
        await cluster.wait(0.5)
        assert counts(cluster) == (3, 2, 2, 0)
        await cluster.until(lambda: counts(cluster) == (3, 3, 2, 1))
        assert await evict(cluster, second) == 201
        await cluster.until(lambda: len(cluster.pods("web")) == 3)
        assert cluster.status(BUDGETS, "web").get("disruptedPods", {}) == {}


@in_virtual_time
async def test_an_admitted_eviction_that_nobody_carries_out_expires() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(DEPLOYMENTS, "web", workload("web", 2))
        await cluster.create(BUDGETS, "web", budget(maxUnavailable=1))
        (name, _) = await cluster.until(lambda: len(r := cluster.running("web")) == 2 and r)
        await cluster.wait(1)
        admitted = {"disruptedPods": {name: "2026-01-05T08:00:10Z"}, "disruptionsAllowed": 0}
        await cluster.patch(BUDGETS.ref("web", "default"), {"status": admitted}, "status")
        await cluster.wait(1)
        assert counts(cluster) == (2, 1, 1, 0)

        await cluster.wait(150)
        assert counts(cluster) == (2, 2, 1, 1)
        assert cluster.status(BUDGETS, "web").get("disruptedPods", {}) == {}
