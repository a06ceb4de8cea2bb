"""A machine's life and end: launch, registration, initialization, liveness, finalizer."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at, condition, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import MACHINE, TERMINATION
from unmoor.lifecycle.effects import Delete, Launch, Patch, Terminate
from unmoor.model import names
from unmoor.model.base import OwnerReference
from unmoor.model.machine import (
    MACHINE_INITIALIZED,
    MACHINE_LAUNCHED,
    MACHINE_REGISTERED,
    READY,
    Machine,
)
from unmoor.model.node import Node
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.taint import Taint

MINE = Taint(key="example.org/mine", value="1", effect="NoSchedule")
STARTUP = Taint(key="example.org/agent", effect="NoExecute")
LAUNCHED = (condition(MACHINE_LAUNCHED), condition(MACHINE_REGISTERED, "False", since=builders.NOW))


def the_machine(world: World, name: str = "m-a") -> Machine:
    found = world.view.machine(name)
    assert found is not None
    return found


def the_node(world: World, name: str = "a") -> Node:
    found = world.view.node(name)
    assert found is not None
    return found


def new(**fields: Any) -> World:
    return World(machine(is_new=True, **fields))


def launched(*others: Any, **fields: Any) -> World:
    """A machine that is launched, and what else there is."""
    fields.setdefault("conditions", LAUNCHED)
    return World(machine(node_name="", **fields), *others, instances=[instance()])


def registered(joined: Node, **fields: Any) -> World:
    conditions = (condition(MACHINE_LAUNCHED), condition(MACHINE_REGISTERED))
    return World(machine(conditions=conditions, **fields), joined, instances=[instance()])


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

    assert found.is_launched
    assert found.metadata.labels[names.CAPACITY_TYPE] == names.ON_DEMAND
    assert found.metadata.labels[names.INSTANCE_TYPE] == "m.large"
    assert found.status.capacity["cpu"] == "4"
    assert world.counted("machines_launched") == 1


def test_t125_a_linked_machine_is_not_launched() -> None:
    world = World(
        machine(is_new=True, annotations={names.LINKED: "sim:///old"}), instances=[instance("old")]
    )
    world.settle(MACHINE)

    assert world.done(Launch) == []
    assert the_machine(world).provider_id == "sim:///old"
    assert the_machine(world).zone == "z1"


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

    assert world.effects == []


# ----------------------------------------------------------------------------------------- liveness


def test_t127_a_registered_machine_lives() -> None:
    world = World(machine(created_at=builders.LONG_AGO), node(), instances=[instance()])
    world.run(MACHINE, for_s=1300, tick_s=60)

    assert world.names("Machine") == ["m-a"]
    assert world.names("Node") == ["a"]


def test_t128_without_a_node_it_is_given_up() -> None:
    world = new(created_at=builders.NOW)
    world.run(MACHINE, for_s=890, tick_s=10)
    assert world.names("Machine") == ["m-a"]

    world.run(MACHINE, for_s=300, tick_s=10)
    assert world.names("Machine") == []
    assert [f.labels["reason"] for f in world.facts if f.name == "machines_terminated"] == [
        "liveness"
    ]


def test_t129_a_launch_that_keeps_failing_is_given_up() -> None:
    world = new(created_at=builders.NOW)
    world.launch_problems = [Problem(ProblemKind.FAILED, "no")] * 1000
    world.run(MACHINE, for_s=890, tick_s=10)
    assert world.names("Machine") == ["m-a"]

    world.run(MACHINE, for_s=300, tick_s=10)
    assert world.names("Machine") == []


def test_the_liveness_clock_does_not_restart_with_another_reason() -> None:
    world = new(created_at=builders.NOW)
    world.launch_problems = [Problem(ProblemKind.FAILED, "no")] * 9
    world.run(MACHINE, for_s=600, tick_s=10)
    found = the_machine(world).condition(MACHINE_REGISTERED)

    assert found is not None
    assert (found.reason, found.last_transition_time) == ("NodeNotFound", builders.NOW)


# ------------------------------------------------------------------------------------- registration


def test_t130_its_node_is_registered() -> None:
    world = launched(node(is_joined=False))
    world.settle(MACHINE)

    assert the_machine(world).is_registered
    assert the_machine(world).node_name == "a"
    assert world.counted("machines_registered") == world.counted("nodes_created") == 1


def test_t131_the_machine_owns_its_node() -> None:
    old = OwnerReference(kind="Provisioner", name="default", uid="uid-provisioner-default")
    world = launched(node(is_joined=False, owners=(old,)))
    world.settle(MACHINE)
    owners = the_node(world).metadata.owner_references

    assert [(one.kind, one.name, one.block_owner_deletion) for one in owners] == [
        ("Machine", "m-a", True)
    ]
    assert the_node(world).metadata.finalizers == (names.TERMINATION_FINALIZER,)


def test_t132_the_node_says_that_it_is_registered() -> None:
    world = launched(node(is_joined=False))
    world.settle(MACHINE)

    assert the_node(world).metadata.labels[names.REGISTERED] == "true"


def test_t133_a_lost_label_comes_back() -> None:
    world = registered(node(labels={names.REGISTERED: ""}))
    world.settle(MACHINE)

    assert the_node(world).metadata.labels[names.REGISTERED] == "true"


def test_t134_labels_are_copied() -> None:
    world = launched(node(is_joined=False), labels={"team": "shop"})
    world.settle(MACHINE)

    assert the_node(world).metadata.labels["team"] == "shop"


def test_t135_annotations_are_copied() -> None:
    world = launched(node(is_joined=False), annotations={"note": "1", names.LAUNCH_ATTEMPT: "1"})
    world.settle(MACHINE)
    annotations = the_node(world).metadata.annotations

    assert annotations == {"note": "1", names.MANAGED_BY: builders.CLUSTER}


def test_t136_taints_are_merged() -> None:
    held = Taint(key=MINE.key, value="other", effect=MINE.effect)
    other = Taint(key="example.org/two", effect="NoSchedule")
    world = launched(node(is_joined=False, taints=(held,)), taints=(MINE, other))
    world.settle(MACHINE)

    assert the_node(world).spec.taints == (held, other)


def test_t137_startup_taints_are_merged() -> None:
    world = launched(node(is_joined=False), startup_taints=(STARTUP,))
    world.settle(MACHINE)

    assert the_node(world).spec.taints == (STARTUP,)


def test_t138_a_removed_startup_taint_does_not_come_back() -> None:
    world = launched(node(is_joined=False), startup_taints=(STARTUP,))
    world.settle(MACHINE)
    world.change(the_node(world), spec__taints=())
    world.run(MACHINE, for_s=5)
    assert the_node(world).spec.taints == ()

    # N02: not even when the machine does not know yet that its node is registered.
    world.change(the_machine(world), status__conditions=LAUNCHED)
    world.settle(MACHINE)
    assert the_node(world).spec.taints == ()
    assert the_machine(world).is_registered


def test_several_nodes_are_none() -> None:
    twin = node("b", is_joined=False, provider_id="sim:///a")
    world = launched(node(is_joined=False), twin)
    world.settle(MACHINE)
    found = the_machine(world).condition(MACHINE_REGISTERED)

    assert found is not None
    assert found.reason == "MultipleNodesFound"
    assert the_node(world).metadata.finalizers == ()


def test_n15_an_empty_provider_id_matches_nothing() -> None:
    world = new()
    world.put(node(is_joined=False, provider_id=""))
    world.launch_problems = [Problem(ProblemKind.FAILED, "no")] * 100
    world.run(MACHINE, for_s=5)

    assert the_node(world).metadata.finalizers == ()


# ----------------------------------------------------------------------------------- initialization


def test_t139_a_ready_node_is_initialized() -> None:
    world = launched(node(is_joined=False), requests={"cpu": "1"})
    world.settle(MACHINE)
    found = the_machine(world)

    assert found.is_initialized
    assert found.has(READY)
    assert world.counted("machines_initialized") == 1


def test_t140_the_node_says_that_it_is_initialized() -> None:
    world = launched(node(is_joined=False))
    world.settle(MACHINE)

    assert the_node(world).is_initialized


def reason_of(world: World) -> str:
    world.settle(MACHINE)
    found = the_machine(world).condition(MACHINE_INITIALIZED)
    assert found is not None
    return found.reason


def test_t141_a_node_that_is_not_ready_is_not_initialized() -> None:
    world = registered(node(is_ready=False, labels={names.INITIALIZED: ""}))

    assert reason_of(world) == "NodeNotReady"
    assert not the_node(world).is_initialized


@pytest.mark.parametrize("reported", [{}, {"example.org/gpu": "0"}], ids=["absent", "zero"])
def test_t142_a_missing_resource_holds_it_back(reported: dict[str, Any]) -> None:
    world = registered(node(allocatable=reported), requests={"example.org/gpu": "1"})

    assert reason_of(world) == "ResourceNotRegistered"


def test_t143_once_it_is_reported_it_is_initialized() -> None:
    world = registered(node(allocatable={}), requests={"example.org/gpu": "1"})
    world.settle(MACHINE)
    world.change(the_node(world), status__allocatable={"example.org/gpu": "1"})
    world.settle(MACHINE)

    assert the_machine(world).is_initialized


def test_t144_a_startup_taint_holds_it_back() -> None:
    world = registered(node(taints=(STARTUP,)), startup_taints=(STARTUP,))

    assert reason_of(world) == "StartupTaintsExist"


def test_t145_removed_it_is_initialized() -> None:
    world = registered(node(taints=(STARTUP,)), startup_taints=(STARTUP,))
    world.settle(MACHINE)
    world.change(the_node(world), spec__taints=())
    world.settle(MACHINE)

    assert the_machine(world).is_initialized


@pytest.mark.parametrize(("key", "effect"), names.EPHEMERAL_TAINTS)
def test_t146_an_ephemeral_taint_holds_it_back(key: str, effect: str) -> None:
    world = registered(node(taints=(Taint(key=key, value="true", effect=effect),)))

    assert reason_of(world) == "KnownEphemeralTaintsExist"


@pytest.mark.parametrize(("key", "effect"), names.EPHEMERAL_TAINTS)
def test_t147_removed_it_is_initialized(key: str, effect: str) -> None:
    world = registered(node(taints=(Taint(key=key, value="true", effect=effect),)))
    world.settle(MACHINE)
    world.change(the_node(world), spec__taints=())
    world.settle(MACHINE)

    assert the_machine(world).is_initialized


def test_t148_the_finalizer_comes_first() -> None:
    world = new()
    step = world.step(MACHINE, "m-a")

    assert len(step.effects) == 1
    assert the_machine(world).metadata.finalizers == (names.TERMINATION_FINALIZER,)


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

    world.run(MACHINE, TERMINATION, for_s=10)
    assert world.names("Node") == world.names("Machine") == []
    assert world.done(Terminate)


def test_t082_all_nodes_of_the_machine_go() -> None:
    nodes = [node(name, provider_id="sim:///a", finalizers=()) for name in "abc"]
    world = ended(*nodes)
    world.settle(MACHINE)

    assert world.names("Node") == []
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

    assert world.names("Node") == list("abcdefghij")
    assert not any(one.is_deleting for one in map(world.view.node, "abcdefghij") if one)


def test_a_launch_that_was_just_answered_is_not_forgotten_at_the_end() -> None:
    world = new(created_at=at(0))
    world.fails = lambda effect: isinstance(effect, Patch) and "cloud launched" in effect.why
    world.settle(MACHINE)
    world.change(the_machine(world), metadata__deletion_timestamp=builders.NOW)
    world.fails = lambda _: False
    world.settle(MACHINE)

    assert [effect.provider_id for effect in world.done(Terminate)] == ["sim:///i-0"]
