"""What was to pay is weighed again, before a machine is paid for and before a node goes."""

from __future__ import annotations

import pytest

from tests.engine.scenes import instance_type
from tests.lifecycle.driver import World
from tests.lifecycle.replacing import (
    QUIET_S,
    ROWS,
    bodies,
    command,
    deleted_nodes,
    first_command,
    is_free,
    joins,
    underused,
)
from tests.lifecycle.test_consolidation import going, world_of
from tests.policy.underused import LARGE, MEDIUM, SMALL, node, pod
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.observation import Asked


def test_for_nodes_that_have_become_empty_no_machine_is_made() -> None:
    world = underused()
    world.settle(*ROWS)
    world.drop(world.view.pods_on("a")[0])
    world.run(*ROWS, for_s=60)

    assert "need 0 new machines, not 1" in first_command(world).status.message
    assert bodies(world, "Machine") == []
    assert deleted_nodes(world) == ["a"]


@pytest.mark.parametrize(("price", "is_right"), [(0.1, True), (1.4, True), (1.6, False)])
def test_no_machine_is_made_of_a_type_that_is_not_cheaper_any_more(
    price: float, *, is_right: bool
) -> None:
    world = underused()
    world.settle(*ROWS)
    assert command(world).spec.replacements[0].instance_types == ("small", "medium")

    dearer = instance_type("small", cpu=2, memory_gib=8, pods=100, price=price)
    world.types = (dearer, MEDIUM, LARGE)
    del world.view._answers[Asked.INSTANCE_TYPES]
    world.run(*ROWS, for_s=QUIET_S + 3)

    assert (first_command(world).phase is DisruptionPhase.LAUNCHING) is is_right
    if not is_right:
        assert "a machine of type small" in first_command(world).status.message
        assert bodies(world, "Machine") == []


def replacing_two(price: float) -> World:
    """One machine comes for two nodes of 0.2 USD/h each, and then a person keeps one of them."""
    between = instance_type("between", cpu=8, memory_gib=32, pods=100, price=price)
    world = world_of(
        *(node(name, MEDIUM) for name in "ab"),
        *(pod(f"web{name}-1", name, "3") for name in "ab"),
        nodes="ab",
    )
    world.types = (SMALL, MEDIUM, between, LARGE)
    world.run(*ROWS, for_s=QUIET_S + 3)
    assert going(world) == ["a", "b"]
    assert len(bodies(world, "Machine")) == 1
    kept = world.view.node("b")
    assert kept is not None
    said = kept.metadata.annotations | {names.DO_NOT_CONSOLIDATE: "true"}
    world.change(kept, metadata__annotations=said)
    return world


@pytest.mark.parametrize(("price", "pays"), [(0.3, False), (0.15, True)])
def test_when_fewer_go_than_a_machine_came_for_it_must_still_be_cheaper(
    price: float, *, pays: bool
) -> None:
    world = replacing_two(price)
    labels = {names.INSTANCE_TYPE: "between", names.ZONE: "test-zone-1"}
    labels[names.CAPACITY_TYPE] = names.ON_DEMAND
    machine = world.view.machine(command(world).spec.replacements[0].name)
    assert machine is not None
    world.change(machine, metadata__labels=machine.metadata.labels | labels)
    joins(world, labels=labels)
    world.run(*ROWS, for_s=40)

    [first] = [one for one in world.view.sorted(DISRUPTIONS) if len(one.spec.nodes) == 2]
    if pays:
        assert (first.phase, deleted_nodes(world)) == (DisruptionPhase.SUCCEEDED, ["a"])
        return
    assert first.phase is DisruptionPhase.CANCELLED
    assert "of its 2 nodes only 1 would go, which cost 0.2 USD/h" in first.status.message
    assert "what came for them costs 0.3 USD/h" in first.status.message
    assert is_free(world)
    assert deleted_nodes(world) == ["new"]
