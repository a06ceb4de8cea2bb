"""The cast does what the real controllers do: the same facts, asked of both.

Each case plays in virtual time with our actors and, as an end-to-end test, in real time against the
real controller manager and scheduler, with nothing of ours but machines and kubelets.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from tests import controlplane
from tests.sim.actors.cluster import TYPES_BY_NAME, workload
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.model import kinds
from unmoor.model.base import JSON
from unmoor.model.crds import all_crds
from unmoor.model.kinds import Resource
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Api, ApiError, Clock, Query
from unmoor.sim import virtual
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.budgets import Budgets
from unmoor.sim.actors.daemonsets import DaemonSets
from unmoor.sim.actors.deployments import Deployments, ReplicaSets
from unmoor.sim.actors.jobs import Jobs
from unmoor.sim.actors.kubelet import HOLLOW, RUN_SECONDS, HollowKubelets, KubeletDelays
from unmoor.sim.actors.nodelife import NodeLife
from unmoor.sim.actors.scheduler import Scheduler
from unmoor.sim.actors.statefulsets import StatefulSets
from unmoor.sim.apiserver import Server
from unmoor.sim.direct import DirectApi

QUICK = KubeletDelays(start_s=(0.1, 0.2), stop_s=(0.1, 0.2), lease_every_s=1.0)
GRACE_S = 8.0
PATIENCE_S = 100.0
LOOK_AGAIN_S = 0.2
CLOSING_S = 0.1


class Ground:
    """A cluster with hollow nodes, in a namespace of the case's own."""

    def __init__(self, api: Api, clock: Clock, kubelets: HollowKubelets, namespace: str) -> None:
        self.api = api
        self.clock = clock
        self.kubelets = kubelets
        self.namespace = namespace

    async def node(self, name: str) -> None:
        room = {"cpu": "8", "memory": "16Gi", "pods": "100"}
        conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        status = {"capacity": room, "allocatable": room, "conditions": conditions}
        labels = {HOLLOW: "true", "case": self.namespace}
        meta = {"name": name, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}
        await self.api.create(kinds.NODES.ref(name), body)

    async def create(self, resource: Resource[Any], name: str, spec: JSON) -> None:
        ref = resource.ref(name, self.namespace)
        meta = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
        await self.api.create(ref, {**body, "spec": spec})

    def workload(self, app: str, replicas: int | None = None, **template: Any) -> JSON:
        """On the nodes of this case only."""
        return workload(app, replicas, nodeSelector={"case": self.namespace}, **template)

    async def status(self, resource: Resource[Any], name: str) -> JSON:
        found: JSON = (await self.api.get(resource.ref(name, self.namespace))).get("status") or {}
        return found

    async def until(self, what: str, probe: Callable[[], Awaitable[Any]], wanted: Any) -> None:
        deadline = self.clock.now().mono + PATIENCE_S
        while (answer := await probe()) != wanted:
            assert self.clock.now().mono < deadline, f"{what} is {answer!r}, not {wanted!r}"
            await self.clock.sleep(LOOK_AGAIN_S)


Case = Callable[[Ground], Awaitable[None]]
CASES: dict[str, Case] = {}


def case(play: Case) -> Case:
    CASES[play.__name__] = play
    return play


EXPECTED: dict[str, tuple[JSON, tuple[int, int, int, int]]] = {
    "two-stay": ({"minAvailable": 2}, (5, 5, 2, 3)),
    "half-stay": ({"minAvailable": "50%"}, (5, 5, 3, 2)),
    "one-goes": ({"maxUnavailable": 1}, (5, 5, 4, 1)),
    "a-third-goes": ({"maxUnavailable": "30%"}, (5, 5, 3, 2)),
    "none-goes": ({"maxUnavailable": 0}, (5, 5, 5, 0)),
    "all-go": ({"maxUnavailable": "100%"}, (5, 5, 0, 5)),
    "too-many-stay": ({"minAvailable": 9}, (5, 5, 9, 0)),
}


@case
async def budgets_count_alike(ground: Ground) -> None:
    await ground.node(f"{ground.namespace}-a")
    # One for each: of several budgets on a pod, the real controller keeps only one up to date.
    for name, (spec, _) in EXPECTED.items():
        await ground.create(kinds.DEPLOYMENTS, name, ground.workload(name, 5))
        selector = {"matchLabels": {"app": name}}
        await ground.create(kinds.BUDGETS, name, {"selector": selector, **spec})

    async def counts() -> dict[str, tuple[int, ...]]:
        fields = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")
        found = {name: await ground.status(kinds.BUDGETS, name) for name in EXPECTED}
        return {name: tuple(one.get(field, -1) for field in fields) for name, one in found.items()}

    await ground.until("counts", counts, {name: wanted for name, (_, wanted) in EXPECTED.items()})


@case
async def stateful_pods_get_their_claims(ground: Ground) -> None:
    """The pod waits for its volume, which nobody provides."""
    spec: JSON = {"accessModes": ["ReadWriteOnce"], "storageClassName": "none"}
    spec |= {"resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "data", "labels": {"tier": "slow"}}, "spec": spec}
    scratch: list[JSON] = [{"name": one, "emptyDir": {}} for one in ("data", "tmp")]
    db = {**ground.workload("db", 2, volumes=scratch), "serviceName": "db"}
    await ground.create(kinds.STATEFUL_SETS, "db", {**db, "volumeClaimTemplates": [claim]})

    async def found() -> tuple[Any, ...]:
        claims, pods = [
            (await ground.api.list(kind.raw(), Query(ground.namespace))).items
            for kind in (kinds.CLAIMS, kinds.PODS)
        ]
        volumes = [volume for pod in pods for volume in pod["spec"].get("volumes", ())]
        named = {volume["name"]: volume.get("persistentVolumeClaim") for volume in volumes}
        named = {name: one for name, one in named.items() if not name.startswith("kube-api-access")}
        meta = [one["metadata"] for one in claims]
        return [(m["name"], m["labels"], m.get("ownerReferences")) for m in meta], named

    labels = {"app": "db", "tier": "slow"}
    expected = {"data": {"claimName": "data-db-0"}, "tmp": None}
    await ground.until("claims", found, ([("data-db-0", labels, None)], expected))


@case
async def workloads_say_the_same(ground: Ground) -> None:
    await ground.node(f"{ground.namespace}-a")
    await ground.node(f"{ground.namespace}-b")
    await ground.create(kinds.DEPLOYMENTS, "web", ground.workload("web", 3))
    stateful = {**ground.workload("db", 2), "serviceName": "db"}
    await ground.create(kinds.STATEFUL_SETS, "db", stateful)
    await ground.create(kinds.DAEMON_SETS, "log", ground.workload("log"))
    task = ground.workload("sum", annotations={RUN_SECONDS: "0.5"}, restartPolicy="Never")
    await ground.create(kinds.JOBS, "sum", {"completions": 2, "template": task["template"]})

    async def said() -> tuple[Any, ...]:
        web = await ground.status(kinds.DEPLOYMENTS, "web")
        db = await ground.status(kinds.STATEFUL_SETS, "db")
        log = await ground.status(kinds.DAEMON_SETS, "log")
        job = await ground.status(kinds.JOBS, "sum")
        is_done = [one["type"] for one in job.get("conditions", []) if one["status"] == "True"]
        return (
            [web.get(f) for f in ("replicas", "updatedReplicas", "readyReplicas")],
            [db.get(f) for f in ("replicas", "readyReplicas", "availableReplicas")],
            [log.get(f) for f in ("desiredNumberScheduled", "numberReady", "numberAvailable")],
            job.get("succeeded"),
            "Complete" in is_done,
        )

    await ground.until("said", said, ([3, 3, 3], [2, 2, 2], [2, 2, 2], 2, True))


async def taints(ground: Ground, name: str) -> list[str]:
    body = await ground.api.get(kinds.NODES.ref(name))
    return sorted(f"{one['key']}:{one['effect']}" for one in body["spec"].get("taints", []))


@case
async def a_cordon_is_a_taint(ground: Ground) -> None:
    name = f"{ground.namespace}-a"
    await ground.node(name)
    await ground.until("taints", lambda: taints(ground, name), [])
    await ground.api.patch(kinds.NODES.ref(name), {"spec": {"unschedulable": True}})
    cordon = ["node.kubernetes.io/unschedulable:NoSchedule"]
    await ground.until("taints", lambda: taints(ground, name), cordon)
    await ground.api.patch(kinds.NODES.ref(name), {"spec": {"unschedulable": None}})
    await ground.until("taints", lambda: taints(ground, name), [])


@case
async def a_silent_node_is_unreachable_and_its_pods_are_not_ready(ground: Ground) -> None:
    name = f"{ground.namespace}-a"
    await ground.node(name)
    await ground.node(f"{ground.namespace}-b")
    await ground.create(kinds.DAEMON_SETS, "log", ground.workload("log"))

    async def ready() -> dict[str, bool]:
        pods = await ground.api.list(kinds.PODS, Query(ground.namespace))
        return {pod.node_name[-1:]: pod.is_ready for pod in pods.items}

    await ground.until("ready", ready, {"a": True, "b": True})
    ground.kubelets.crash(name, for_s=GRACE_S * 2)
    unreachable = [f"node.kubernetes.io/unreachable:{e}" for e in ("NoExecute", "NoSchedule")]
    await ground.until("taints", lambda: taints(ground, name), unreachable)
    await ground.until("ready", ready, {"a": False, "b": True})
    node = await ground.api.get(kinds.NODES.ref(name))
    words = {one["type"]: (one["status"], one["reason"]) for one in node["status"]["conditions"]}
    assert words["Ready"] == ("Unknown", "NodeStatusUnknown")

    await ground.until("taints", lambda: taints(ground, name), [])
    await ground.until("ready", ready, {"a": True, "b": True})


@case
async def pods_of_a_deleted_node_are_removed(ground: Ground) -> None:
    name = f"{ground.namespace}-a"
    await ground.node(name)
    await ground.create(kinds.DAEMON_SETS, "log", ground.workload("log"))

    async def ready() -> list[bool]:
        pods = await ground.api.list(kinds.PODS, Query(ground.namespace))
        return [pod.is_ready for pod in pods.items]

    await ground.until("ready", ready, [True])
    await ground.api.delete(kinds.NODES.ref(name))
    await ground.until("ready", ready, [])


async def namespace(api: Api, name: str) -> None:
    meta = {"name": name}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
    await api.create(kinds.NAMESPACES.ref(name), body)


@asynccontextmanager
async def playing(stage: Stage, *cast: Any) -> AsyncIterator[None]:
    task = asyncio.create_task(stage.run(cast))
    try:
        yield
    finally:
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(result, Exception):
        raise result


@pytest.mark.parametrize("name", CASES)
def test_our_cast(name: str) -> None:
    async def play() -> None:
        clock = virtual.VirtualClock()
        api = DirectApi(Server(clock=clock.wall))
        stage = Stage(api, clock, Random(0))
        kubelets = HollowKubelets(stage, TYPES_BY_NAME, QUICK)
        makers = (Scheduler, Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, Budgets)
        cast = [maker(stage) for maker in makers]
        async with playing(stage, kubelets, NodeLife(stage, GRACE_S), *cast):
            await namespace(api, "case")
            await CASES[name](Ground(api, clock, kubelets, "case"))

    virtual.run(play())


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[controlplane.ControlPlane]:
    monitor = controlplane.NodeMonitor(period_s=0.5, grace_s=GRACE_S, startup_grace_s=GRACE_S)
    directory = tmp_path_factory.mktemp("plane")
    with controlplane.ControlPlane(directory=directory, node_monitor=monitor) as up:
        up.create(*all_crds())
        crds = [f"crd/{crd['metadata']['name']}" for crd in all_crds()]
        up.kubectl("wait", "--for=condition=Established", *crds)
        yield up


async def serviced(api: Api, clock: Clock, name: str) -> None:
    """Wait for the service account without which no pod is admitted."""
    while True:
        try:
            await api.list(kinds.PODS, Query(name))
            raw = Resource("ServiceAccount", "serviceaccounts", "", "v1", True, dict[str, Any])
            if (await api.list(raw, Query(name))).items:
                return
        except ApiError as error:
            if error.code != 404:
                raise
        await clock.sleep(LOOK_AGAIN_S)


@pytest.mark.e2e
@pytest.mark.parametrize("name", CASES)
async def test_the_real_controllers(name: str, plane: controlplane.ControlPlane) -> None:
    clock = SystemClock()
    chosen = config.load(path=str(plane.kubeconfig))
    own = name.replace("_", "-")[:30].strip("-")
    async with KubeApi(chosen, clock=clock, random=Random(0)) as api:
        stage = Stage(api, clock, Random(0), at_once=16)
        kubelets = HollowKubelets(stage, TYPES_BY_NAME, QUICK)
        async with playing(stage, kubelets):
            await namespace(api, own)
            await serviced(api, clock, own)
            await CASES[name](Ground(api, clock, kubelets, own))
    # A cancelled watch closes its TLS connection in the background; the loop must outlive that.
    await clock.sleep(CLOSING_S)
