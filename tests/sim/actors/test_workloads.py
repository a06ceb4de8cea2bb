from tests.sim.actors.cluster import TYPES_BY_NAME, Cluster, in_virtual_time, pod_template, workload
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.kinds import (
    CLAIMS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    STORAGE_CLASSES,
)
from unmoor.sim.actors.actor import Actor
from unmoor.sim.actors.daemonsets import DaemonSets
from unmoor.sim.actors.deployments import TEMPLATE_HASH, Deployments, ReplicaSets
from unmoor.sim.actors.jobs import Jobs
from unmoor.sim.actors.kubelet import RUN_SECONDS, STOP_SECONDS, HollowKubelets
from unmoor.sim.actors.owners import reference
from unmoor.sim.actors.scheduler import Scheduler
from unmoor.sim.actors.statefulsets import StatefulSets
from unmoor.sim.actors.volumes import Volumes


def cast(cluster: Cluster) -> tuple[Actor, ...]:
    stage = cluster.stage
    return (
        HollowKubelets(stage, TYPES_BY_NAME),
        Scheduler(stage),
        Deployments(stage),
        ReplicaSets(stage),
        StatefulSets(stage),
        DaemonSets(stage),
        Jobs(stage),
    )


# -------------------------------------------------------------------- Deployments and ReplicaSets


@in_virtual_time
async def test_a_deployment_comes_up_and_says_so() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(DEPLOYMENTS, "web", workload("web", 3))
        await cluster.until(lambda: len(cluster.running("web")) == 3)
        await cluster.wait(1)

        found = cluster.status(DEPLOYMENTS, "web")
        said = {one["type"]: one["reason"] for one in found.pop("conditions")}
        assert said == {
            "Available": "MinimumReplicasAvailable",
            "Progressing": "NewReplicaSetAvailable",
        }
        assert found == {
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "unavailableReplicas": 0,
            "terminatingReplicas": 0,
            "observedGeneration": 1,
        }
        (replica_set,) = await cluster.listed(REPLICA_SETS)
        controllers = [pod.metadata.controller for pod in cluster.pods("web")]
        assert [one and one.uid for one in controllers] == [replica_set.uid] * 3
        assert replica_set.status.ready_replicas == 3


@in_virtual_time
async def test_a_deleted_replica_is_replaced_at_once_under_a_new_name() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(DEPLOYMENTS, "web", workload("web", 2))
        before = await cluster.until(lambda: len(r := cluster.running("web")) == 2 and r)
        for name in before:
            await cluster.delete(PODS.ref(name, "default"))
        await cluster.wait(0.5)
        assert len(cluster.pods("web")) == 4, "two that go, two that come"

        await cluster.until(lambda: len(cluster.pods("web")) == 2)
        assert not set(before) & {pod.name for pod in cluster.pods("web")}


@in_virtual_time
async def test_a_deployment_shrinks_and_grows() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(DEPLOYMENTS, "web", workload("web", 4))
        await cluster.until(lambda: len(cluster.running("web")) == 4)
        for replicas in (1, 3, 0):
            await cluster.patch(DEPLOYMENTS.ref("web", "default"), {"spec": {"replicas": replicas}})
            await cluster.wait(60)
            assert len(cluster.running("web")) == len(cluster.pods("web")) == replicas


@in_virtual_time
async def test_a_new_template_replaces_the_old_pods() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(DEPLOYMENTS, "web", workload("web", 2))
        await cluster.until(lambda: len(cluster.running("web")) == 2)
        old = {pod.uid for pod in cluster.pods("web")}
        template = pod_template("web", cpu="200m")
        await cluster.patch(DEPLOYMENTS.ref("web", "default"), {"spec": {"template": template}})
        await cluster.until(lambda: not old & {pod.uid for pod in cluster.pods("web")})

        assert len(cluster.running("web")) == 2


@in_virtual_time
async def test_a_set_that_another_controller_has_made_is_kept_under_its_name() -> None:
    """As in a dump of a real cluster: the template is the same, the name has another hash."""
    cluster = Cluster()
    await cluster.create(DEPLOYMENTS, "web", workload("web", 2))
    (deployment,) = await cluster.listed(DEPLOYMENTS)
    made = workload("web", 2)
    made["template"]["metadata"]["labels"][TEMPLATE_HASH] = "5ccd8d97b4"
    owner = reference(DEPLOYMENTS, deployment)
    await cluster.create(REPLICA_SETS, "web-5ccd8d97b4", made, ownerReferences=[owner])
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.until(lambda: len(cluster.running("web")) == 2)
        await cluster.patch(DEPLOYMENTS.ref("web", "default"), {"spec": {"replicas": 3}})
        await cluster.until(lambda: len(cluster.running("web")) == 3)

        assert [one.name for one in await cluster.listed(REPLICA_SETS)] == ["web-5ccd8d97b4"]
        assert cluster.status(DEPLOYMENTS, "web")["updatedReplicas"] == 3


# ------------------------------------------------------------------------------------ StatefulSets


@in_virtual_time
async def test_stateful_pods_come_one_after_the_other() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(STATEFUL_SETS, "db", {**workload("db", 3), "serviceName": "db"})
        seen: list[int] = []

        def all_run() -> bool:
            waiting = len(cluster.pods("db")) - len(cluster.running("db"))
            assert waiting <= 1
            seen.append(len(cluster.running("db")))
            return seen[-1] == 3

        await cluster.until(all_run)
        assert cluster.running("db") == ["db-0", "db-1", "db-2"]
        assert seen == sorted(seen)


@in_virtual_time
async def test_a_stateful_pod_comes_back_under_its_name_when_the_old_one_is_gone() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        slow = workload("db", 2, annotations={STOP_SECONDS: "20"})
        await cluster.create(STATEFUL_SETS, "db", {**slow, "serviceName": "db"})
        await cluster.until(lambda: len(cluster.running("db")) == 2)
        old = cluster.pod("db-0")
        assert old is not None
        await cluster.delete(PODS.ref("db-0", "default"))
        await cluster.wait(19)
        dying = cluster.pod("db-0")
        assert dying is not None
        assert dying.uid == old.uid

        await cluster.until(lambda: len(cluster.running("db")) == 2)
        new = cluster.pod("db-0")
        assert new is not None
        assert new.uid != old.uid


@in_virtual_time
async def test_a_stateful_set_shrinks_from_the_end() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(STATEFUL_SETS, "db", {**workload("db", 3), "serviceName": "db"})
        await cluster.until(lambda: len(cluster.running("db")) == 3)
        await cluster.patch(STATEFUL_SETS.ref("db", "default"), {"spec": {"replicas": 1}})
        await cluster.until(lambda: len(cluster.pods("db")) == 1)

        assert cluster.running("db") == ["db-0"]


@in_virtual_time
async def test_a_stateful_pod_finds_the_volume_that_its_predecessor_had() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster), Volumes(cluster.stage)):
        for name in ("a", "b"):
            await cluster.add_node(name, **{names.ZONE: f"zone-{name}"})
        body = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
        more = {"provisioner": "disks", "volumeBindingMode": "WaitForFirstConsumer"}
        ref = STORAGE_CLASSES.ref("disk")
        await cluster.api.create(ref, {**body, "metadata": {"name": "disk"}, **more})
        spec: JSON = {"accessModes": ["ReadWriteOnce"], "storageClassName": "disk"}
        spec |= {"resources": {"requests": {"storage": "1Gi"}}}
        claims = [{"metadata": {"name": "data"}, "spec": spec}]
        db = {**workload("db", 2), "serviceName": "db", "volumeClaimTemplates": claims}
        await cluster.create(STATEFUL_SETS, "db", db)
        await cluster.until(lambda: len(cluster.running("db")) == 2)
        first = cluster.pod("db-0")
        assert first is not None
        volumes = {one.name: one.spec.volume_name for one in await cluster.listed(CLAIMS)}
        assert list(volumes) == ["data-db-0", "data-db-1"]

        await cluster.patch(NODES.ref(first.node_name), {"spec": {"unschedulable": True}})
        await cluster.delete(PODS.ref("db-0", "default"))
        await cluster.wait(60)

        assert "db-0" not in cluster.running("db"), "its volume is in the zone that is closed"
        await cluster.patch(NODES.ref(first.node_name), {"spec": {"unschedulable": None}})
        await cluster.until(lambda: len(cluster.running("db")) == 2)
        found = {one.name: one.spec.volume_name for one in await cluster.listed(CLAIMS)}
        assert found == volumes


# -------------------------------------------------------------------------------------- DaemonSets


@in_virtual_time
async def test_a_daemon_runs_on_every_node_cordoned_or_full() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.add_node("b", cpu="10m")
        await cluster.patch(NODES.ref("a"), {"spec": {"unschedulable": True}})
        await cluster.create(DAEMON_SETS, "log", workload("log"))
        await cluster.until(lambda: len(cluster.running("log")) == 2)
        await cluster.add_node("c")
        await cluster.until(lambda: len(cluster.running("log")) == 3)
        await cluster.wait(1)

        assert sorted(pod.node_name for pod in cluster.pods("log")) == ["a", "b", "c"]
        assert all(pod.is_daemon for pod in cluster.pods("log"))
        assert cluster.status(DAEMON_SETS, "log")["numberReady"] == 3


@in_virtual_time
async def test_a_daemon_that_is_deleted_comes_back() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(DAEMON_SETS, "log", workload("log"))
        await cluster.until(lambda: cluster.running("log"))
        (old,) = cluster.pods("log")
        await cluster.delete(PODS.ref(old.name, "default"))
        await cluster.until(lambda: old.uid not in {pod.uid for pod in cluster.pods("log")})
        await cluster.until(lambda: cluster.running("log"))


@in_virtual_time
async def test_a_daemon_stays_away_from_nodes_it_does_not_want() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a", disk="ssd")
        await cluster.add_node("b")
        await cluster.create(DAEMON_SETS, "log", workload("log", nodeSelector={"disk": "ssd"}))
        await cluster.until(lambda: cluster.running("log"))
        assert [pod.node_name for pod in cluster.pods("log")] == ["a"]

        await cluster.patch(NODES.ref("a"), {"metadata": {"labels": {"disk": None}}})
        await cluster.until(lambda: not cluster.pods("log"))


# --------------------------------------------------------------------------------------------- Jobs


def job(run_s: str = "30", **spec: object) -> dict[str, object]:
    annotations = {RUN_SECONDS: run_s}
    return {**spec, "template": pod_template("sum", annotations=annotations, restartPolicy="Never")}


@in_virtual_time
async def test_a_job_runs_until_enough_have_succeeded() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(JOBS, "sum", job(completions=5, parallelism=2))
        await cluster.until(lambda: cluster.status(JOBS, "sum").get("conditions"))

        status = cluster.status(JOBS, "sum")
        assert (status["succeeded"], status["failed"]) == (5, 0)
        assert [one["type"] for one in status["conditions"]][-1] == "Complete"
        assert len(cluster.pods("sum")) == 5


@in_virtual_time
async def test_a_job_pod_that_is_deleted_has_failed_and_is_tried_again() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.create(JOBS, "sum", job("60", completions=1))
        await cluster.until(lambda: cluster.running("sum"))
        await cluster.delete(PODS.ref(cluster.running("sum")[0], "default"))
        await cluster.until(lambda: cluster.status(JOBS, "sum").get("conditions"))

        status = cluster.status(JOBS, "sum")
        assert (status["succeeded"], status["failed"]) == (1, 1)


@in_virtual_time
async def test_a_job_gives_up() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        spec = job("5", completions=1, backoffLimit=2)
        annotations = {RUN_SECONDS: "5", "sim.unmoor.dev/exit-code": "1"}
        spec["template"] = pod_template("sum", annotations=annotations, restartPolicy="Never")
        await cluster.create(JOBS, "sum", spec)
        await cluster.until(lambda: cluster.status(JOBS, "sum").get("conditions"))

        status = cluster.status(JOBS, "sum")
        assert (status.get("succeeded", 0), status["failed"]) == (0, 3)
        assert [one["type"] for one in status["conditions"]][-1] == "Failed"
