"""One node's drain in virtual time: what is shown, how it ends, what it leaves."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.scenarios.virtual import QUICK
from unmoor.app.cli.command import Failure
from unmoor.app.draining import Change, Drained, Draining, Ports
from unmoor.app.forecast import look_ahead
from unmoor.app.progress import line_of, outcome_of
from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model import names
from unmoor.model.base import Ref
from unmoor.model.kinds import EVENTS, PODS
from unmoor.runtime.ports import Api, ApiError, DeleteOptions, Query
from unmoor.runtime.recorder import EventRecorder
from unmoor.sim import virtual
from unmoor.sim.actors.kubelet import HOLLOW
from unmoor.sim.world import World

APP = "web"


class Scene:
    """A world with hollow nodes, and the drain of one."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.api: Api = world.api
        self.changes: list[Change] = []

    async def node(self, name: str) -> None:
        labels = {HOLLOW: names.TRUE, names.INSTANCE_TYPE: "m5.large"}
        await self.api.create(Ref("Node", name), {"metadata": {"name": name, "labels": labels}})

    async def workload(self, replicas: int, available: int) -> None:
        labels = {"app": APP}
        pod = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "c"}]},
        }
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
        meta = {"name": APP, "namespace": "default"}
        await self.api.create(
            Ref("Deployment", APP, namespace="default"), {"metadata": meta, "spec": spec}
        )
        await self.api.create(
            Ref("PodDisruptionBudget", APP, namespace="default"),
            {
                "metadata": meta,
                "spec": {"minAvailable": available, "selector": {"matchLabels": labels}},
            },
        )
        await self.world.clock.sleep(self.settled_s)
        assert len(await self.pods()) == replicas

    settled_s = 5.0

    async def pods(self, node: str = "a") -> list[str]:
        page = await self.api.list(PODS, Query(fields=f"spec.nodeName={node}"))
        return [pod.name for pod in page.items if pod.is_ready]

    async def drain(
        self, *, deadline_s: float | None = None, timeout_s: float | None = None
    ) -> Drained:
        recorder = EventRecorder(self.api, self.world.clock)
        ports = Ports(self.api, self.world.clock, recorder)
        drained = await Draining(ports, "a", self.changes.append).run(
            deadline_s=deadline_s, timeout_s=timeout_s
        )
        await recorder.flush()
        return drained

    def shown(self) -> list[str]:
        return [line_of(change).partition(" ")[2] for change in self.changes]


def played(story: Callable[[Scene], Awaitable[None]]) -> None:
    """Run a story in a new world with one node, "a"."""

    async def play() -> None:
        async with _scene() as scene:
            await story(scene)

    virtual.run(play())


@asynccontextmanager
async def _scene() -> AsyncIterator[Scene]:
    types = {one.name: one for one in ec2_types()}
    async with World(1, cloud=SimulatedCloud, types=types, delays=QUICK) as world:
        scene = Scene(world)
        await scene.node("a")
        yield scene


def test_pods_go_one_by_one_under_their_budget_and_it_is_shown() -> None:
    async def story(scene: Scene) -> None:
        await scene.workload(2, available=1)
        await scene.node("b")

        drained = await scene.drain()

        assert drained.is_drained
        assert drained.moved == 2
        assert (drained.left, drained.blockers) == ((), ())
        assert scene.shown()[0] == "node/a cordoned"
        by_pod = [change.state for change in scene.changes if change.pod]
        assert by_pod.count("gone") == 2
        assert by_pod.count("terminating") == 2
        for pod in {change.pod for change in scene.changes if change.pod}:
            states = [change.state for change in scene.changes if change.pod == pod]
            assert states in (
                ["waiting", "terminating", "gone"],
                ["waiting", "held", "terminating", "gone"],
            )
        assert "held" in by_pod
        assert outcome_of(drained) == f"node/a drained: 2 pods in {drained.took_s:g} s"
        assert await scene.pods("a") == []
        assert len(await scene.pods("b")) == 2
        events = (await scene.api.list(EVENTS.raw())).items
        assert sum(event["reason"] == "Evicted" for event in events) == 2

    played(story)


def test_at_the_timeout_it_says_what_holds_it() -> None:
    async def story(scene: Scene) -> None:
        await scene.workload(2, available=2)

        drained = await scene.drain(timeout_s=3600.0)

        assert not drained.is_drained
        assert drained.took_s == 3600.0
        assert drained.left is not None
        assert len(drained.left) == 2
        assert len(drained.blockers) == 2
        assert all("is held by disruption budget default/web" in why for why in drained.blockers)
        assert outcome_of(drained).startswith("node/a not drained after 3600 s; pods left: default")
        assert len(await scene.pods()) == 2
        # Held is said once for each pod, however often it was asked.
        assert [change.state for change in scene.changes].count("held") == 2
        held = next(line for line in scene.shown() if " held: " in line)
        assert held.partition(" held: ")[2].startswith("by disruption budget default/web: 0 ")

    played(story)


def test_at_the_deadline_pods_go_past_their_budget() -> None:
    async def story(scene: Scene) -> None:
        await scene.workload(2, available=2)

        drained = await scene.drain(deadline_s=60.0)

        assert drained.is_drained
        assert 59.0 <= drained.took_s < 75.0
        assert any("it is deleted past its disruption budget" in line for line in scene.shown())

    played(story)


def test_a_cordon_of_a_person_is_not_claimed() -> None:
    async def story(scene: Scene) -> None:
        await scene.api.patch(Ref("Node", "a"), {"spec": {"unschedulable": True}})

        drained = await scene.drain()

        node = await scene.api.get(Ref("Node", "a"))
        assert drained.is_drained
        assert scene.shown()[0] == "node/a cordoned: it was cordoned before"
        assert names.CORDONED not in node["metadata"].get("annotations", {})

    played(story)


def test_pods_that_stay_are_not_waited_for() -> None:
    async def story(scene: Scene) -> None:
        labels = {"app": "agent"}
        pod = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "c"}]},
        }
        await scene.api.create(
            Ref("DaemonSet", "agent", namespace="default"),
            {
                "metadata": {"name": "agent", "namespace": "default"},
                "spec": {"selector": {"matchLabels": labels}, "template": pod},
            },
        )
        await scene.world.clock.sleep(scene.settled_s)

        drained = await scene.drain()

        assert drained.is_drained
        assert drained.moved == 0
        assert len(await scene.pods()) == 1

    played(story)


@pytest.mark.parametrize(
    ("finalizers", "ends"),
    [
        ([], ["gone"]),
        (["example.com/keep"], ["finished: its finalizers keep it: example.com/keep"]),
    ],
)
def test_a_pod_that_has_ended_and_is_still_there_is_finished(
    finalizers: list[str], ends: list[str]
) -> None:
    async def story(scene: Scene) -> None:
        spec = {"nodeName": "a", "containers": [{"name": "c", "image": "c"}]}
        meta = {"name": "one", "namespace": "default", "finalizers": finalizers}
        await scene.api.create(
            Ref("Pod", "one", namespace="default"), {"metadata": meta, "spec": spec}
        )
        await scene.world.clock.sleep(scene.settled_s)

        drained = await scene.drain()

        assert drained.is_drained
        words = [line.partition("pod/default/one ")[2] for line in scene.shown()]
        assert [word for word in words if word][2:] == ends

    played(story)


def test_a_pod_that_completes_meanwhile_is_finished_and_not_gone() -> None:
    async def story(scene: Scene) -> None:
        await scene.workload(1, available=1)
        (pod,) = await scene.pods()

        def complete_once_held(change: Change) -> None:
            scene.changes.append(change)
            if change.state == "held":
                ref = Ref("Pod", pod, namespace="default")
                body = {"status": {"phase": "Succeeded"}}
                scene.world.server.patch(ref, body, subresource="status")

        ports = Ports(scene.api, scene.world.clock, EventRecorder(scene.api, scene.world.clock))
        drained = await Draining(ports, "a", complete_once_held).run(
            deadline_s=None, timeout_s=600.0
        )

        assert drained.is_drained
        assert [change.state for change in scene.changes if change.pod][-1] == "finished"

    played(story)


def test_a_pod_that_cannot_be_read_holds_it_and_a_rehearsal_says_so() -> None:
    async def story(scene: Scene) -> None:
        odd = Ref("Pod", "odd", namespace="default")
        container = {"name": "c", "image": "c"}
        spec = {"nodeName": "a", "hostNetwork": "yes", "containers": [container]}
        meta = {"name": "odd", "namespace": "default"}
        await scene.api.create(odd, {"metadata": meta, "spec": spec})
        outlook = await look_ahead(scene.api, "a", scene.world.clock.now())
        assert [(one.pod, one.what) for one in outlook.pods] == [("default/odd", "held")]
        assert not outlook.is_clear

        drained = await scene.drain(timeout_s=60.0)

        assert not drained.is_drained
        assert drained.left == ("default/odd",)
        (why,) = [one for one in drained.blockers if "delete the pod" in one]
        assert '`$.spec.hostNetwork`, where "yes" stands' in why

        await scene.api.delete(odd, DeleteOptions(grace_s=0))
        assert (await scene.drain()).is_drained

    played(story)


def test_a_node_that_is_deleted_meanwhile_ends_it() -> None:
    async def story(scene: Scene) -> None:
        def delete_once_cordoned(change: Change) -> None:
            scene.changes.append(change)
            if change.state == "cordoned":
                scene.world.server.delete(Ref("Node", "a"), DeleteOptions())

        recorder = EventRecorder(scene.api, scene.world.clock)
        ports = Ports(scene.api, scene.world.clock, recorder)
        await scene.workload(1, available=1)

        drained = await Draining(ports, "a", delete_once_cordoned).run(
            deadline_s=None, timeout_s=600.0
        )

        assert not drained.is_drained
        assert "the node does not exist any more" in drained.blockers
        assert drained.took_s < 1.0

    played(story)


def test_a_cordon_that_is_forbidden_ends_it() -> None:
    class Refusing:
        """The API, but nodes may not be patched."""

        def __init__(self, api: Api) -> None:
            self._api = api

        def __getattr__(self, name: str) -> object:
            return getattr(self._api, name)

        async def patch(self, ref: Ref, *_: object, **__: object) -> object:
            raise ApiError(403, "Forbidden", f"you may not patch {ref}")

    async def story(scene: Scene) -> None:
        scene.api = Refusing(scene.api)  # type: ignore[assignment]

        with pytest.raises(Failure, match="node/a cannot be cordoned: you may not patch node/a"):
            await scene.drain()

    played(story)


def test_when_the_time_is_over_before_the_first_look_it_claims_nothing() -> None:
    async def story(scene: Scene) -> None:
        drained = await scene.drain(timeout_s=0.0)

        assert (drained.is_drained, drained.is_cordoned, drained.left) == (False, None, None)
        assert drained.blockers == ("nobody had looked yet which pods are on it",)
        assert outcome_of(drained) == "node/a not drained after 0 s; pods left: not known"
        node = await scene.api.get(Ref("Node", "a"))
        assert "unschedulable" not in node["spec"]

    played(story)


def test_what_an_empty_node_is_waited_for_is_said() -> None:
    async def story(scene: Scene) -> None:
        drained = await scene.drain()

        assert drained.is_drained
        assert drained.took_s == 5.0
        _, said = scene.shown()
        assert said == (
            "node/a: no pod is waited for on node a, which is drained once its cordon is 5 s old: "
            "pods that were bound just before it may still appear"
        )

    played(story)


def test_a_pod_that_gets_stuck_is_not_gone_and_has_not_moved() -> None:
    async def story(scene: Scene) -> None:
        await scene.workload(1, available=0)
        (pod,) = await scene.pods()
        scene.world.kubelets.crash("a", for_s=3600.0)

        drained = await scene.drain()

        assert [change.state for change in scene.changes if change.pod] == [
            "waiting",
            "terminating",
            "stuck",
        ]
        (stuck,) = [line for line in scene.shown() if " stuck: " in line]
        assert stuck.startswith(f"pod/default/{pod} stuck: should have been gone at ")
        assert "look at its finalizers" in stuck
        assert drained.is_drained
        assert (drained.moved, drained.left, drained.given_up) == (0, (), (f"default/{pod}",))
        told = outcome_of(drained)
        assert told == (
            f"node/a drained: 0 pods in {drained.took_s:g} s, but for 1 pod given up: default/{pod}"
        )

    played(story)


def test_a_pod_that_gets_stuck_is_not_among_those_that_are_left() -> None:
    async def story(scene: Scene) -> None:
        await scene.workload(2, available=1)
        scene.world.kubelets.crash("a", for_s=3600.0)

        drained = await scene.drain(timeout_s=200.0)

        assert not drained.is_drained
        assert [len(pods or ()) for pods in (drained.left, drained.given_up)] == [1, 1]
        assert drained.left != drained.given_up
        (blocker,) = drained.blockers
        assert "is held by disruption budget default/web" in blocker

    played(story)
