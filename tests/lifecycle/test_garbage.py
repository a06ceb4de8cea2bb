"""What exists on one side only, and what only looks so."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests import builders
from tests.builders import budget, condition, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import ALL, CONSISTENCY, GARBAGE, LEASE, MACHINE, TERMINATION
from unmoor.lifecycle.effects import Delete, Evict, Observe, Patch, Terminate
from unmoor.model import names
from unmoor.model.base import ObjectMeta
from unmoor.model.cluster import Lease
from unmoor.model.instance import InstanceState
from unmoor.model.machine import MACHINE_LAUNCHED
from unmoor.model.observation import Answer, Asked
from unmoor.model.snapshot import Identity, Unreadable

LAUNCHED = (condition(MACHINE_LAUNCHED),)
UNKNOWN = {names.PROVISIONER_NAME: "unknown"}


def just(seconds: float) -> Any:
    return builders.NOW - timedelta(seconds=seconds)


def test_t149_a_machine_whose_instance_is_gone_goes() -> None:
    world = World(machine(conditions=(condition(MACHINE_LAUNCHED, since=just(20)),)))
    world.run(GARBAGE, MACHINE, for_s=5)

    assert world.names("Machine") == []
    assert [f.labels["reason"] for f in world.facts if f.name == "machines_terminated"] == [
        "garbage_collected"
    ]


def test_t150_a_hundred_at_once() -> None:
    world = World(*(machine(f"m-{number}", conditions=LAUNCHED) for number in range(100)))
    world.settle(GARBAGE, MACHINE)

    assert world.names("Machine") == []
    assert [one.asked for one in world.done(Observe)].count(Asked.INSTANCES) == 1
    assert len(world.done(Delete)) == 100


def test_t151_with_its_instance_a_machine_stays() -> None:
    world = World(machine(conditions=LAUNCHED), instances=[instance()])
    world.run(GARBAGE, for_s=300, tick_s=10)

    assert len(world.done(Observe)) > 10
    assert world.names("Machine") == ["m-a"]
    assert world.done(Delete) == []


def test_a_machine_just_launched_is_not_looked_for() -> None:
    world = World(machine(conditions=(condition(MACHINE_LAUNCHED, since=just(5)),)))
    world.settle(GARBAGE)

    assert world.names("Machine") == ["m-a"]


def test_a_list_that_lags_is_not_believed() -> None:
    """The instance is missing in the list, but the cloud knows it when asked by name."""
    world = World(machine(conditions=LAUNCHED), instances=[instance(cluster="late")])
    world.settle(GARBAGE)

    assert [effect.asked for effect in world.done(Observe)] == [Asked.INSTANCES, Asked.INSTANCE]
    assert world.done(Delete) == []


def test_a_list_that_failed_says_nothing() -> None:
    world = World(machine(conditions=LAUNCHED))
    world.fails = lambda effect: isinstance(effect, Observe)
    world.run(GARBAGE, for_s=60)

    assert world.names("Machine") == ["m-a"]


def test_an_instance_without_a_machine_goes() -> None:
    world = World(instances=[instance(launched_at=just(31))])
    world.settle(GARBAGE)

    assert [effect.provider_id for effect in world.done(Terminate)] == ["sim:///a"]


@pytest.mark.parametrize(
    "spared",
    [
        {"launched_at": builders.NOW},
        {"cluster": "another"},
        {"state": InstanceState.SHUTTING_DOWN},
        {"token": "uid-machine-m-new-1"},
        {"labels": UNKNOWN},
    ],
    ids=["young", "another-cluster", "going", "live-token", "t03-unknown-provisioner"],
)
def test_what_is_spared(spared: dict[str, Any]) -> None:
    fresh = machine("m-new", is_new=True, annotations={names.LAUNCH_ATTEMPT: "1"})
    world = World(fresh, instances=[instance(**spared)])
    world.settle(GARBAGE)

    assert world.done(Terminate) == []


def test_t03_what_an_attempt_of_ours_left_goes_although_its_provisioner_is_gone() -> None:
    left = instance(token="uid-of-a-machine-that-is-gone-1", labels=UNKNOWN)
    world = World(instances=[left])
    world.run(GARBAGE, for_s=60)

    assert world.cloud[left.provider_id].state.is_going


def test_t03_with_a_claimed_node_it_stays_even_if_all_our_kinds_were_deleted() -> None:
    kept = instance(token="uid-of-a-machine-that-is-gone-1", labels=UNKNOWN)
    world = World(node(), pod(), instances=[kept])
    world.run(*ALL, for_s=300)

    assert world.done(Terminate) == world.done(Delete) == []
    assert world.names("Node") == ["a"]


@pytest.mark.parametrize(
    ("listed", "found", "questions"),
    [("another", "another", 0), (builders.CLUSTER, "another", 1), ("another", builders.CLUSTER, 0)],
)
def test_a_list_with_an_instance_of_another_cluster(
    listed: str, found: str, questions: int
) -> None:
    """The cloud's filter may be wrong or late: what it lists is read, and read again by name."""
    world = World(instances=[instance(cluster=found)])
    world.step(GARBAGE, "all")  # asks for the list
    told = Answer(world.moment, (instance(cluster=listed),))
    world.view._answers[Asked.INSTANCES][builders.CLUSTER] = told
    world.settle(GARBAGE)

    assert len(world.done(Observe)) == 1 + questions
    assert world.done(Terminate) == []


def test_an_attempt_that_failed_and_left_an_instance_all_the_same() -> None:
    fresh = machine("m-new", is_new=True, annotations={names.LAUNCH_ATTEMPT: "2"})
    world = World(fresh, instances=[instance(token="uid-machine-m-new-1")])
    world.settle(GARBAGE)

    assert len(world.done(Terminate)) == 1


def test_a_linked_machine_stands_for_its_instance() -> None:
    linked = machine("m-x", is_new=True, annotations={names.LINKED: "sim:///a"})
    world = World(linked, instances=[instance()])
    world.settle(GARBAGE)

    assert world.done(Terminate) == []


def test_an_instance_with_a_node_is_drained_first() -> None:
    world = World(node(), pod(), provisioner(), instances=[instance()])
    world.run(GARBAGE, TERMINATION, for_s=20)
    assert world.done(Terminate) == []

    world.run(GARBAGE, TERMINATION, for_s=40)
    assert world.names("Node") == []
    assert world.done(Terminate)


def test_an_instance_under_somebody_elses_node_is_left_alone() -> None:
    world = World(node(is_ours=False), instances=[instance()])
    world.run(GARBAGE, for_s=60)

    assert world.done(Terminate) == world.done(Delete) == []


def test_a_machine_deleted_before_its_launch_was_written_down_leaves_nothing() -> None:
    """Its node has joined, unclaimed, with a pod on it: drained, ended, gone."""
    lost = machine(
        deleted_at=builders.NOW,
        provider_id="",
        node_name="",
        conditions=(),
        annotations={names.LAUNCH_ATTEMPT: "1"},
    )
    launched = instance(token=f"{lost.uid}-1")
    world = World(lost, node(is_joined=False), pod(), provisioner(), instances=[launched])
    world.run(*ALL, for_s=300)

    adoption = next(one for one in world.done(Patch) if one.ref.kind == "Node")
    assert adoption.resource_version == "1"  # it replaces the finalizers
    order = [type(effect) for effect in world.effects]
    assert order.index(Evict) < order.index(Terminate)
    assert world.names("Machine") == world.names("Node") == world.names("Pod") == []
    assert world.cloud[launched.provider_id].state.is_going


def test_an_unclaimed_node_on_an_instance_that_is_no_attempt_of_ours_is_left_alone() -> None:
    world = World(node(is_joined=False), instances=[instance(token="")])
    world.run(*ALL, for_s=300)

    assert world.done(Terminate) == world.done(Delete) == []


def test_while_a_machine_cannot_be_read_no_instance_is_collected() -> None:
    world = World(instances=[instance()])
    world.view._broken["Machine"]["", "m-x"] = Unreadable("spec.taints: expected array")
    world.run(GARBAGE, for_s=300, tick_s=10)
    assert world.done(Terminate) == []

    world.view._broken["Machine"].clear()
    world.run(GARBAGE, for_s=300, tick_s=10)
    assert world.done(Terminate)


def test_without_a_name_or_a_cloud_nothing_is_ours() -> None:
    world = World(machine(conditions=LAUNCHED), identity=Identity())
    world.run(GARBAGE, for_s=30)

    assert world.effects == []


def test_the_search_is_quick_at_first() -> None:
    world = World()
    world.run(GARBAGE, for_s=900, tick_s=5)

    times = len(world.done(Observe))
    assert 20 + 5 <= times <= 20 + 7


# ------------------------------------------------------------------------------------------ leases


def lease(namespace: str = "kube-node-lease", *, is_owned: bool = False) -> Lease:
    return Lease(
        metadata=ObjectMeta(
            name="a",
            namespace=namespace,
            uid="uid-lease",
            creation_timestamp=builders.LONG_AGO,
            owner_references=(builders.owner("Node", "a"),) if is_owned else (),
        )
    )


def test_t154_a_deleted_lease_is_counted() -> None:
    world = World(lease())
    world.settle(LEASE)

    assert world.counted("nodes_leases_deleted") == 1


def test_t155_a_lease_with_an_owner_stays() -> None:
    world = World(lease(is_owned=True))
    world.settle(LEASE)

    assert world.names("Lease") == ["a"]


def test_t156_a_lease_without_an_owner_goes() -> None:
    world = World(lease())
    world.settle(LEASE)

    assert world.names("Lease") == []


def test_t157_other_namespaces_are_not_ours() -> None:
    world = World(lease("elsewhere"))
    world.settle(LEASE)

    assert world.names("Lease") == ["a"]


def test_a_lease_whose_node_is_there_stays() -> None:
    world = World(lease(), node())
    world.settle(LEASE)

    assert world.names("Lease") == ["a"]


# -------------------------------------------------------------------------------------- consistency


def test_t152_a_budget_that_holds_a_termination_is_reported() -> None:
    world = World(machine(deleted_at=builders.NOW), node(), pod(), budget(max_unavailable=0))
    world.settle(CONSISTENCY)
    event = world.events("FailedConsistencyCheck")[0]

    assert event.regarding.name == "m-a"
    assert "disruption budget shop/web" in event.message
    assert [f.labels for f in world.facts] == [{"check": "Termination"}]


def test_t153_a_node_that_is_too_small_is_reported() -> None:
    world = World(machine(capacity={"memory": "128Gi"}), node(capacity={"memory": "64Gi"}))
    world.settle(CONSISTENCY)

    assert "50.0% of the memory" in world.events("FailedConsistencyCheck")[0].message


def test_a_machine_is_looked_at_every_ten_minutes() -> None:
    world = World(machine(capacity={"memory": "128Gi"}), node(capacity={"memory": "64Gi"}))
    world.run(CONSISTENCY, for_s=1300, tick_s=10)

    assert len(world.events("FailedConsistencyCheck")) == 3


def test_a_sound_machine_is_silent() -> None:
    world = World(machine(), node())
    world.settle(CONSISTENCY)

    assert world.effects == []


def test_what_is_missing_altogether_is_reported() -> None:
    promised: dict[str, str | int | float]
    promised = {"cpu": "4", "example.org/gpu": "1", "memory": "much"}
    world = World(machine(capacity=promised), node(capacity={"cpu": "4"}))
    world.settle(CONSISTENCY)
    told = [event.message for event in world.events("FailedConsistencyCheck")]

    assert told[0] == "node a reports no example.org/gpu"
    assert "'much' is not a quantity" in told[1]


def test_a_machine_on_its_way_is_not_compared() -> None:
    world = World(
        machine("m-new", is_new=True),
        machine(deleted_at=builders.NOW, capacity={"memory": "128Gi"}),
        node(capacity={"memory": "64Gi"}),
    )
    world.settle(CONSISTENCY)

    assert world.effects == []


def test_machines_that_go_anyway_and_foreign_instances_are_left_alone() -> None:
    foreign = builders.instance()
    world = World(
        machine(conditions=LAUNCHED, deleted_at=builders.NOW),
        machine("m-b", conditions=LAUNCHED, is_ours=False),
    )
    world.cloud["aws:///i-1"] = type(foreign)(
        provider_id="aws:///i-1",
        state=InstanceState.RUNNING,
        instance_type="",
        zone="",
        capacity_type="",
        cluster=builders.CLUSTER,
        launched_at=builders.LONG_AGO,
    )
    world.settle(GARBAGE)

    assert world.done(Terminate) == world.done(Delete) == []


def test_a_refused_termination_of_a_lost_instance_is_repeated() -> None:
    world = World(instances=[instance()])
    world.fails = lambda effect: isinstance(effect, Terminate)
    world.run(GARBAGE, for_s=12)

    assert 2 <= len(world.done(Terminate)) <= 4
