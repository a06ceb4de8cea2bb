"""How a deleted node goes: the state machine of ``lifecycle/termination.py``, told as stories."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import budget, daemon_pod, instance, machine, mirror_pod, node, pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import MACHINE, TERMINATION
from tests.lifecycle.worlds import deleted
from unmoor.lifecycle.effects import Delete, Evict, Observe, Publish, Terminate
from unmoor.model import names
from unmoor.model.instance import InstanceState
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason

FINALIZER = names.TERMINATION_FINALIZER


def evicted(world: World) -> list[str]:
    return [effect.ref.name for effect in world.done(Evict)]


def reasons(world: World) -> set[Reason]:
    return {verdict.reason for verdict in world.step(TERMINATION, "a").verdicts}


def test_t066_an_empty_node_goes() -> None:
    world = deleted()
    world.run(TERMINATION, for_s=4)
    assert world.names("Node") == ["a"]  # a scheduler that has not seen the cordon may still bind

    world.run(TERMINATION, for_s=2)
    assert world.names("Node") == []
    assert evicted(world) == []
    assert [effect.provider_id for effect in world.done(Terminate)] == ["sim:///a"]
    assert world.cloud["sim:///a"].state is InstanceState.SHUTTING_DOWN


def test_t067_the_machine_goes_with_its_node() -> None:
    world = World(
        node(deleted_at=builders.NOW, finalizers=("example.org/mine", FINALIZER)),
        machine(),
        instances=[instance()],
    )
    world.run(TERMINATION, MACHINE, for_s=6)
    left, waiting = world.view.node("a"), world.view.machine("m-a")

    assert left is not None
    assert waiting is not None
    assert waiting.is_deleting
    assert [effect.ref.uid for effect in world.done(Delete)] == ["uid-machine-m-a"]

    world.drop(left)  # the last finalizer goes
    world.run(TERMINATION, MACHINE, for_s=1)
    assert world.names("Node") == world.names("Machine") == []


def test_t068_ten_nodes_at_once() -> None:
    letters = "abcdefghij"
    world = World(
        *(node(name, deleted_at=builders.NOW) for name in letters),
        *(machine(f"m-{name}", node_name=name, finalizers=()) for name in letters),
        instances=[instance(name) for name in letters],
    )
    world.run(TERMINATION, for_s=10)

    assert world.names("Node") == world.names("Machine") == []
    assert sorted(effect.provider_id for effect in world.done(Terminate)) == [
        f"sim:///{name}" for name in letters
    ]


def test_t069_a_draining_node_leaves_the_load_balancers() -> None:
    world = deleted(pod(annotations={names.DO_NOT_EVICT: "true"}), budget())
    world.settle(TERMINATION)
    drained = world.view.node("a")

    assert drained is not None
    label = "node.kubernetes.io/exclude-from-external-load-balancers"
    assert drained.metadata.labels[label] == "karpenter"
    assert drained.is_cordoned
    assert drained.is_cordoned_by_us


def test_a_label_of_a_person_stays() -> None:
    world = deleted(pod(), labels={names.EXCLUDE_FROM_LOAD_BALANCERS: "mine"}, is_cordoned=True)
    world.settle(TERMINATION)

    assert world.view.node("a").metadata.labels[names.EXCLUDE_FROM_LOAD_BALANCERS] == "mine"  # type: ignore[union-attr]


def test_t071_naked_pod_is_evicted() -> None:
    world = deleted(pod(owners=()))
    world.settle(TERMINATION)
    assert evicted(world) == ["web-1"]

    world.run(TERMINATION, for_s=29)
    assert world.names("Pod") == ["web-1"]
    assert world.names("Node") == ["a"]

    world.run(TERMINATION, for_s=2)
    assert world.names("Pod") == world.names("Node") == []


def test_t072_finished_pods_hold_nothing() -> None:
    world = deleted(pod("done", phase="Succeeded"), pod("failed", phase="Failed"))
    world.run(TERMINATION, for_s=6)

    assert world.names("Node") == []
    assert evicted(world) == []


def test_t073_a_budget_keeps_the_node_draining() -> None:
    world = deleted(pod(), budget())
    world.run(TERMINATION, for_s=60)

    assert world.names("Node") == ["a"]
    assert len(evicted(world)) > 3
    assert not world.view.pods_on("a")[0].is_deleting
    assert Reason.BUDGET in reasons(world)
    assert world.done(Terminate) == []

    world.drop(world.view._objects["Pod"]["shop", "web-1"])
    world.run(TERMINATION, for_s=2)
    assert world.names("Node") == []


def test_t074_critical_pods_go_last() -> None:
    world = deleted(
        pod("node-critical", priority_class=names.SYSTEM_NODE_CRITICAL),
        pod("cluster-critical", priority_class=names.SYSTEM_CLUSTER_CRITICAL),
        pod("web-1"),
    )
    world.settle(TERMINATION)
    assert evicted(world) == ["web-1"]

    # R19: gone, not merely terminating.
    world.run(TERMINATION, for_s=29)
    assert evicted(world) == ["web-1"]

    world.run(TERMINATION, for_s=100)
    assert evicted(world) == ["web-1", "cluster-critical", "node-critical"]
    assert world.names("Node") == []


def test_t075_a_static_pod_is_never_asked() -> None:
    world = deleted(mirror_pod(), daemon_pod(), pod())
    world.run(TERMINATION, for_s=29)
    assert world.names("Node") == ["a"]

    world.run(TERMINATION, for_s=2)
    assert evicted(world) == ["web-1"]
    assert world.names("Pod") == ["agent-1", "proxy-1"]
    assert world.names("Node") == []


def test_t076_the_node_stays_until_both_pods_are_gone() -> None:
    world = deleted(pod("web-1", grace_s=10), pod("web-2", grace_s=50))
    world.run(TERMINATION, for_s=49)
    assert world.names("Pod") == ["web-2"]
    assert world.names("Node") == ["a"]
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=2)
    assert world.names("Node") == []


def test_t077_the_finalizer_goes_when_the_machine_is_gone() -> None:
    world = deleted(pod("web-1", grace_s=10), pod("web-2", grace_s=600))
    world.run(TERMINATION, for_s=15)
    assert world.names("Pod") == ["web-2"]
    assert world.names("Node") == ["a"]

    del world.cloud["sim:///a"]
    world.run(TERMINATION, for_s=6)
    assert world.names("Pod") == ["web-2"]
    assert world.names("Node") == []
    assert world.done(Terminate) == []


def test_t077_a_machine_known_to_be_gone_takes_both_objects_along() -> None:
    world = World(node(deleted_at=builders.NOW), machine(), pod())
    missing: Answer[Any] = Answer(world.moment, None, Problem(ProblemKind.NOT_FOUND))
    world.view._answers[Asked.INSTANCE]["sim:///a"] = missing
    world.settle(TERMINATION)
    left = world.view.machine("m-a")

    assert world.names("Node") == []
    assert left is not None
    assert left.is_deleting
    assert evicted(world) == []


def test_t077_a_machine_that_the_cloud_still_lists_as_terminated_is_gone_too() -> None:
    world = deleted(pod(grace_s=600))
    world.run(TERMINATION, for_s=2)
    world.cloud["sim:///a"] = instance(state=InstanceState.SHUTTING_DOWN)
    world.run(TERMINATION, for_s=6)
    assert world.names("Node") == ["a"]

    world.cloud["sim:///a"] = instance(state=InstanceState.TERMINATED)
    world.run(TERMINATION, for_s=6)
    assert world.names("Node") == []
    assert world.done(Terminate) == []


def test_t078_a_stuck_pod_is_not_waited_for_for_ever() -> None:
    world = deleted(pod(grace_s=30))
    world.stuck_pods.add("web-1")
    world.run(TERMINATION, for_s=90)
    assert world.names("Node") == ["a"]

    world.run(TERMINATION, for_s=2)
    assert world.names("Pod") == ["web-1"]
    assert world.names("Node") == []
    (terminate,) = world.done(Terminate)
    assert terminate.why == "node a is drained, but for 1 pod given up before: shop/web-1"


def test_t079_the_time_is_counted_once() -> None:
    world = deleted()
    world.run(TERMINATION, for_s=6)

    times = [f for f in world.facts if f.name == "nodes_termination_time_seconds"]
    assert [fact.labels for fact in times] == [{"provisioner": "default"}]
    assert times[0].value == pytest.approx(5, abs=1)


def test_t080_the_node_is_counted_once() -> None:
    world = deleted()
    world.run(TERMINATION, for_s=20)

    assert world.counted("nodes_terminated") == 1


def test_r1_a_tolerating_pod_is_evicted_and_waited_for() -> None:
    """T070 says otherwise; R1 rules."""
    world = deleted(pod(tolerations=(builders.TOLERATES_CORDON,)))
    world.settle(TERMINATION)

    assert evicted(world) == ["web-1"]
    assert world.names("Node") == ["a"]


def test_r1_returning_pods_are_reported_after_three_rounds_and_passed() -> None:
    world = deleted(pod("web-0", grace_s=5))
    number = 0
    seen: set[Reason] = set()
    for _ in range(60):
        seen |= reasons(world)
        world.settle(TERMINATION)
        world.wait(1)
        if world.names("Pod") == [] and world.names("Node"):
            number += 1
            world.put(pod(f"web-{number}", grace_s=5))

    assert Reason.RETURNING_PODS in seen
    assert world.names("Node") == []
    assert evicted(world) == ["web-0", "web-1", "web-2", "web-3"]
    assert any("came back to this node 3 times" in event.message for event in world.events())


def test_r1_a_budget_still_holds_returning_pods() -> None:
    world = deleted(pod("web-0", grace_s=5))
    number = 0
    while number < 3:
        world.settle(TERMINATION)
        world.wait(0.5)
        if world.names("Pod") == []:
            number += 1
            world.put(pod(f"web-{number}", grace_s=5))
    world.put(budget())
    world.run(TERMINATION, for_s=120)

    assert world.names("Node") == ["a"]
    assert world.done(Terminate) == []
    assert {Reason.RETURNING_PODS, Reason.BUDGET} <= reasons(world)


def test_t078_is_told() -> None:
    world = deleted(pod(grace_s=1), pod("web-2", grace_s=600))
    world.stuck_pods.add("web-1")
    world.run(TERMINATION, for_s=70)

    assert Reason.STUCK_POD in reasons(world)


def test_load_balancers_get_their_time() -> None:
    world = deleted(pod(), settings=Settings(load_balancer_wait_s=30))
    world.run(TERMINATION, for_s=29)
    assert evicted(world) == []
    assert Reason.LOAD_BALANCER in reasons(world)

    world.run(TERMINATION, for_s=2)
    assert evicted(world) == ["web-1"]


@pytest.mark.parametrize(
    ("ours", "reason"),
    [
        ({"is_ours": False}, Reason.NOT_OURS),
        ({"provider_id": "aws:///z/i-1"}, Reason.MACHINE_UNKNOWN),
    ],
)
def test_what_is_not_ours_is_never_touched(ours: dict[str, Any], reason: Reason) -> None:
    foreign = {"is_ours": False} if "is_ours" in ours else {"provider_id": "aws:///z/i-1"}
    world = World(node(deleted_at=builders.NOW, **ours), machine(**foreign), pod())
    world.run(TERMINATION, for_s=30)

    assert {type(effect) for effect in world.effects} == {Publish}
    assert reasons(world) == {reason}


def test_other_finalizers_stay() -> None:
    world = deleted(finalizers=("example.org/mine", names.TERMINATION_FINALIZER))
    world.run(TERMINATION, for_s=6)

    left = world.view.node("a")
    assert left is not None
    assert left.metadata.finalizers == ("example.org/mine",)


def test_a_refused_termination_is_repeated_and_the_finalizer_waits() -> None:
    world = deleted()
    world.fails = lambda effect: isinstance(effect, Terminate)
    world.run(TERMINATION, for_s=30)
    assert world.names("Node") == ["a"]

    world.fails = lambda _: False
    world.run(TERMINATION, for_s=6)
    assert world.names("Node") == []


def test_the_machine_is_looked_for_only_while_pods_are_waited_for() -> None:
    world = deleted(pod(), budget())
    world.run(TERMINATION, for_s=20)

    assert 3 <= len(world.done(Observe)) <= 5
    assert world.view.answer(Asked.INSTANCE, "sim:///a") is not None


def test_a_node_without_a_provider_id_is_drained_and_released() -> None:
    world = World(node(deleted_at=builders.NOW, provider_id=""), pod(), instances=[instance()])
    world.run(TERMINATION, for_s=40)

    assert world.names("Node") == []
    assert world.done(Terminate) == []
