"""A stop before and after each write of unmoor ends in the same final state: every one, no sample.

How it is done is in ``stopped``; here are the stories.
"""

from __future__ import annotations

import pytest

from tests.scenarios import objects
from tests.scenarios.settings import SETTINGS
from tests.scenarios.virtual import NAMESPACE
from tests.sim.stopped import FIELD, Ground, Story, machine, play
from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.runtime.ports import DeleteOptions
from unmoor.sim.actors.kubelet import STOP_SECONDS
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.trap import When

TIERS = ("", names.SYSTEM_CLUSTER_CRITICAL, names.SYSTEM_NODE_CRITICAL)
"""Priority classes in the order in which their pods go (R19)."""
SLOW = {STOP_SECONDS: "60"}
"""A pod that takes all the time it gets."""
ATTACHED_FOR_S = 4.0
"""A volume lets go so long after its pod: longer than a restart takes."""

OLD_S = 120
"""Longer than a story with a stop in it takes from there."""
EDITION = {"edition": "2"}


async def delete_node(ground: Ground, name: str) -> None:
    await ground.world.api.delete(kinds.NODES.ref(name), DeleteOptions())


def node_of(pod: JSON) -> str:
    return str(pod["spec"]["nodeName"])


def is_going(instance: JSON) -> bool:
    return bool(instance["spec"].get("terminate"))


def is_left(ground: Ground, nodes: int) -> bool:
    return len(ground.all("Node")) == len(ground.all("Machine")) == nodes


# ------------------------------------------------------------------------------- the life of a node


async def launch(ground: Ground) -> None:
    """A machine comes up, from its manifest to its initialization."""
    ground.begin()
    await ground.rise(machine("m1"))


def is_launched(ground: Ground) -> bool:
    conditions = [
        one["type"]
        for one_machine in ground.all("Machine")
        for one in (one_machine.get("status") or {}).get("conditions") or ()
        if one["status"] == "True"
    ]
    return "MachineInitialized" in conditions and "Ready" in conditions


async def empty(ground: Ground) -> None:
    """Two nodes are empty, and go by a command of their own."""
    ground.begin()
    await ground.rise(machine("m1"), machine("m2"), ttl_s=3)


def is_emptied(ground: Ground) -> bool:
    commands = {(one.get("status") or {}).get("phase") for one in ground.all("Disruption")}
    return is_left(ground, 0) and commands == {"Succeeded"}


async def _one_with_a_pod(ground: Ground, *types: str) -> None:
    """A node of the first type, with a pod; its provisioner may have any of these."""
    asked = {
        names.INSTANCE_TYPE: list(types),
        names.CAPACITY_TYPE: ["on-demand"],
        names.ZONE: ["us-east-1a"],
    }
    terms = [{"key": key, "operator": "In", "values": values} for key, values in asked.items()]
    await ground.apply(
        objects.namespace(NAMESPACE),
        objects.namespace(FIELD),
        objects.settings(NAMESPACE, **SETTINGS),
        objects.provisioner("red", requirements=terms, labels={objects.FIELD: FIELD}),
        objects.machine("m1", provisioner="red", field=FIELD, types=types[:1]),
        objects.deployment("web", namespace=FIELD, replicas=1),
    )
    await ground.until(lambda: len(ground.running()) == 1)


async def replace(ground: Ground) -> None:
    """A node that is too large for its pod goes when a smaller one is up."""
    await _one_with_a_pod(ground, "m5.2xlarge", "m5.large")
    ground.begin()
    switch = {"spec": {"consolidation": {"enabled": True}}}
    await ground.world.api.patch(kinds.PROVISIONERS.ref("red"), switch)


def is_replaced(ground: Ground) -> bool:
    types = [one["metadata"]["labels"].get(names.INSTANCE_TYPE) for one in ground.all("Node")]
    commands = {(one.get("status") or {}).get("phase") for one in ground.all("Disruption")}
    is_over = commands == {"Succeeded"} and types == ["m5.large"]
    return is_over and is_left(ground, 1) and len(ground.running()) == 1


async def expire(ground: Ground) -> None:
    """A node is old by now; its pod gets another one first, which is not old for long."""
    await _one_with_a_pod(ground, "m5.large")
    await ground.world.clock.sleep(OLD_S)
    ground.begin()
    await ground.world.api.patch(kinds.PROVISIONERS.ref("red"), _spec(ttlSecondsUntilExpired=OLD_S))


async def drift(ground: Ground) -> None:
    """Nodes are to have another annotation from now on."""
    await _one_with_a_pod(ground, "m5.large")
    ground.begin()
    await ground.world.api.patch(kinds.PROVISIONERS.ref("red"), _spec(annotations=EDITION))


def _spec(**fields: object) -> JSON:
    return {"spec": fields}


def is_renewed(ground: Ground) -> bool:
    commands = {(one.get("status") or {}).get("phase") for one in ground.all("Disruption")}
    is_over = commands == {"Succeeded"} and ground.truth.get("Machine", "m1") is None
    return is_over and is_left(ground, 1) and len(ground.running()) == 1


# ------------------------------------------------------------------------------------------- drains


async def budget(ground: Ground) -> None:
    """A node with a naked pod and a workload under a budget is deleted, its machine with it."""
    ground.begin()
    await ground.up(machine("m1"), machine("m2"))
    await ground.apply(
        objects.deployment("web", namespace=FIELD, replicas=3),
        objects.budget("web", namespace=FIELD, app="web", maxUnavailable=1),
        objects.pod("naked", namespace=FIELD),
    )
    await ground.until(lambda: len(ground.running()) == 4)
    [naked] = ground.running("naked")
    await delete_node(ground, node_of(naked))


async def deadline(ground: Ground) -> None:
    """A budget never allows it, one pod wants more time: at the deadline all of them go."""
    await ground.up(machine("m1"), cadence__evictionBackoff="1s", cadence__evictionBackoffMost="4s")
    await ground.apply(
        objects.deployment("web", namespace=FIELD, replicas=2),
        objects.budget("web", namespace=FIELD, app="web", minAvailable=2),
        objects.pod("slow", namespace=FIELD, terminationGracePeriodSeconds=60, annotations=SLOW),
    )
    await ground.until(lambda: len(ground.running()) == 3)
    [node] = ground.all("Node")
    within = {"metadata": {"annotations": {names.DRAIN_DEADLINE: "8s"}}}
    await ground.world.api.patch(kinds.NODES.ref(node["metadata"]["name"]), within)
    ground.begin()
    await delete_node(ground, node["metadata"]["name"])


async def volume(ground: Ground) -> None:
    """The pod is gone; its volume lets go a while later, and only then may the machine end."""
    await ground.up(machine("m1"), cadence__detachLimit="60s")
    [node] = [one["metadata"]["name"] for one in ground.all("Node")]
    await ground.apply(
        objects.pod("db", namespace=FIELD), *objects.claimed_volume("v", namespace=FIELD, node=node)
    )
    ref = kinds.ATTACHMENTS.ref("v")
    await ground.world.api.patch(ref, {"status": {"attached": True}}, subresource="status")
    await ground.until(lambda: len(ground.running("db")) == 1)
    ground.begin()
    await delete_node(ground, node)
    await ground.until(lambda: not ground.all("Pod"))
    await ground.world.clock.sleep(ATTACHED_FOR_S)
    if any(is_going(one) for one in ground.all("Instance")):
        ground.broken.append("the machine was ended under an attached volume")
    await ground.world.api.delete(ref, DeleteOptions())


async def tiers(ground: Ground) -> None:
    """Who others depend on goes after them: each tier when the one before is gone."""
    await ground.up(machine("m1"))
    for number in range(2):
        for tier in TIERS:
            await ground.apply(_pod_of(tier, number))
    await ground.until(lambda: len(ground.running()) == 2 * len(TIERS))
    ground.world.server.observers.append(lambda _resource, entry: _hold_order(ground, entry))
    [node] = ground.all("Node")
    ground.begin()
    await delete_node(ground, node["metadata"]["name"])


def _pod_of(tier: str, number: int) -> tuple[Ref, JSON]:
    more: JSON = {"priorityClassName": tier} if tier else {}
    return objects.pod(f"{tier or 'web'}-{number}", namespace=FIELD, **more)


def _tier_of(pod: JSON) -> int:
    return TIERS.index(pod["spec"].get("priorityClassName", ""))


def _hold_order(ground: Ground, entry: Entry) -> None:
    pod, old = entry.obj, entry.old
    if pod["kind"] != "Pod" or old is None or "deletionTimestamp" in old["metadata"]:
        return
    before = [one for one in ground.all("Pod") if _tier_of(one) < _tier_of(pod)]
    if "deletionTimestamp" in pod["metadata"] and before:
        ground.broken.append(f"{pod['metadata']['name']} went before {len(before)} others")


async def returning(ground: Ground) -> None:
    """Pods that tolerate the cordon come back to the node until they are not waited for (R1)."""
    await ground.up(machine("m1"))
    anything = [{"operator": "Exists"}]
    await ground.apply(objects.deployment("web", namespace=FIELD, replicas=1, tolerations=anything))
    await ground.until(lambda: len(ground.running()) == 1)
    [node] = ground.all("Node")
    ground.begin()
    await delete_node(ground, node["metadata"]["name"])


def is_left_by_its_pods(ground: Ground) -> bool:
    """Those that were there to the last are collected by Kubernetes."""
    return is_left(ground, 0) and not any("nodeName" in one["spec"] for one in ground.all("Pod"))


STORIES: dict[str, Story] = {
    "launch": Story(launch, is_launched, 10),
    "emptiness": Story(empty, is_emptied, 40),
    "replacement": Story(replace, is_replaced, 30),
    "expiration": Story(expire, is_renewed, 30),
    "drift": Story(drift, is_renewed, 30),
    "budget": Story(budget, lambda g: is_left(g, 1) and len(g.running()) >= 3, 35),
    "deadline": Story(deadline, lambda ground: is_left(ground, 0), 20),
    "volume": Story(volume, lambda ground: is_left(ground, 0), 7),
    "tiers": Story(tiers, lambda ground: is_left(ground, 0), 18),
    "returning": Story(returning, is_left_by_its_pods, 25),
}


DEAR = frozenset({"expiration", "drift"})
"""After their node is chosen they do what a replacement does: played with the end-to-end tests."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.e2e] if name in DEAR else [])
        for name in sorted(STORIES)
    ],
)
def test_a_stop_at_any_write_ends_in_the_same_state(name: str) -> None:
    story = STORIES[name]
    expected = play(story)
    assert expected.wrong == []
    assert expected.writes >= story.least_writes

    for number in range(1, expected.writes + 1):
        for when in When:
            actual = play(story, (number, when))

            where = f"{name}: stopped {when.value} write {number} of {expected.writes}"
            assert actual.was_stopped, where
            assert (actual.wrong, actual.state) == ([], expected.state), where
