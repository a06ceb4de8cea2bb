"""Where the scheduler puts pods: what they require keeps them out, what they prefer decides."""

from __future__ import annotations

from typing import Any

import pytest

from tests.facts import raw, reading
from tests.sim.actors.cluster import Cluster, in_virtual_time, workload
from unmoor.lifecycle.effects import Publish
from unmoor.model.base import JSON
from unmoor.model.kinds import CLAIMS, NODES, PODS, REPLICA_SETS, STORAGE_CLASSES, VOLUMES
from unmoor.model.names import HOSTNAME, ZONE
from unmoor.runtime.ports import ApiError
from unmoor.sim.actors import placing
from unmoor.sim.actors.deployments import ReplicaSets
from unmoor.sim.actors.floor import Floor
from unmoor.sim.actors.scheduler import Scheduler
from unmoor.sim.actors.scoring import Score
from unmoor.sim.actors.volumes import Volumes

WEB = {"matchLabels": {"app": "web"}}
DATA = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
OWN = {"spec": {"storageClassName": "disk", "accessModes": ["ReadWriteOnce"]}}
SCRATCH = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": OWN}}]


async def add_nodes(cluster: Cluster, **zones: str) -> None:
    for name, zone in zones.items():
        await cluster.add_node(name, **{HOSTNAME: name, ZONE: zone})


def places(cluster: Cluster, app: str = "") -> str:
    return " ".join(sorted(pod.node_name or "-" for pod in cluster.pods(app)))


def said(cluster: Cluster, name: str) -> JSON:
    conditions = cluster.status(PODS, name).get("conditions", [])
    found: JSON = next((one for one in conditions if one["type"] == "PodScheduled"), {})
    return found


def spread(key: str, when: str = "DoNotSchedule", **more: Any) -> JSON:
    one = {"topologyKey": key, "whenUnsatisfiable": when, "labelSelector": WEB, "maxSkew": 1}
    return {"topologySpreadConstraints": [{**one, **more}]}


def near(key: str, app: str, weight: int = 0) -> JSON:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    if weight:
        preferred = [{"weight": weight, "podAffinityTerm": term}]
        return {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


@in_virtual_time
async def test_hard_spreading_keeps_pods_out_until_others_are_elsewhere() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await add_nodes(cluster, a="z1", b="z2")
        await cluster.patch(NODES.ref("b"), {"spec": {"unschedulable": True}})
        for number in range(3):
            await cluster.add_pod(f"web-{number}", **web(spread(ZONE)))
        await cluster.wait(2)
        assert places(cluster) == "- - a"
        assert said(cluster, "web-1")["message"] == (
            "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, "
            "1 node(s) were unschedulable."
        )

        await cluster.patch(NODES.ref("b"), {"spec": {"unschedulable": None}})
        await cluster.wait(3)
        assert places(cluster) == "a a b"


@in_virtual_time
async def test_a_pod_that_looks_for_company_waits_for_it() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await add_nodes(cluster, a="z1", b="z1")
        await cluster.add_pod("web", affinity={"podAffinity": near(HOSTNAME, "db")})
        await cluster.wait(2)
        assert said(cluster, "web")["message"] == (
            "0/2 nodes are available: 2 node(s) didn't match pod affinity rules."
        )

        await cluster.add_pod("db", node="b")
        await cluster.wait(2)
        assert cluster.pod("web").node_name == "b"  # type: ignore[union-attr]


@in_virtual_time
async def test_who_runs_keeps_others_away() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await add_nodes(cluster, a="z1", b="z1", c="z2")
        await cluster.add_pod("lonely", affinity={"podAntiAffinity": near(ZONE, "web")})
        await cluster.wait(1)
        for number in range(3):
            await cluster.add_pod(f"web-{number}", **web({}))
        await cluster.wait(1)

        assert places(cluster, "lonely") == "a"
        assert places(cluster, "web") == "c c c"


@in_virtual_time
async def test_pods_of_one_owner_are_spread_even_where_one_node_is_emptier() -> None:
    cluster = Cluster()
    actors = (Scheduler(cluster.stage), ReplicaSets(cluster.stage))
    async with cluster.playing(*actors):
        for name, cpu in (("a", "64"), ("b", "4"), ("c", "4")):
            await cluster.add_node(name, cpu=cpu, **{HOSTNAME: name, ZONE: name})
        await cluster.create(REPLICA_SETS, "web", workload("web", 6, cpu="500m"))
        await cluster.wait(5)

        assert places(cluster) == "a a b b c c"


def test_to_be_in_no_zone_counts_as_one_where_nobody_asked_for_zones() -> None:
    """Each pod weighs by how many zones there are; measured on kube-scheduler 1.36."""
    web = {"app": "web"}
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}

    def of_web(name: str, on: str = "") -> JSON:
        body = raw.pod(name, on=on, labels=web)
        return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}

    spec = {"selector": raw.selecting(**web)}
    replica_set = {"kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec}
    nodes = [raw.node("a", zone="z1"), raw.node("b", zone="z2"), raw.node("c")]
    there = [of_web(f"old-{at}", on) for at, on in enumerate("aaab")]
    view = reading.view_of([*nodes, *there, replica_set])
    floor = Floor(view)
    floor.refresh(())

    wish = placing.musts_of(reading.read_pod(of_web("new")), view)
    scores = placing.scores_of(wish, list(floor.sites.values()), floor)

    assert scores[Score.SPREAD] == [12, 56, 100]


@in_virtual_time
async def test_preferences_decide_and_keep_nobody_out() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await add_nodes(cluster, a="z1", b="z2", c="z3")
        soft = [{"key": "slow", "effect": "PreferNoSchedule"}]
        await cluster.patch(NODES.ref("a"), {"spec": {"taints": soft}})
        await cluster.add_pod("db", node="c", cpu="1")
        prefers = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z2"]}]}
        preferred = [{"weight": 5, "preference": prefers}]
        node = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        await cluster.wait(1)
        for name, spec in (
            ("untainted", {}),
            ("by-node", {"affinity": {"nodeAffinity": node}}),
            ("by-pod", {"affinity": {"podAffinity": near(ZONE, "db", weight=9)}}),
            ("alone", {"nodeSelector": {ZONE: "z1"}}),
            ("soft", spread(ZONE, "ScheduleAnyway", labelSelector={"matchLabels": {}})),
        ):
            await cluster.add_pod(name, **spec)
        await cluster.wait(1)

        found = {pod.name: pod.node_name for pod in cluster.pods() if pod.name != "db"}
        assert found == {"untainted": "b", "by-node": "b", "by-pod": "c", "alone": "a", "soft": "b"}


@in_virtual_time
async def test_a_gated_pod_is_left_alone_until_its_gates_are_gone() -> None:
    cluster = Cluster()
    heard: list[Publish] = []
    cluster.stage.tell = heard.append
    async with cluster.playing(Scheduler(cluster.stage)):
        await add_nodes(cluster, a="z1")
        await cluster.add_pod("web", schedulingGates=[{"name": "quota"}])
        await cluster.wait(2)
        assert (said(cluster, "web")["status"], said(cluster, "web")["reason"]) == (
            "False",
            "SchedulingGated",
        )
        assert (places(cluster), heard) == ("-", [])

        ref = PODS.ref("web", "default")
        with pytest.raises(ApiError, match="new scheduling gate 'late'"):
            await cluster.patch(ref, {"spec": {"schedulingGates": [{"name": "late"}]}})
        await cluster.patch(ref, {"spec": {"schedulingGates": None}})
        await cluster.wait(1)
        assert places(cluster) == "a"


@in_virtual_time
async def test_a_host_port_is_had_once_on_a_node() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await add_nodes(cluster, a="z1", b="z1")
        ports = [{"containerPort": 80, "hostPort": 80}]
        for number in range(3):
            await cluster.add_pod(
                f"p{number}", containers=[{"name": "m", "image": "none", "ports": ports}]
            )
        await cluster.wait(1)

        assert places(cluster) == "- a b"
        assert said(cluster, "p2")["message"] == (
            "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
        )


def reach(cluster: Cluster, claim: JSON) -> JSON:
    """From where the volume of a claim can be reached."""
    volume = cluster.find(VOLUMES.ref(claim["spec"]["volumeName"])) or {}
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    (found,) = term["matchExpressions"]
    return dict(found)


@in_virtual_time
async def test_where_there_are_no_zones_a_volume_is_reached_from_one_host() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage), Volumes(cluster.stage)):
        await cluster.add_node("a", **{HOSTNAME: "host-a"})
        await add_claim(cluster, "data", binding="WaitForFirstConsumer")
        await cluster.add_pod("db", volumes=DATA)
        await cluster.wait(3)

        claim = cluster.find(CLAIMS.ref("data", "default")) or {}
        assert reach(cluster, claim) == {"key": HOSTNAME, "operator": "In", "values": ["host-a"]}


@in_virtual_time
async def test_a_claim_that_waits_gets_its_volume_where_the_pod_goes() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage), Volumes(cluster.stage)):
        await add_nodes(cluster, a="z1", b="z2")
        await cluster.add_pod("weight", node="a", cpu="3")
        await add_claim(cluster, "data", binding="WaitForFirstConsumer")
        await cluster.add_pod("db", volumes=DATA)
        await cluster.wait(3)
        assert places(cluster, "db") == "b"
        claim = cluster.find(CLAIMS.ref("data", "default")) or {}
        volume = cluster.find(VOLUMES.ref(claim["spec"]["volumeName"])) or {}
        capacity = volume["spec"]["capacity"]
        assert claim["status"] == {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": capacity,
        }
        assert volume["status"]["phase"] == "Bound"
        assert reach(cluster, claim) == {"key": ZONE, "operator": "In", "values": ["z2"]}

        # From now on the volume holds its pods in that zone, however full it is.
        await cluster.patch(NODES.ref("b"), {"spec": {"unschedulable": True}})
        await cluster.add_pod("second", volumes=DATA)
        await cluster.wait(2)
        assert said(cluster, "second")["message"] == (
            "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, "
            "1 node(s) were unschedulable."
        )


@in_virtual_time
async def test_room_is_held_while_a_volume_is_made() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await add_nodes(cluster, a="z1")
        await add_claim(cluster, "data", binding="WaitForFirstConsumer")
        await cluster.add_pod("db", cpu="3", volumes=DATA)
        await cluster.wait(1)
        await cluster.add_pod("web", cpu="2")
        await cluster.wait(2)

        assert [places(cluster, "db"), places(cluster, "web")] == ["-", "-"]
        await cluster.delete(PODS.ref("db", "default"))
        await cluster.wait(2)
        assert places(cluster, "web") == "a"


@in_virtual_time
async def test_a_pods_own_volume_gets_claim_and_volume() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage), Volumes(cluster.stage)):
        await add_nodes(cluster, a="z1")
        await add_class(cluster, "Immediate")
        await cluster.add_pod("db", volumes=SCRATCH)
        await cluster.wait(5)

        assert places(cluster) == "a"
        claim = cluster.find(CLAIMS.ref("db-scratch", "default")) or {}
        assert claim["metadata"]["ownerReferences"][0]["name"] == "db"


@in_virtual_time
async def test_a_pod_waits_for_the_claim_of_its_predecessor_to_go_and_gets_its_own() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage), Volumes(cluster.stage)):
        await add_nodes(cluster, a="z1")
        await add_claim(cluster, "db-scratch", binding="Immediate")
        await cluster.add_pod("db", volumes=SCRATCH)
        await cluster.wait(5)
        assert places(cluster) == "-"
        assert "its metadata.ownerReferences names no controller" in said(cluster, "db")["message"]

        await cluster.delete(CLAIMS.ref("db-scratch", "default"))
        await cluster.wait(5)
        assert places(cluster) == "a"


@in_virtual_time
async def test_a_claim_is_chosen_a_node_anew_when_that_node_is_gone() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await add_nodes(cluster, a="z1")
        await add_claim(cluster, "data", binding="WaitForFirstConsumer")
        await cluster.add_pod("db", volumes=DATA)
        await cluster.wait(2)
        assert places(cluster) == "-"
        await cluster.delete(NODES.ref("a"))
        await cluster.wait(2)
    async with cluster.playing(Scheduler(cluster.stage), Volumes(cluster.stage)):
        await add_nodes(cluster, b="z2")
        await cluster.wait(5)

        assert places(cluster) == "b"


@in_virtual_time
async def test_a_pod_without_its_claim_says_so() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage), Volumes(cluster.stage)):
        await add_nodes(cluster, a="z1")
        await cluster.add_pod("db", volumes=DATA)
        await cluster.wait(2)
        assert said(cluster, "db")["message"] == (
            '0/1 nodes are available: persistentvolumeclaim "data": there is no such claim.'
        )

        await add_claim(cluster, "data", binding="Immediate")
        await cluster.wait(3)
        assert places(cluster) == "a"


@in_virtual_time
async def test_a_claim_that_names_its_volume_is_bound_once_there_is_one() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage), Volumes(cluster.stage)):
        await add_nodes(cluster, a="z1")
        await cluster.create(CLAIMS, "data", {"storageClassName": "", "volumeName": "disk-1"})
        await cluster.add_pod("db", volumes=DATA)
        await cluster.wait(2)
        assert "is not bound to it yet" in said(cluster, "db")["message"]

        disk = {"csi": {"driver": "d", "volumeHandle": "h"}, "capacity": {"storage": "9Gi"}}
        await cluster.create(VOLUMES, "disk-1", disk)
        await cluster.wait(3)
        assert places(cluster) == "a"
        claim = cluster.find(CLAIMS.ref("data", "default")) or {}
        assert claim["status"] == {"phase": "Bound", "capacity": {"storage": "9Gi"}}
        volume = cluster.find(VOLUMES.ref("disk-1")) or {}
        assert volume["status"]["phase"] == "Bound"
        assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]


@in_virtual_time
async def test_a_volume_that_nobody_claims_is_available() -> None:
    cluster = Cluster()
    async with cluster.playing(Volumes(cluster.stage)):
        await cluster.create(VOLUMES, "disk-1", {"csi": {"driver": "d", "volumeHandle": "h"}})
        await cluster.wait(2)

        volume = cluster.find(VOLUMES.ref("disk-1")) or {}
        assert volume["status"]["phase"] == "Available"


def web(spec: JSON) -> JSON:
    """Options of a pod of the application that the constraints are about."""
    return {"app": "web", **spec}


async def add_class(cluster: Cluster, binding: str) -> None:
    await cluster.api.create(
        STORAGE_CLASSES.ref("disk"),
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "disk"},
            "provisioner": "disks.example.com",
            "volumeBindingMode": binding,
        },
    )


async def add_claim(cluster: Cluster, name: str, binding: str) -> None:
    await add_class(cluster, binding)
    asked = {"requests": {"storage": "2Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "disk", "resources": asked}
    await cluster.create(CLAIMS, name, spec)
