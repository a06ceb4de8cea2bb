"""A node becomes its machine's node, and is ready for pods when all that was promised is there."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import node
from tests.lifecycle.driver import World
from tests.lifecycle.rows import MACHINE
from tests.lifecycle.worlds import LAUNCHED, launched, new, registered, the_machine, the_node
from unmoor.model import names
from unmoor.model.base import OwnerReference
from unmoor.model.machine import (
    MACHINE_INITIALIZED,
    MACHINE_REGISTERED,
    READY,
)
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.taint import Taint

MINE = Taint(key="example.org/mine", value="1", effect="NoSchedule")
STARTUP = Taint(key="example.org/agent", effect="NoExecute")
EPHEMERAL = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.cloudprovider.kubernetes.io/uninitialized",
)


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

    assert the_node(world).metadata.labels["karpenter.sh/registered"] == "true"


def test_t133_a_lost_label_comes_back() -> None:
    world = registered(node())
    kept = {k: v for k, v in the_node(world).metadata.labels.items() if k != names.REGISTERED}
    world.change(the_node(world), metadata__labels=kept)
    world.settle(MACHINE)

    assert the_node(world).metadata.labels == kept | {"karpenter.sh/registered": "true"}


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

    assert ("MachineInitialized", "True") in [
        (one.type, one.status) for one in found.status.conditions
    ]
    assert found.has(READY)
    assert world.counted("machines_initialized") == 1


def test_t140_the_node_says_that_it_is_initialized() -> None:
    world = launched(node(is_joined=False))
    world.settle(MACHINE)

    assert the_node(world).metadata.labels["karpenter.sh/initialized"] == "true"


def reason_of(world: World) -> str:
    world.settle(MACHINE)
    found = the_machine(world).condition(MACHINE_INITIALIZED)
    assert found is not None
    assert found.status == "False"
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
    assert reason_of(world) == "ResourceNotRegistered"

    world.change(the_node(world), status__allocatable={"example.org/gpu": "1"})
    world.settle(MACHINE)

    assert the_machine(world).is_initialized


def test_t144_a_startup_taint_holds_it_back() -> None:
    world = registered(node(taints=(STARTUP,)), startup_taints=(STARTUP,))

    assert reason_of(world) == "StartupTaintsExist"


def test_t145_removed_it_is_initialized() -> None:
    world = registered(node(taints=(STARTUP,)), startup_taints=(STARTUP,))
    assert reason_of(world) == "StartupTaintsExist"

    world.change(the_node(world), spec__taints=())
    world.settle(MACHINE)

    assert the_machine(world).is_initialized


@pytest.mark.parametrize("key", EPHEMERAL)
def test_t146_an_ephemeral_taint_holds_it_back(key: str) -> None:
    world = registered(node(taints=(Taint(key=key, value="true", effect="NoSchedule"),)))

    assert reason_of(world) == "KnownEphemeralTaintsExist"


@pytest.mark.parametrize("key", EPHEMERAL)
def test_t147_removed_it_is_initialized(key: str) -> None:
    world = registered(node(taints=(Taint(key=key, value="true", effect="NoSchedule"),)))
    assert reason_of(world) == "KnownEphemeralTaintsExist"

    world.change(the_node(world), spec__taints=())
    world.settle(MACHINE)

    assert the_machine(world).is_initialized


def test_t148_the_finalizer_comes_first() -> None:
    world = new()
    step = world.step(MACHINE, "m-a")

    assert len(step.effects) == 1
    assert the_machine(world).metadata.finalizers == ("karpenter.sh/termination",)


def test_a_linked_node_keeps_its_own_annotations_and_taints() -> None:
    world = launched(
        node(is_joined=False, finalizers=()),
        annotations={names.LINKED: "sim:///a", "note": "1"},
        taints=(MINE,),
        labels={"team": "shop"},
    )
    world.settle(MACHINE)
    found = the_node(world)

    assert found.metadata.annotations == {names.MANAGED_BY: builders.CLUSTER}
    assert found.spec.taints == ()
    assert found.metadata.labels["team"] == "shop"
    assert world.counted("nodes_created") == 0


def test_nothing_is_added_to_a_node_that_goes() -> None:
    going = node(
        is_joined=False, deleted_at=builders.NOW, labels={names.PROVISIONER_NAME: "default"}
    )
    world = launched(builders.changed(going, metadata__finalizers=("example.org/other",)))
    world.run(MACHINE, for_s=5)

    assert the_node(world).metadata.finalizers == ("example.org/other",)


def test_a_node_that_is_lost_before_it_was_ready_is_waited_for() -> None:
    world = registered(node(is_ready=False))
    world.drop(the_node(world))

    assert reason_of(world) == "NodeLost"


def test_a_quantity_that_is_none_holds_it_back() -> None:
    world = registered(node(), requests={"cpu": "much"})

    assert reason_of(world) == "ResourceNotRegistered"
