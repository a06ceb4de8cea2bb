"""Two nodes of one machine, as after its kubelet got another name: the last one ends it."""

from __future__ import annotations

import pytest

from tests.builders import NOW, instance, machine, node, pod
from tests.lifecycle.driver import World
from tests.lifecycle.rows import CONDITIONS, GARBAGE, MACHINE, TERMINATION
from unmoor.lifecycle.effects import Terminate

ROWS = (MACHINE, TERMINATION, GARBAGE, CONDITIONS)
SAME = "sim:///a"


def until_ended(world: World) -> float:
    """Run until the instance is told to go; return after how long."""
    begun = world.moment.mono
    while not world.done(Terminate):
        world.run(*ROWS, for_s=2)
        assert world.moment.mono < begun + 1000, "it never ends"
    return world.moment.mono - begun


@pytest.mark.parametrize("deleted", ["old", "new"])
def test_the_machine_ends_when_the_pods_of_both_are_gone(deleted: str) -> None:
    world = World(
        machine(node_name="new"),
        *(
            node(name, provider_id=SAME, deleted_at=NOW if name == deleted else None)
            for name in ("old", "new")
        ),
        pod(on="new", grace_s=300),
        instances=[instance()],
    )
    assert until_ended(world) >= 300
    assert world.names("Pod") == []

    world.run(*ROWS, for_s=10)
    assert (world.names("Node"), world.names("Machine")) == ([], [])
    assert len(world.done(Terminate)) == 1


def test_two_that_are_drained_in_the_same_moment_leave_no_instance_behind() -> None:
    both = [node(name, provider_id=SAME, deleted_at=NOW) for name in ("old", "new")]
    world = World(machine(), *both, instances=[instance()])
    until_ended(world)
    world.run(*ROWS, for_s=10)
    assert (world.names("Node"), world.names("Machine")) == ([], [])


def test_without_a_machine_the_other_one_is_drained_for_the_instance() -> None:
    world = World(
        node("old", provider_id=SAME, deleted_at=NOW),
        node("new", provider_id=SAME),
        pod(on="new", grace_s=300),
        instances=[instance(token="t-1", labels={})],
    )
    assert until_ended(world) >= 300
    assert world.names("Pod") == []
