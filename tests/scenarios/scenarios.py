"""The stories that must hold on every cluster: each a coroutine on a stage.

They run in virtual time on the embedded cluster and in real time on a real control plane, with the
same shortened cadences and without a line that knows which.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.scenarios import objects, volumes
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names
from unmoor.model.base import Ref
from unmoor.model.disruption import DisruptionPhase

Scenario = Callable[[Stage], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}
HOLD = "scenario.unmoor.dev/hold"
"""A finalizer of somebody else."""


def scenario(play: Scenario) -> Scenario:
    """List a scenario under its name."""
    SCENARIOS[play.__name__.replace("_", "-")] = play
    return play


def node(name: str) -> Ref:
    """Refer to a node by name."""
    return kinds.NODES.ref(name)


@scenario
async def manual_delete(stage: Stage) -> None:
    """``kubectl delete node``: cordon, drain, terminate, release (001:24-32)."""
    field = await stage.field("manual-delete")
    first, second = await stage.nodes_up(field, "manual-1", "manual-2")
    await stage.apply(objects.deployment("web", namespace=field, replicas=3))
    await stage.ready(field, "web", 3)

    await stage.delete(node(first))

    await stage.gone(node(first), kinds.MACHINES.ref("manual-1"))
    pods = await stage.ready(field, "web", 3)
    assert {pod.node_name for pod in pods} == {second}
    await stage.eventually("the instance is told to go", lambda: _no_instance(stage, "manual-1"))


@scenario
async def delete_by_label(stage: Stage) -> None:
    """``kubectl delete nodes -l karpenter.sh/provisioner-name=x`` (001:42-47)."""
    field = await stage.field("by-label")
    nodes = await stage.nodes_up(field, "label-1", "label-2", "label-3")
    for one in await stage.listed(kinds.NODES, labels=f"{names.PROVISIONER_NAME}={field}"):
        await stage.delete(node(one.name))

    await stage.gone(*(node(name) for name in nodes))
    await stage.gone(*(kinds.MACHINES.ref(f"label-{i}") for i in (1, 2, 3)))
    await stage.eventually(
        "no instance is left", lambda: _no_instance(stage, "label-1", "label-2", "label-3")
    )


@scenario
async def cascade_in_background(stage: Stage) -> None:
    """Deleting the Provisioner takes its nodes along, gracefully (001:50, R4)."""
    await _cascade(stage, "cascade-b", "Background")


@scenario
async def cascade_in_foreground(stage: Stage) -> None:
    """The same, and the Provisioner stays until its machines are gone (R4)."""
    await _cascade(stage, "cascade-f", "Foreground")


async def _cascade(stage: Stage, field: str, propagation: str) -> None:
    await stage.field(field)
    machines = (f"{field}-1", f"{field}-2")
    nodes = await stage.nodes_up(field, *machines)
    await stage.apply(objects.pod("naked", namespace=field))
    await stage.ready(field, "naked", 1)

    await stage.delete(kinds.PROVISIONERS.ref(field), propagation=propagation)

    await stage.gone(*(node(name) for name in nodes))
    await stage.gone(*(kinds.MACHINES.ref(name) for name in machines))
    await stage.gone(kinds.PROVISIONERS.ref(field))
    await stage.eventually("no instance is left", lambda: _no_instance(stage, *machines))


@scenario
async def delete_machine(stage: Stage) -> None:
    """``kubectl delete machine``: the node goes first, then the instance (T081)."""
    field = await stage.field("delete-machine")
    (first,) = await stage.nodes_up(field, "dm-1")

    await stage.delete(kinds.MACHINES.ref("dm-1"))

    await stage.gone(node(first), kinds.MACHINES.ref("dm-1"))
    await stage.eventually("no instance is left", lambda: _no_instance(stage, "dm-1"))


@scenario
async def emptiness(stage: Stage) -> None:
    """An empty node goes when its time is up, one with a workload stays (001:53)."""
    field = await stage.field("emptiness", ttlSecondsAfterEmpty=5)
    await stage.nodes_up(field, "full-1")
    await stage.apply(objects.deployment("web", namespace=field, replicas=1))
    (pod,) = await stage.ready(field, "web", 1)
    await stage.apply(
        objects.machine("empty-1", provisioner=field, field=f"{field}-none"),
    )
    empty = await stage.node_of("empty-1")

    await stage.gone(node(empty), kinds.MACHINES.ref("empty-1"))

    assert await stage.find(node(pod.node_name)) is not None
    await stage.eventually("no instance is left", lambda: _no_instance(stage, "empty-1"))

    async def finished() -> bool:
        done = [
            d
            for d in await stage.listed(kinds.DISRUPTIONS)
            if any(n.name == empty for n in d.spec.nodes)
        ]
        return [d.phase for d in done] == [DisruptionPhase.SUCCEEDED]

    await stage.eventually("one command stands in the ledger as succeeded", finished)


@scenario
async def budget_held_then_released(stage: Stage) -> None:
    """A budget holds the drain for as long as it is exhausted (001:28, T073)."""
    field = await stage.field("budget")
    (first,) = await stage.nodes_up(field, "budget-1")
    await stage.apply(
        objects.deployment("web", namespace=field, replicas=1),
        objects.budget("web", namespace=field, app="web", minAvailable=1),
    )
    (pod,) = await stage.ready(field, "web", 1)
    await _budget_counts(stage, field, "web")
    await stage.delete(node(first))
    await stage.eventually("the drain waits", lambda: stage.is_draining(first))

    async def said() -> list[str]:
        return await stage.events("FailedDraining", first)

    messages = await stage.eventually("the drain says what it waits for", said)
    await stage.eventually(
        "an event names the budget", lambda: _named(stage, first, f"{field}/web")
    )
    assert messages
    await stage.always("the pod is spared", lambda: _runs(stage, field, pod.uid))

    await stage.delete(kinds.BUDGETS.ref("web", field))

    await stage.gone(node(first))


async def _named(stage: Stage, about: str, what: str) -> bool:
    return any(what in message for message in await stage.events("FailedDraining", about))


async def _runs(stage: Stage, namespace: str, uid: str) -> bool:
    return any(p.uid == uid and not p.is_deleting for p in await stage.pods(namespace))


async def _budget_counts(stage: Stage, namespace: str, name: str) -> None:
    async def counted() -> bool:
        found = await stage.find(kinds.BUDGETS.ref(name, namespace))
        status = (found or {}).get("status", {})
        return bool(status.get("expectedPods"))

    await stage.eventually(f"the budget {namespace}/{name} has counted its pods", counted)


@scenario
async def machine_gone(stage: Stage) -> None:
    """The machine vanishes under a held drain: the node is released at once (001:29, R20)."""
    field = await stage.field("machine-gone")
    (first,) = await stage.nodes_up(field, "gone-1")
    await stage.apply(
        objects.deployment("web", namespace=field, replicas=1),
        objects.budget("web", namespace=field, app="web", minAvailable=1),
    )
    await stage.ready(field, "web", 1)
    await _budget_counts(stage, field, "web")
    await stage.delete(node(first))
    await stage.eventually("the drain waits", lambda: stage.is_draining(first))
    (provider_id,) = await stage.instances("gone-1")

    await stage.cloud.terminate(provider_id)

    await stage.gone(node(first), kinds.MACHINES.ref("gone-1"))


@scenario
async def somebody_elses_finalizer(stage: Stage) -> None:
    """We drain, terminate and release our part; a finalizer of another keeps the node."""
    field = await stage.field("finalizer")
    (first,) = await stage.nodes_up(field, "finalizer-1")
    found = await stage.api.get(node(first))
    finalizers = [*found["metadata"]["finalizers"], HOLD]
    await stage.api.patch(node(first), {"metadata": {"finalizers": finalizers}})
    await stage.delete(node(first))

    async def only_theirs() -> bool:
        found = await stage.find(node(first))
        return found is not None and found["metadata"].get("finalizers") == [HOLD]

    await stage.eventually("only the other finalizer is left", only_theirs)
    await stage.eventually("the instance is told to go", lambda: _no_instance(stage, "finalizer-1"))
    await stage.always("the node waits for its other owner", only_theirs)

    await stage.api.patch(node(first), {"metadata": {"finalizers": None}})

    await stage.gone(node(first), kinds.MACHINES.ref("finalizer-1"))


@scenario
async def naked_and_do_not_evict_pods(stage: Stage) -> None:
    """A drain evicts what nobody re-creates and what asked to stay (R7, R17, T069, T071)."""
    field = await stage.field("naked")
    (first,) = await stage.nodes_up(field, "naked-1")
    await stage.apply(
        objects.pod("naked", namespace=field),
        objects.pod("stays", namespace=field, annotations={names.DO_NOT_EVICT: "true"}),
    )
    await stage.ready(field, "naked", 1)
    await stage.ready(field, "stays", 1)

    await stage.delete(node(first))

    await stage.gone(node(first))
    await stage.gone(kinds.PODS.ref("naked", field), kinds.PODS.ref("stays", field))


@scenario
async def blanket_toleration(stage: Stage) -> None:
    """Pods that come back to the draining node do not hold it for ever (R1)."""
    field = await stage.field("blanket")
    (first,) = await stage.nodes_up(field, "blanket-1")
    await stage.apply(
        objects.deployment(
            "stubborn",
            namespace=field,
            replicas=1,
            tolerations=[{"operator": "Exists"}],
        )
    )
    await stage.ready(field, "stubborn", 1)

    await stage.delete(node(first))

    await stage.gone(node(first), kinds.MACHINES.ref("blanket-1"))
    await stage.eventually("no instance is left", lambda: _no_instance(stage, "blanket-1"))


@scenario
async def stuck_terminating_pod(stage: Stage) -> None:
    """A pod that never goes is given up some time after its grace (spec 5.2, T078)."""
    field = await stage.field("stuck")
    (first,) = await stage.nodes_up(field, "stuck-1")
    await stage.apply(objects.pod("held", namespace=field, finalizers=(HOLD,)))
    await stage.ready(field, "held", 1)

    await stage.delete(node(first))

    await stage.gone(node(first), kinds.MACHINES.ref("stuck-1"))
    held = kinds.PODS.ref("held", field)
    if await stage.find(held) is not None:
        await stage.api.patch(held, {"metadata": {"finalizers": None}})


@scenario
async def daemon_and_static_pods(stage: Stage) -> None:
    """Pods that belong to the node are neither evicted nor waited for (001:28 as R1, T075)."""
    field = await stage.field("daemons")
    (first,) = await stage.nodes_up(field, "daemons-1")
    found = await stage.api.get(node(first))
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": first,
        "uid": found["metadata"]["uid"],
        "controller": True,
    }
    await stage.apply(
        objects.daemon_set("agent", namespace=field),
        objects.pod(
            "static",
            namespace=field,
            annotations={
                "kubernetes.io/config.mirror": "a1",
                "kubernetes.io/config.source": "file",
            },
            owners=(owner,),
            nodeName=first,
            tolerations=[{"operator": "Exists"}],
        ),
    )
    (agent,) = await stage.ready(field, "agent", 1)
    (static,) = await stage.ready(field, "static", 1)
    evicted: list[str] = []

    async def gone_or_spared() -> bool:
        alive = await stage.find(node(first)) is not None
        running = {p.uid for p in await stage.pods(field) if not p.is_deleting}
        if alive and not {agent.uid, static.uid} <= running:
            evicted.append("a pod of the node went before the node")
        return not alive

    await stage.delete(node(first))

    await stage.eventually("the node is gone", gone_or_spared)
    assert not evicted


@scenario
async def drain_deadline(stage: Stage) -> None:
    """With a deadline, the budget holds until then and no longer (decisions, "Ours, on top")."""
    field = await stage.field("deadline", annotations={names.DRAIN_DEADLINE: "8s"})
    (first,) = await stage.nodes_up(field, "deadline-1", annotations={names.DRAIN_DEADLINE: "8s"})
    await stage.apply(
        objects.deployment("web", namespace=field, replicas=1),
        objects.budget("web", namespace=field, app="web", minAvailable=1),
    )
    (pod,) = await stage.ready(field, "web", 1)
    await _budget_counts(stage, field, "web")
    await stage.delete(node(first))
    await stage.eventually("the drain waits", lambda: stage.is_draining(first))
    await stage.always("the pod is spared", lambda: _runs(stage, field, pod.uid), for_s=3.0)

    await stage.gone(node(first), kinds.MACHINES.ref("deadline-1"))


@scenario
async def restart_in_the_middle(stage: Stage) -> None:
    """Unmoor is killed in the middle of a drain, and its successor finishes (rule 4)."""
    field = await stage.field("restart")
    first, _ = await stage.nodes_up(field, "restart-1", "restart-2")
    await stage.apply(
        objects.deployment("web", namespace=field, replicas=4),
        objects.budget("web", namespace=field, app="web", maxUnavailable=2),
    )
    await stage.ready(field, "web", 4)
    await _budget_counts(stage, field, "web")
    await stage.delete(node(first))
    await stage.eventually("the drain has begun", lambda: stage.is_draining(first))

    await stage.unmoor.kill()
    await stage.always("nothing happens while unmoor is away", lambda: stage.is_draining(first))
    await stage.unmoor.start()

    await stage.gone(node(first), kinds.MACHINES.ref("restart-1"))
    await stage.ready(field, "web", 4)
    await stage.eventually("no instance is left", lambda: _no_instance(stage, "restart-1"))


@scenario
async def server_restarts_in_the_middle(stage: Stage) -> None:
    """The API server goes away under a drain and comes back: nothing is lost or done twice."""
    field = await stage.field("outage")
    first, _ = await stage.nodes_up(field, "outage-1", "outage-2")
    await stage.apply(
        objects.deployment("web", namespace=field, replicas=4),
        objects.budget("web", namespace=field, app="web", maxUnavailable=2),
    )
    await stage.ready(field, "web", 4)
    await _budget_counts(stage, field, "web")
    await stage.delete(node(first))
    await stage.eventually("the drain has begun", lambda: stage.is_draining(first))

    await stage.restart_server()

    await stage.gone(node(first), kinds.MACHINES.ref("outage-1"))
    await stage.ready(field, "web", 4)
    await stage.eventually("its instance went", lambda: _no_instance(stage, "outage-1"))
    assert len(await stage.instances("outage-2")) == 1


scenario(volumes.volume_detached)
scenario(volumes.volume_never_detached)


async def _no_instance(stage: Stage, *machines: str) -> bool:
    return not await stage.instances(*machines)
