from datetime import datetime
from random import Random

import pytest

from tests.sim.actors.cluster import TYPES_BY_NAME, Cluster, in_virtual_time
from unmoor.model import names
from unmoor.model.instance import LaunchRequest
from unmoor.model.kinds import INSTANCES, LEASES, NODES, PODS
from unmoor.sim.actors.kubelet import (
    EXIT_CODE,
    READY,
    RUN_SECONDS,
    STOP_SECONDS,
    HollowKubelets,
    KubeletDelays,
)
from unmoor.sim.actors.machines import MachineDelays, Machines
from unmoor.sim.faults import ApiFaults, FaultyApi

FIXED = KubeletDelays(boot_s=(30, 30), ready_s=(10, 10), start_s=(3, 3), stop_s=(2, 2))
AT_ONCE = MachineDelays(launch_s=(0, 0), shut_down_s=(5, 5))


def kubelets(cluster: Cluster, delays: KubeletDelays = FIXED) -> HollowKubelets:
    return HollowKubelets(cluster.stage, TYPES_BY_NAME, delays)


async def boot(cluster: Cluster) -> str:
    made = await cluster.cloud.create(
        LaunchRequest(token="t", cluster="c", machine="m", labels={"team": "shop"})
    )
    return made.provider_id.rpartition("/")[2]


def renewed_at(cluster: Cluster, name: str) -> datetime:
    found = cluster.find(LEASES.ref(name, names.NODE_LEASES))
    assert found is not None
    return datetime.fromisoformat(found["spec"]["renewTime"])


def age_s(cluster: Cluster, name: str) -> float:
    return (cluster.clock.wall() - renewed_at(cluster, name)).total_seconds()


@in_virtual_time
async def test_a_booted_machine_becomes_a_ready_node() -> None:
    cluster = Cluster()
    async with cluster.playing(Machines(cluster.stage, AT_ONCE), kubelets(cluster)):
        name = await boot(cluster)
        await cluster.wait(29)
        assert cluster.node(name) is None

        await cluster.wait(2)
        node = cluster.node(name)
        assert node is not None
        assert not node.is_ready
        assert [one.identity_text for one in node.spec.taints] == [f"{names.NOT_READY}:NoSchedule"]

        await cluster.wait(10)
        node = cluster.node(name)
        assert node is not None
        assert node.is_ready
        (instance,) = await cluster.cloud.list("c")
        assert node.provider_id == instance.provider_id
        assert instance.labels.items() <= node.metadata.labels.items()
        assert node.metadata.labels[names.HOSTNAME] == name
        assert node.status.allocatable["pods"] == str(instance.allocatable["pods"])


@in_virtual_time
async def test_a_lease_is_renewed_every_ten_seconds_and_goes_with_its_node() -> None:
    cluster = Cluster()
    async with cluster.playing(kubelets(cluster)):
        await cluster.add_node("a")
        await cluster.wait(600)

        assert age_s(cluster, "a") <= 10
        lease = cluster.find(LEASES.ref("a", names.NODE_LEASES))
        assert lease is not None
        (owner,) = lease["metadata"]["ownerReferences"]
        assert owner["uid"] == cluster.server.get(NODES.ref("a"))["metadata"]["uid"]


@in_virtual_time
async def test_a_quiet_node_costs_a_lease_every_ten_seconds_and_a_status_every_five_minutes() -> (
    None
):
    cluster = Cluster()
    async with cluster.playing(kubelets(cluster)):
        await cluster.add_node("a")
        await cluster.wait(60)
        before = int(cluster.server.version)
        await cluster.wait(3600)

        assert int(cluster.server.version) - before == 360 + 12


@in_virtual_time
async def test_a_pod_starts_and_is_ready() -> None:
    cluster = Cluster()
    async with cluster.playing(kubelets(cluster)):
        await cluster.add_node("a")
        await cluster.add_pod("web", "a")
        await cluster.add_pod("sick", "a", annotations={READY: "false"})
        await cluster.wait(2)
        assert cluster.status(PODS, "web").get("phase") == "Pending"

        await cluster.wait(2)
        assert cluster.status(PODS, "web")["phase"] == "Running"
        assert cluster.status(PODS, "web")["podIP"].startswith("10.")
        assert cluster.running("web") == ["web"]
        assert cluster.running("sick") == []
        assert cluster.status(PODS, "sick")["phase"] == "Running"


@pytest.mark.parametrize(
    ("stop_s", "grace_s", "asked_grace_s", "gone_after_s"),
    [
        pytest.param("10", 60, None, 10, id="as long as it takes"),
        pytest.param("100", 20, None, 20, id="but not longer than its grace"),
        pytest.param("100", 60, 5, 5, id="or the grace of the deletion"),
        pytest.param("0", 60, None, 0, id="at once"),
        pytest.param("nonsense", 60, None, 2, id="what is no number is drawn"),
    ],
)
@in_virtual_time
async def test_a_deleted_pod_stops(
    stop_s: str, grace_s: int, asked_grace_s: int | None, gone_after_s: float
) -> None:
    cluster = Cluster()
    async with cluster.playing(kubelets(cluster)):
        await cluster.add_node("a")
        await cluster.add_pod(
            "web",
            "a",
            annotations={STOP_SECONDS: stop_s},
            terminationGracePeriodSeconds=grace_s,
        )
        await cluster.until(lambda: cluster.running("web"))
        await cluster.delete(PODS.ref("web", "default"), asked_grace_s)
        began_s = cluster.now_s
        await cluster.until(lambda: cluster.pod("web") is None)

        assert cluster.now_s - began_s == pytest.approx(gone_after_s, abs=1.0)
        assert cluster.find(PODS.ref("web", "default")) is None


@in_virtual_time
async def test_a_grace_that_shrinks_later_is_obeyed() -> None:
    cluster = Cluster()
    async with cluster.playing(kubelets(cluster)):
        await cluster.add_node("a")
        stubborn = {STOP_SECONDS: "1000"}
        await cluster.add_pod("web", "a", annotations=stubborn, terminationGracePeriodSeconds=600)
        await cluster.until(lambda: cluster.running("web"))
        await cluster.delete(PODS.ref("web", "default"))
        await cluster.wait(100)
        assert cluster.pod("web") is not None

        await cluster.delete(PODS.ref("web", "default"), grace_s=110)
        await cluster.wait(12)
        assert cluster.pod("web") is None


@in_virtual_time
async def test_a_pod_that_never_started_goes_at_once() -> None:
    cluster = Cluster()
    async with cluster.playing(kubelets(cluster)):
        await cluster.add_node("a")
        await cluster.add_pod("web", "a")
        await cluster.delete(PODS.ref("web", "default"))
        await cluster.wait(1)

        assert cluster.pod("web") is None


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
@in_virtual_time
async def test_a_pod_that_has_done_its_work_ends(code: str, phase: str) -> None:
    cluster = Cluster()
    async with cluster.playing(kubelets(cluster)):
        await cluster.add_node("a")
        task = {RUN_SECONDS: "60", EXIT_CODE: code}
        await cluster.add_pod("sum", "a", annotations=task, restartPolicy="Never")
        await cluster.wait(60)
        assert cluster.status(PODS, "sum")["phase"] == "Running"

        await cluster.wait(5)
        assert cluster.status(PODS, "sum")["phase"] == phase


@in_virtual_time
async def test_when_the_machine_dies_there_is_silence() -> None:
    cluster = Cluster()
    async with cluster.playing(Machines(cluster.stage, AT_ONCE), kubelets(cluster)):
        name = await boot(cluster)
        await cluster.wait(60)
        await cluster.add_pod("web", name)
        await cluster.until(lambda: cluster.running("web"))
        await cluster.delete(INSTANCES.ref(name))
        await cluster.delete(PODS.ref("web", "default"))
        await cluster.wait(1000)

        assert age_s(cluster, name) > 990
        assert cluster.pod("web") is not None
        node = cluster.node(name)
        assert node is not None
        assert node.is_ready, "nobody is there to say otherwise"


@in_virtual_time
async def test_a_crashed_kubelet_is_silent_for_a_while() -> None:
    cluster = Cluster()
    played = kubelets(cluster)
    async with cluster.playing(played):
        await cluster.add_node("a")
        await cluster.wait(60)
        played.crash("a", for_s=200)
        await cluster.add_pod("web", "a")
        await cluster.wait(150)
        assert age_s(cluster, "a") > 140
        assert cluster.running("web") == []

        await cluster.wait(100)
        assert age_s(cluster, "a") <= 10
        assert cluster.running("web") == ["web"]


@in_virtual_time
async def test_kubelets_crash_by_themselves_where_they_may() -> None:
    cluster = Cluster()
    delays = KubeletDelays(mean_h_between_crashes=0.5, crash_s=(60, 60))
    async with cluster.playing(kubelets(cluster, delays)):
        await cluster.add_node("a")
        ages = []
        for _ in range(1000):
            await cluster.wait(20)
            ages.append(age_s(cluster, "a"))

        assert max(ages) > 30
        assert min(ages[-100:]) < 15


@in_virtual_time
async def test_slow_answers_do_not_hold_up_the_leases() -> None:
    cluster = Cluster(
        wrap=lambda api, clock: FaultyApi(
            api, Random(0), clock, ApiFaults(slow=(1, 4), slow_s=(25, 25))
        ),
        at_once=16,
    )
    async with cluster.playing(kubelets(cluster)):
        await cluster.add_node("a")
        for number in range(20):
            await cluster.add_pod(f"web-{number}", "a")
        await cluster.wait(60)
        ages = []
        for _ in range(100):
            await cluster.wait(5)
            ages.append(age_s(cluster, "a"))

        assert sum(pod.is_ready for pod in cluster.pods()) == 20
        assert max(ages) <= 25 + 25, "stamped, 25 s on its way, and 25 s for the next one"


@in_virtual_time
async def test_a_node_that_is_deleted_does_not_come_back_by_itself() -> None:
    cluster = Cluster()
    async with cluster.playing(Machines(cluster.stage, AT_ONCE), kubelets(cluster)):
        name = await boot(cluster)
        await cluster.until(lambda: cluster.node(name))
        await cluster.delete(NODES.ref(name))
        await cluster.wait(1000)

        assert cluster.node(name) is None
