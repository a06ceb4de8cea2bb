from tests.sim.actors.cluster import Cluster, in_virtual_time
from unmoor.lifecycle.effects import Publish
from unmoor.model.kinds import NODES, PODS
from unmoor.sim.actors.scheduler import Scheduler


def place(cluster: Cluster, name: str) -> str:
    pod = cluster.pod(name)
    return pod.node_name if pod is not None else "gone"


def why_not(cluster: Cluster, name: str) -> str:
    conditions = cluster.status(PODS, name).get("conditions", [])
    return "".join(one["message"] for one in conditions if one["status"] == "False")


@in_virtual_time
async def test_pods_spread_to_the_emptiest_node() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await cluster.add_node("a")
        await cluster.add_node("b")
        for number in range(6):
            await cluster.add_pod(f"p{number}", cpu="500m")
            await cluster.wait(1)

        assert [place(cluster, f"p{n}") for n in range(6)] == ["a", "b", "a", "b", "a", "b"]


@in_virtual_time
async def test_pods_that_come_together_do_not_overfill_a_node() -> None:
    cluster = Cluster()
    for number in range(9):
        await cluster.add_pod(f"p{number}", cpu="1")
    async with cluster.playing(Scheduler(cluster.stage)):
        await cluster.add_node("a")
        await cluster.add_node("b")
        await cluster.wait(1)

        places = [place(cluster, f"p{n}") for n in range(9)]
        assert sorted(places) == ["", *"aaaa", *"bbbb"]


@in_virtual_time
async def test_a_pod_that_fits_nowhere_says_why_and_is_bound_when_there_is_room() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await cluster.add_node("a", cpu="1")
        await cluster.add_node("b", disk="ssd")
        await cluster.patch(NODES.ref("b"), {"spec": {"unschedulable": True}})
        await cluster.add_pod("web", cpu="2")
        await cluster.wait(1)
        assert place(cluster, "web") == ""
        assert why_not(cluster, "web") == (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
        )

        await cluster.patch(NODES.ref("b"), {"spec": {"unschedulable": None}})
        await cluster.wait(2)
        assert place(cluster, "web") == "b"


@in_virtual_time
async def test_why_a_pod_fits_nowhere_is_an_event_once_for_each_reason() -> None:
    cluster = Cluster()
    heard: list[Publish] = []
    cluster.stage.tell = heard.append
    async with cluster.playing(Scheduler(cluster.stage)):
        await cluster.add_node("a", cpu="1")
        await cluster.add_pod("web", cpu="2")
        await cluster.wait(1)
        for number in range(5):
            await cluster.add_node(f"small-{number}", cpu="1")
            await cluster.wait(5)
        await cluster.patch(NODES.ref("a"), {"spec": {"unschedulable": True}})
        await cluster.add_pod("tiny", cpu="1")
        await cluster.wait(5)

    assert place(cluster, "tiny").startswith("small-")
    event, later = heard
    assert (event.regarding.name, event.reason, event.is_warning) == (
        "web",
        "FailedScheduling",
        True,
    )
    assert event.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert later.message == (
        "0/6 nodes are available: 1 node(s) were unschedulable, 5 Insufficient cpu."
    )


@in_virtual_time
async def test_a_pod_that_leaves_makes_room() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await cluster.add_node("a", cpu="1")
        await cluster.add_pod("old", cpu="1")
        await cluster.wait(1)
        await cluster.add_pod("new", cpu="1")
        await cluster.wait(1)
        assert place(cluster, "new") == ""

        await cluster.delete(PODS.ref("old", "default"), grace_s=0)
        await cluster.wait(2)
        assert place(cluster, "new") == "a"


@in_virtual_time
async def test_the_more_important_pod_goes_first() -> None:
    cluster = Cluster()
    await cluster.add_pod("first", cpu="1")
    await cluster.add_pod("vital", cpu="1", priorityClassName="system-cluster-critical")
    async with cluster.playing(Scheduler(cluster.stage)):
        await cluster.add_node("a", cpu="1")
        await cluster.wait(1)

        assert (place(cluster, "first"), place(cluster, "vital")) == ("", "a")


@in_virtual_time
async def test_a_pod_of_another_scheduler_is_left_to_it() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await cluster.add_node("a", cpu="1")
        await cluster.add_pod("theirs", cpu="1", schedulerName="batch-scheduler")
        await cluster.add_pod("ours", cpu="1", schedulerName="default-scheduler")
        await cluster.wait(5)

        assert (place(cluster, "theirs"), why_not(cluster, "theirs")) == ("", "")
        assert place(cluster, "ours") == "a"


@in_virtual_time
async def test_a_pod_that_another_scheduler_has_bound_takes_room() -> None:
    cluster = Cluster()
    async with cluster.playing(Scheduler(cluster.stage)):
        await cluster.add_node("a", cpu="1")
        await cluster.add_pod("theirs", cpu="1", schedulerName="batch-scheduler")
        await cluster.wait(1)
        target = {"apiVersion": "v1", "kind": "Node", "name": "a"}
        binding = {"metadata": {"name": "theirs", "namespace": "default"}, "target": target}
        await cluster.api.create(PODS.ref("theirs", "default"), binding, subresource="binding")
        await cluster.add_pod("ours", cpu="1")
        await cluster.wait(5)

        assert (place(cluster, "theirs"), place(cluster, "ours")) == ("a", "")
        assert why_not(cluster, "ours") == "0/1 nodes are available: 1 Insufficient cpu."
