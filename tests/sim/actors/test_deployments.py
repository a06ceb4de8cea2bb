"""What becomes of a Deployment's sets: held while it is paused, and told what it says."""

from __future__ import annotations

from tests.sim.actors.cluster import TYPES_BY_NAME, Cluster, in_virtual_time, workload
from unmoor.model.kinds import DEPLOYMENTS, REPLICA_SETS
from unmoor.sim.actors.actor import Actor
from unmoor.sim.actors.deployments import DESIRED, MOST, REVISION, Deployments, ReplicaSets
from unmoor.sim.actors.kubelet import HollowKubelets
from unmoor.sim.actors.scheduler import Scheduler


def cast(cluster: Cluster) -> tuple[Actor, ...]:
    stage = cluster.stage
    return (
        HollowKubelets(stage, TYPES_BY_NAME),
        Scheduler(stage),
        Deployments(stage),
        ReplicaSets(stage),
    )


async def begin(cluster: Cluster) -> None:
    await cluster.add_node("a")
    await cluster.create(DEPLOYMENTS, "db", workload("db", 2))
    await cluster.until(lambda: len(cluster.running("db")) == 2)
    await cluster.wait(1)


def uids(cluster: Cluster) -> set[str]:
    return {pod.uid for pod in cluster.pods("db")}


@in_virtual_time
async def test_a_paused_deployment_keeps_its_template_and_follows_its_size() -> None:
    cluster = Cluster()
    ref = DEPLOYMENTS.ref("db", "default")
    async with cluster.playing(*cast(cluster)):
        await begin(cluster)
        await cluster.patch(ref, {"spec": {"paused": True}})
        await cluster.patch(ref, {"spec": {"template": {"metadata": {"labels": {"new": "yes"}}}}})
        await cluster.patch(ref, {"spec": {"replicas": 3}})
        await cluster.until(lambda: len(cluster.running("db")) == 3)
        await cluster.wait(1)

        assert len(await cluster.listed(REPLICA_SETS)) == 1
        said = {
            one["type"]: one["reason"] for one in cluster.status(DEPLOYMENTS, "db")["conditions"]
        }
        assert said["Progressing"] == "DeploymentPaused"
        old = uids(cluster)
        await cluster.patch(ref, {"spec": {"paused": None}})
        await cluster.until(lambda: not old & uids(cluster) and len(cluster.running("db")) == 3)
        await cluster.wait(1)

        assert len(await cluster.listed(REPLICA_SETS)) == 2
        assert cluster.status(DEPLOYMENTS, "db")["updatedReplicas"] == 3


@in_virtual_time
async def test_a_paused_deployment_without_a_set_makes_none() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.create(DEPLOYMENTS, "db", {**workload("db", 2), "paused": True})
        await cluster.wait(60)

        assert await cluster.listed(REPLICA_SETS) == ()
        assert cluster.status(DEPLOYMENTS, "db")["unavailableReplicas"] == 2


@in_virtual_time
async def test_a_set_says_what_its_deployment_says_and_how_many_there_may_be() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await begin(cluster)
        note = {"kubernetes.io/change-cause": "because"}
        await cluster.patch(DEPLOYMENTS.ref("db", "default"), {"metadata": {"annotations": note}})
        await cluster.wait(1)

        (only,) = await cluster.listed(REPLICA_SETS)
        assert only.metadata.annotations == {**note, REVISION: "1", DESIRED: "2", MOST: "3"}
