"""A machine's life and end: launch, registration, initialization, liveness, finalizer."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at, changed, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import MACHINE, TERMINATION
from tests.lifecycle.worlds import launched, new, the_machine, the_node
from unmoor.lifecycle.effects import Delete, Launch, Observe, Patch, Publish, Terminate
from unmoor.model import names
from unmoor.model.machine import (
    MACHINE_LAUNCHED,
    MACHINE_REGISTERED,
)
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.taint import Taint

MINE = Taint(key="example.org/mine", value="1", effect="NoSchedule")
STARTUP = Taint(key="example.org/agent", effect="NoExecute")


# ------------------------------------------------------------------------------------------- launch


def test_t123_a_new_machine_is_launched_once() -> None:
    world = new()
    world.run(MACHINE, for_s=10)

    assert len(world.done(Launch)) == 1
    assert the_machine(world).provider_id == "sim:///i-0"


def test_t124_it_is_launched_afterwards() -> None:
    world = new()
    world.settle(MACHINE)
    found = the_machine(world)

    assert ("MachineLaunched", "True") in [
        (one.type, one.status) for one in found.status.conditions
    ]
    assert found.metadata.labels[names.CAPACITY_TYPE] == names.ON_DEMAND
    assert found.metadata.labels[names.INSTANCE_TYPE] == "m.large"
    assert found.metadata.annotations[names.PRICE] == "unknown", "nobody has said"
    assert names.PRICE_BOOK not in found.metadata.annotations
    assert found.status.capacity["cpu"] == "4"
    assert world.counted("machines_launched") == 1


def test_a_price_is_written_down_with_the_name_of_its_book() -> None:
    priced = changed(instance("old"), price_usd_per_h=0.045764, price_book="mine.json")
    world = World(
        machine(is_new=True, annotations={names.LINKED: "sim:///old"}), instances=[priced]
    )
    world.settle(MACHINE)
    annotations = the_machine(world).metadata.annotations

    assert (annotations[names.PRICE], annotations[names.PRICE_BOOK]) == ("0.04576", "mine.json")


def test_t125_a_linked_machine_is_not_launched() -> None:
    world = World(
        machine(is_new=True, annotations={names.LINKED: "sim:///old"}), instances=[instance("old")]
    )
    world.settle(MACHINE)

    found = the_machine(world)

    assert world.done(Launch) == []
    assert found.is_launched
    assert (found.provider_id, found.zone) == ("sim:///old", "z1")
    assert found.metadata.labels[names.INSTANCE_TYPE] == "m.large"
    assert (found.status.capacity["cpu"], found.status.allocatable["cpu"]) == ("4", "3900m")


def test_t125_a_linked_machine_without_its_instance_goes() -> None:
    world = new(annotations={names.LINKED: "sim:///old"})
    world.settle(MACHINE)

    assert world.names("Machine") == []
    assert [f.labels["reason"] for f in world.facts if f.name == "machines_terminated"] == [
        "garbage_collected"
    ]


def test_t126_without_capacity_the_machine_goes() -> None:
    world = new()
    world.launch_problems = [Problem(ProblemKind.INSUFFICIENT_CAPACITY, "none " * 100)]
    world.settle(MACHINE)

    assert world.names("Machine") == []
    event = world.events("InsufficientCapacityError")[0]
    assert event.is_warning
    assert event.message.endswith("...")
    assert [f.labels["reason"] for f in world.facts if f.name == "machines_terminated"] == [
        "insufficient_capacity"
    ]


def test_the_attempt_is_written_down_before_it_is_made() -> None:
    world = new()
    world.settle(MACHINE)
    written = next(
        n
        for n, effect in enumerate(world.effects)
        if isinstance(effect, Patch) and names.LAUNCH_ATTEMPT in str(effect.body)
    )
    launch = next(n for n, effect in enumerate(world.effects) if isinstance(effect, Launch))

    assert written < launch
    assert world.done(Launch)[0].request.token == "uid-machine-m-a-1"


def test_a_lost_answer_is_repeated_with_the_same_token() -> None:
    world = new()
    world.lost_launches = 3
    world.run(MACHINE, for_s=20)

    assert [effect.request.token for effect in world.done(Launch)] == ["uid-machine-m-a-1"] * 4
    assert len(world.cloud) == 1


def test_a_lost_status_does_not_launch_twice() -> None:
    world = new()
    world.fails = lambda effect: isinstance(effect, Patch) and effect.subresource == "status"
    world.run(MACHINE, for_s=5)
    world.restart()
    world.fails = lambda _: False
    world.run(MACHINE, for_s=5)

    assert len(world.cloud) == 1
    assert the_machine(world).is_launched


def test_a_definite_failure_makes_a_new_attempt_later_each_time() -> None:
    world = new()
    world.launch_problems = [Problem(ProblemKind.FAILED, "no")] * 5
    times = []
    for _ in range(60):
        before = len(world.done(Launch))
        world.settle(MACHINE)
        times += [world.moment.mono - 1000.0] * (len(world.done(Launch)) - before)
        world.wait(1)

    assert times == [0, 1, 3, 7, 15, 31]
    assert [effect.request.token[-2:] for effect in world.done(Launch)] == [
        f"-{number}" for number in range(1, 7)
    ]
    assert the_machine(world).is_launched


def test_a_failure_is_a_condition() -> None:
    world = new()
    world.launch_problems = [Problem(ProblemKind.FAILED, "quota")]
    world.settle(MACHINE)
    failed = the_machine(world).condition(MACHINE_LAUNCHED)

    assert failed is not None
    assert (failed.status, failed.reason, failed.message) == ("False", "LaunchFailed", "quota")


@pytest.mark.parametrize(
    "bad",
    [
        {"requests": {"cpu": "much"}},
        {"requirements": (NodeSelectorRequirement(key="a", operator="Like"),)},
    ],
)
def test_an_invalid_machine_is_reported_and_left_alone(bad: dict[str, Any]) -> None:
    world = new(**bad)
    world.run(MACHINE, for_s=5)

    assert world.done(Launch) == []
    assert "machine/m-a: spec." in world.events("Invalid")[0].message


def test_r4_the_provisioner_owns_its_machines() -> None:
    world = World(machine(is_new=True), provisioner())
    world.settle(MACHINE)
    owners = the_machine(world).metadata.owner_references

    assert [(one.kind, one.uid) for one in owners] == [("Provisioner", "uid-provisioner-default")]
    assert owners[0].block_owner_deletion


def test_foreign_machines_are_left_alone() -> None:
    world = World(machine(is_new=True, is_ours=False), machine("m-b", provider_id="aws:///z/i-1"))
    world.run(MACHINE, for_s=5)

    assert world.effects == world.done(Publish)


# ----------------------------------------------------------------------------------------- liveness


def test_t127_a_registered_machine_lives() -> None:
    world = launched(node(is_joined=False))
    world.settle(MACHINE)
    assert the_machine(world).is_registered

    world.run(MACHINE, for_s=1300, tick_s=60)

    assert world.names("Machine") == ["m-a"]
    assert world.names("Node") == ["a"]


def test_t128_without_a_node_it_is_given_up() -> None:
    world = new(created_at=builders.NOW)
    world.run(MACHINE, for_s=890, tick_s=10)
    assert the_machine(world).is_launched

    world.run(MACHINE, for_s=20, tick_s=10)  # 15 min, and 20 are too long
    assert world.names("Machine") == []
    assert [f.labels["reason"] for f in world.facts if f.name == "machines_terminated"] == [
        "liveness"
    ]


def test_t129_a_launch_that_keeps_failing_is_given_up() -> None:
    world = new(created_at=builders.NOW)
    world.launch_problems = [Problem(ProblemKind.FAILED, "no")] * 1000
    world.run(MACHINE, for_s=890, tick_s=10)
    assert not the_machine(world).is_launched
    assert len(world.done(Launch)) > 10

    world.run(MACHINE, for_s=20, tick_s=10)
    assert world.names("Machine") == []
    assert world.cloud == {}


def test_the_liveness_clock_does_not_restart_with_another_reason() -> None:
    world = new(created_at=builders.NOW)
    world.launch_problems = [Problem(ProblemKind.FAILED, "no")] * 9
    world.run(MACHINE, for_s=600, tick_s=10)
    found = the_machine(world).condition(MACHINE_REGISTERED)

    assert found is not None
    assert (found.reason, found.last_transition_time) == ("NodeNotFound", builders.NOW)


# --------------------------------------------------------------------------------------------- end


def ended(*others: Any, instances: tuple[str, ...] = ("a",), **fields: Any) -> World:
    return World(
        machine(deleted_at=builders.NOW, **fields),
        *others,
        instances=[instance(name) for name in instances],
    )


def test_t081_the_node_goes_first_then_the_instance() -> None:
    world = ended(node())
    world.settle(MACHINE)
    assert the_node(world).is_deleting
    assert world.done(Terminate) == []
    assert world.names("Machine") == ["m-a"]

    world.drop(the_node(world))
    world.settle(MACHINE)
    assert [effect.provider_id for effect in world.done(Terminate)] == ["sim:///a"]
    assert world.names("Machine") == []


def test_t081_its_node_is_drained_and_ends_the_instance_for_both() -> None:
    world = ended(node(), pod())
    world.run(MACHINE, TERMINATION, for_s=29)
    assert world.done(Terminate) == []

    world.run(MACHINE, TERMINATION, for_s=2)
    assert world.names("Node") == world.names("Machine") == []
    assert [effect.provider_id for effect in world.done(Terminate)] == ["sim:///a"]


def test_t082_all_nodes_of_the_machine_go() -> None:
    world = ended(*(node(name, provider_id="sim:///a") for name in "abc"))
    world.settle(MACHINE)

    assert [the_node(world, name).is_deleting for name in "abc"] == [True] * 3
    assert sorted(effect.ref.uid for effect in world.done(Delete)) == [
        "uid-node-a",
        "uid-node-b",
        "uid-node-c",
    ]


def test_t083_a_linked_machine_ends_the_linked_instance() -> None:
    world = ended(
        annotations={names.LINKED: "sim:///old"}, provider_id="", instances=("old",), conditions=()
    )
    world.settle(MACHINE)

    assert [effect.provider_id for effect in world.done(Terminate)] == ["sim:///old"]
    assert world.names("Machine") == []


def test_t084_the_machine_stays_while_its_node_is_there() -> None:
    world = ended(node(), pod(), builders.budget())
    world.run(MACHINE, TERMINATION, for_s=60)

    assert world.names("Machine") == ["m-a"]
    assert world.done(Terminate) == []


def test_t085_a_machine_that_was_never_launched_just_goes() -> None:
    world = ended(provider_id="", conditions=())
    world.settle(MACHINE)

    assert world.done(Terminate) == []
    assert world.names("Machine") == []


def test_t086_nodes_without_a_provider_id_are_nobodys() -> None:
    nodes = [node(name, provider_id="") for name in "abcdefghij"]
    world = ended(*nodes, provider_id="", conditions=())
    world.run(MACHINE, for_s=5)

    assert [the_node(world, name).is_deleting for name in "abcdefghij"] == [False] * 10
    assert world.names("Machine") == []


def test_a_launch_that_was_just_answered_is_not_forgotten_at_the_end() -> None:
    world = new(created_at=at(0))
    world.fails = lambda effect: isinstance(effect, Patch) and "cloud launched" in effect.why
    world.settle(MACHINE)
    world.change(the_machine(world), metadata__deletion_timestamp=builders.NOW)
    world.fails = lambda _: False
    world.settle(MACHINE)

    assert [effect.provider_id for effect in world.done(Terminate)] == ["sim:///i-0"]


def test_a_link_that_cannot_be_looked_at_is_tried_again() -> None:
    world = World(
        machine(is_new=True, annotations={names.LINKED: "sim:///old"}), instances=[instance("old")]
    )
    world.fails = lambda effect: isinstance(effect, Observe)
    world.run(MACHINE, for_s=5)
    failed = the_machine(world).condition(MACHINE_LAUNCHED)
    assert failed is not None
    assert failed.reason == "LinkFailed"

    world.fails = lambda _: False
    world.run(MACHINE, for_s=10)
    assert the_machine(world).is_launched


def test_a_wish_for_one_value_becomes_a_label_unless_the_cloud_knows_better() -> None:
    wishes = (
        NodeSelectorRequirement(key="team", operator="In", values=("shop",)),
        NodeSelectorRequirement(key="rack", operator="In", values=("r1",)),
        NodeSelectorRequirement(key="size", operator="In", values=("s", "m")),
    )
    world = new(requirements=wishes, labels={"own": "1"})
    world.cloud["sim:///x"] = instance("x", token="uid-machine-m-a-1", labels={"rack": "r2"})
    world.settle(MACHINE)
    labels = the_machine(world).metadata.labels

    assert (labels["team"], labels["rack"], labels["own"]) == ("shop", "r2", "1")
    assert "size" not in labels


def test_a_refused_termination_is_repeated() -> None:
    world = ended()
    world.fails = lambda effect: isinstance(effect, Terminate)
    world.run(MACHINE, for_s=12)

    assert 2 <= len(world.done(Terminate)) <= 4
    assert world.names("Machine") == ["m-a"]


def test_a_deleted_machine_without_our_finalizer_is_not_ours_to_end() -> None:
    world = ended(finalizers=("example.org/other",))
    world.run(MACHINE, for_s=5)

    assert world.effects == []
