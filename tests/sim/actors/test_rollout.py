"""How a Deployment's sets change in size, step by step, as its strategy allows."""

from __future__ import annotations

import pytest

from tests.sim.actors.cluster import TYPES_BY_NAME, Cluster, in_virtual_time, workload
from unmoor.model.base import JSON
from unmoor.model.kinds import DEPLOYMENTS
from unmoor.sim.actors.actor import Actor
from unmoor.sim.actors.deployments import Deployments, ReplicaSets
from unmoor.sim.actors.kubelet import READY, HollowKubelets
from unmoor.sim.actors.rollout import Bounds, Standing, bounds, newest_size, old_sizes
from unmoor.sim.actors.scheduler import Scheduler


def rolling(surge: int | str, unavailable: int | str) -> JSON:
    return {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


@pytest.mark.parametrize(
    ("strategy", "wanted", "expected"),
    [
        ({}, 4, Bounds(1, 1)),
        ({}, 10, Bounds(3, 2)),
        ({}, 1, Bounds(1, 0)),
        ({}, 0, Bounds(0, 0)),
        (rolling("30%", "30%"), 5, Bounds(2, 1)),
        (rolling("1%", "99%"), 3, Bounds(1, 2)),
        (rolling(2, 0), 3, Bounds(2, 0)),
        (rolling(0, 0), 3, Bounds(0, 1)),
        (rolling(0, "10%"), 3, Bounds(0, 1)),
        (rolling(0, 7), 3, Bounds(0, 3)),
        (rolling("100%", "x"), 3, Bounds(3, 0)),
        ({"type": "Recreate"}, 3, Bounds(0, 3, is_recreate=True)),
    ],
)
def test_a_strategy_is_a_number_of_pods(strategy: JSON, wanted: int, expected: Bounds) -> None:
    assert bounds(strategy, wanted) == expected


@pytest.mark.parametrize(
    ("limits", "size", "olds", "expected"),
    [
        (Bounds(1, 0), 0, [], 4),
        (Bounds(1, 0), 6, [], 4),
        (Bounds(1, 0), 0, [4], 1),
        (Bounds(1, 0), 1, [4], 1),
        (Bounds(1, 0), 1, [2, 1], 2),
        (Bounds(0, 1), 0, [4], 0),
        (Bounds(0, 1), 0, [3], 1),
        (Bounds(9, 0), 0, [4], 4),
        (Bounds(0, 1), 1, [5], 1),
    ],
)
def test_a_new_set_grows_into_the_room_there_is(
    limits: Bounds, size: int, olds: list[int], expected: int
) -> None:
    standing = [Standing(f"old-{n}", old, old) for n, old in enumerate(olds)]
    assert newest_size(4, limits, size, standing) == expected


@pytest.mark.parametrize(
    ("limits", "newest", "olds", "expected"),
    [
        # Nothing may be missed, and the new pod is not available yet; then it is.
        (Bounds(1, 0), (1, 0), [(4, 4)], {}),
        (Bounds(1, 0), (1, 1), [(4, 4)], {"old-0": 3}),
        # One may be missed, and is.
        (Bounds(0, 1), (0, 0), [(4, 4)], {"old-0": 3}),
        (Bounds(0, 1), (1, 0), [(3, 3)], {}),
        (Bounds(0, 1), (1, 1), [(3, 3)], {"old-0": 2}),
        (Bounds(1, 1), (1, 0), [(4, 4)], {"old-0": 3}),
        # Pods that are not available anyway go first, whichever set has them; then the oldest.
        (Bounds(1, 0), (1, 1), [(3, 3), (1, 0)], {"old-1": 0}),
        (Bounds(0, 2), (0, 0), [(2, 2), (2, 1)], {"old-0": 1, "old-1": 1}),
        (Bounds(0, 2), (0, 0), [(1, 1), (3, 3)], {"old-0": 0, "old-1": 2}),
        # An old template of which no pod ever became available holds up nobody.
        (Bounds(1, 0), (1, 0), [(4, 0)], {}),
        (Bounds(1, 1), (1, 0), [(4, 0)], {"old-0": 3}),
        # The last ones, and nothing left to do.
        (Bounds(1, 0), (4, 4), [(1, 1)], {"old-0": 0}),
        (Bounds(1, 0), (4, 4), [(0, 0)], {}),
    ],
)
def test_old_sets_shrink_by_what_may_be_missed(
    limits: Bounds,
    newest: tuple[int, int],
    olds: list[tuple[int, int]],
    expected: dict[str, int],
) -> None:
    standing = [Standing(f"old-{n}", *old) for n, old in enumerate(olds)]
    assert old_sizes(4, limits, Standing("new", *newest), standing) == expected


def cast(cluster: Cluster) -> tuple[Actor, ...]:
    stage = cluster.stage
    return (
        HollowKubelets(stage, TYPES_BY_NAME),
        Scheduler(stage),
        Deployments(stage),
        ReplicaSets(stage),
    )


async def begin(cluster: Cluster, strategy: JSON, cpu: str = "4") -> set[str]:
    """Four pods of one cpu each; return their uids."""
    await cluster.add_node("a", cpu)
    spec = {**workload("db", 4, cpu="1"), "strategy": strategy}
    await cluster.create(DEPLOYMENTS, "db", spec)
    await cluster.until(lambda: len(cluster.running("db")) == 4)
    await cluster.wait(1)
    return {pod.uid for pod in cluster.pods("db")}


async def change(cluster: Cluster, note: str = "new", **notes: str) -> None:
    template = {"metadata": {"annotations": {"a.example/note": note, **notes}}}
    await cluster.patch(DEPLOYMENTS.ref("db", "default"), {"spec": {"template": template}})


async def counts(cluster: Cluster, old: set[str]) -> tuple[int, int]:
    """Until no old pod is there: the most pods at one time, and the fewest that were ready."""
    seen: list[tuple[int, int]] = []

    def is_done() -> bool:
        alive = [pod for pod in cluster.pods("db") if not pod.is_deleting]
        seen.append((len(alive), len(cluster.running("db"))))
        uids = {pod.uid for pod in cluster.pods("db")}
        return not old & uids and len(cluster.running("db")) == 4

    await cluster.until(is_done)
    return max(one[0] for one in seen), min(one[1] for one in seen)


@pytest.mark.parametrize(
    ("strategy", "cpu", "expected"),
    [
        (rolling(0, 1), "4", (4, 3)),
        (rolling(1, 0), "9", (5, 4)),
        (rolling("50%", "50%"), "9", (6, 2)),
        (rolling("100%", 0), "9", (8, 4)),
    ],
)
@in_virtual_time
async def test_a_rollout_keeps_its_bounds_and_ends(
    strategy: JSON, cpu: str, expected: tuple[int, int]
) -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        old = await begin(cluster, strategy, cpu)
        await change(cluster)
        assert await counts(cluster, old) == expected
        await cluster.wait(1)

        status = cluster.status(DEPLOYMENTS, "db")
        assert (status["replicas"], status["updatedReplicas"]) == (4, 4)
        reasons = {one["reason"] for one in status["conditions"]}
        assert reasons == {"MinimumReplicasAvailable", "NewReplicaSetAvailable"}


@in_virtual_time
async def test_recreate_makes_no_pod_before_the_last_old_one_is_gone() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        old = await begin(cluster, {"type": "Recreate"}, "9")
        await change(cluster)

        def is_done() -> bool:
            uids = {pod.uid for pod in cluster.pods("db")}
            assert not old & uids or uids <= old
            return not old & uids and len(cluster.running("db")) == 4

        await cluster.until(is_done)


@in_virtual_time
async def test_a_template_whose_pods_are_never_ready_stops_and_can_be_taken_back() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        old = await begin(cluster, rolling(0, 1))
        await change(cluster, "broken", **{READY: "false"})
        await cluster.wait(600)
        assert len(old & {pod.uid for pod in cluster.pods("db")}) == 3

        await change(cluster, "mended", **{READY: "true"})
        assert await counts(cluster, old) == (4, 3)


@in_virtual_time
async def test_a_rollout_that_is_paused_half_way_stays_there_and_follows_its_size() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        old = await begin(cluster, rolling(1, 0), "9")
        await change(cluster)
        await cluster.until(lambda: any(pod.is_deleting for pod in cluster.pods("db")))
        ref = DEPLOYMENTS.ref("db", "default")
        await cluster.patch(ref, {"spec": {"paused": True}})
        await cluster.wait(60)
        before = {pod.uid for pod in cluster.pods("db")}
        assert before & old
        assert before - old
        await cluster.wait(600)
        assert {pod.uid for pod in cluster.pods("db")} == before

        await cluster.patch(ref, {"spec": {"replicas": 6}})
        await cluster.wait(300)
        after = {pod.uid for pod in cluster.pods("db")}
        assert before < after
        assert len(after) == len(before) + 2

        await cluster.patch(ref, {"spec": {"paused": None}})
        await cluster.until(lambda: not old & {pod.uid for pod in cluster.pods("db")})
        await cluster.wait(60)
        assert len(cluster.running("db")) == 6
