"""A provisioner says what it has and what is wrong with it, once, and stops nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import IDENTITY, at, changed, machine, node, provisioner
from tests.lifecycle.asked_of_provisioners import active, held
from tests.lifecycle.driver import World
from tests.lifecycle.rows import PROVISIONER
from unmoor.lifecycle import provisioner as provisioners
from unmoor.lifecycle import unreadable
from unmoor.lifecycle.effects import Patch
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.base import Condition, Object
from unmoor.model.kubelet import KubeletConfiguration
from unmoor.model.node import Node
from unmoor.model.snapshot import Identity, Unreadable
from unmoor.model.static_hash import hash_of
from unmoor.model.taint import Taint
from unmoor.policy.verdict import Reason

HASH = names.PROVISIONER_HASH
FOREIGN = "2048156721467254012"
"""As another controller writes it."""


def world_of(*objects: Object, identity: Identity = IDENTITY) -> World:
    world = World(*objects, identity=identity)
    world.settle(PROVISIONER)
    return world


def writes(world: World) -> list[Patch]:
    """What was written since the last look at it."""
    done = world.done(Patch)
    world.effects.clear()
    return done


def of(name: str = "default", *, on: str = "a", **status: Any) -> Node:
    """A node of a provisioner."""
    labels = {**node(on).metadata.labels, names.PROVISIONER_NAME: name}
    return changed(node(on), metadata__labels=labels, **status)


# In order, or not.


def test_what_is_in_order_says_so_once() -> None:
    world = world_of(provisioner())

    assert (active(world).status, active(world).last_transition_time) == ("True", at(0))
    assert world.events() == []
    assert len(writes(world)) == 2
    world.run(PROVISIONER, for_s=1000, tick_s=50)
    assert writes(world) == []


def test_what_is_wrong_is_told_with_field_value_and_remedy() -> None:
    world = world_of(provisioner(weight=1000))

    assert (active(world).status, active(world).reason) == ("False", "Invalid")
    assert active(world).message == "spec.weight is '1000': it is above 100; use 1 to 100"
    (event,) = world.events("Invalid")
    assert event.message == f"provisioner/default: {active(world).message}"
    assert event.is_warning
    assert event.regarding.name == "default"


def test_w01_a_budget_that_means_nothing_is_told_on_its_provisioner() -> None:
    """It keeps nodes from going, and is no reason to make none."""
    bad = '[{"nodes": "10%", "schedule": "0 0 * * sat-sun", "duration": "24h"}]'
    world = world_of(provisioner(annotations={names.BUDGETS: bad}))

    (event,) = world.events("Invalid")
    assert (
        "metadata.annotations[unmoor.dev/budgets][0].schedule is '0 0 * * sat-sun'" in event.message
    )
    assert 'as in "0 0 * * sat,sun"' in event.message
    assert active(world).status == "True"


def test_of_many_errors_the_first_are_told_and_the_rest_counted() -> None:
    many = tuple(Taint(key=f"t{number}", effect="Boom") for number in range(90))
    world = world_of(changed(provisioner(), spec__taints=many))

    assert active(world).message.count("is not a known choice") == provisioners.SHOWN_MAX
    assert active(world).message.endswith(". 87 more fields are wrong")
    assert len(world.events("Invalid")) == provisioners.TOLD_MAX + 1
    assert "80 more" in world.events("Invalid")[-1].message


def test_a_broken_one_stops_no_other() -> None:
    world = world_of(provisioner(weight=1000), provisioner("good"), machine(provisioner="good"))

    assert (active(world).status, active(world, "good").status) == ("False", "True")
    assert held(world, "good").status.resources["cpu"] == "4"


def test_the_time_of_the_condition_moves_only_with_its_status() -> None:
    world = world_of(provisioner(weight=1000))
    world.wait(60)
    world.change(held(world), spec__weight=2000)
    world.settle(PROVISIONER)
    assert "'2000'" in active(world).message
    assert active(world).last_transition_time == at(0)

    world.change(held(world), spec__weight=10)
    world.settle(PROVISIONER)
    assert (active(world).status, active(world).last_transition_time) == ("True", at(60))


def test_conditions_of_others_stay() -> None:
    other = Condition(type="Other", status="True", last_transition_time=at(-5))
    world = world_of(changed(provisioner(), status__conditions=(other,)))

    assert held(world).status.conditions[0] == other
    assert len(held(world).status.conditions) == 2


# What it has.


def test_all_that_is_paid_for_counts_once() -> None:
    going = machine("m-c", node_name="c", deleted_at=at(0))
    world = world_of(
        provisioner(),
        machine("m-a", node_name="a"),
        of(on="a"),
        machine("m-b", node_name=""),
        going,
        machine("m-new", is_new=True),
        machine("m-other", provisioner="other"),
        of(on="d", status__capacity={"cpu": "1500m", "nvidia.com/gpu": 1, "hugepages-2Mi": "0"}),
        of("other", on="e"),
    )

    assert held(world).status.resources == {
        "cpu": "13500m",
        "memory": "24Gi",
        "pods": "330",
        "nvidia.com/gpu": "1",
    }


def test_a_young_node_has_what_its_machine_promised() -> None:
    promised = machine(capacity={"cpu": "4", "nvidia.com/gpu": "2", "memory": "8Gi"})
    young = of(status__capacity={"cpu": "4", "nvidia.com/gpu": "0"})
    young = changed(young, metadata__labels={names.PROVISIONER_NAME: "default"})
    world = world_of(provisioner(), promised, young)

    assert held(world).status.resources == {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"}


def test_what_cannot_be_read_counts_as_nothing() -> None:
    world = world_of(provisioner(), machine(capacity={"cpu": "lots", "memory": "8Gi"}))

    assert held(world).status.resources == {"memory": "8Gi"}


def test_an_instance_with_two_machines_counts_once() -> None:
    twice = machine("m-b", provider_id=machine().provider_id)
    world = world_of(provisioner(), machine(), twice, of())

    assert held(world).status.resources["cpu"] == "4"


def test_what_is_gone_is_taken_off() -> None:
    world = world_of(provisioner(), machine(capacity={"cpu": "4", "nvidia.com/gpu": "1"}))
    world.drop(world.view.machine("m-a"))
    world.put(machine("m-b", capacity={"cpu": "2"}))
    world.wait(1)
    world.settle(PROVISIONER)

    assert held(world).status.resources == {"cpu": "2"}


def test_of_many_changes_at_once_few_are_written() -> None:
    world = world_of(provisioner())
    writes(world)
    for number in range(100):
        world.put(machine(f"m-{number}"))
        world.settle(PROVISIONER)
        world.wait(0.03)
    world.run(PROVISIONER, for_s=2)

    assert held(world).status.resources["cpu"] == "400"
    assert 2 <= len(writes(world)) <= 4


def test_its_last_growth_is_when_its_newest_machine_was_created() -> None:
    world = world_of(provisioner(), machine("m-a", created_at=at(-50)))
    assert held(world).status.last_scale_time == at(-50)

    world.put(machine("m-b", created_at=at(3), is_new=True))
    world.wait(5)
    world.settle(PROVISIONER)
    world.drop(world.view.machine("m-b"))
    world.run(PROVISIONER, for_s=5)

    assert held(world).status.last_scale_time == at(3)


# Its hash.


def test_t373_the_annotation_follows_what_is_static() -> None:
    world = world_of(provisioner(annotations={"mine": "stays"}))
    before = held(world).metadata.annotations
    assert before == {"mine": "stays", HASH: hash_of(held(world))}

    kubelet = KubeletConfiguration(max_pods=20)
    world.change(held(world), spec__kubelet_configuration=kubelet)
    world.settle(PROVISIONER)
    after = held(world).metadata.annotations
    assert after == {"mine": "stays", HASH: hash_of(held(world))}
    assert after != before


def test_t373_and_nothing_else() -> None:
    world = world_of(provisioner())
    before = held(world).metadata.annotations
    writes(world)
    world.change(held(world), spec__weight=7, spec__ttl_seconds_after_empty=30)
    world.settle(PROVISIONER)

    assert held(world).metadata.annotations == before
    assert writes(world) == []


def test_t373_the_hash_of_another_program_or_version_is_replaced() -> None:
    world = world_of(provisioner(annotations={HASH: FOREIGN}), machine())

    assert held(world).metadata.annotations[HASH] == hash_of(held(world))


def test_a_slip_of_the_pen_changes_no_hash() -> None:
    world = world_of(provisioner())
    before = held(world).metadata.annotations
    world.change(held(world), spec__labels={"team": "?"})
    world.settle(PROVISIONER)

    assert active(world).status == "False"
    assert held(world).metadata.annotations == before


# Whose it is, and who writes.


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([machine(is_ours=False)], id="a machine"),
        pytest.param([changed(of(), metadata__annotations={})], id="a node without one"),
    ],
)
def test_nothing_is_written_where_only_others_have_instances(objects: list[Object]) -> None:
    world = world_of(provisioner(weight=1000, annotations={HASH: FOREIGN}), *objects)

    assert writes(world) == []
    assert held(world).status.resources == {}


def test_where_one_is_ours_all_count() -> None:
    world = world_of(provisioner(), machine("m-a", is_ours=False), machine("m-b"))

    assert held(world).status.resources["cpu"] == "8"


@pytest.mark.parametrize("identity", [Identity(), Identity(cluster="shop"), Identity(scheme="sim")])
def test_whoever_can_own_nothing_writes_nothing(identity: Identity) -> None:
    world = world_of(provisioner(weight=1000), identity=identity)

    assert writes(world) == []


def test_whoever_writes_something_else_is_right_for_a_while() -> None:
    world = world_of(provisioner(), machine())
    writes(world)
    for _ in range(20):
        world.change(held(world), status__resources={"cpu": "1"})
        world.run(PROVISIONER, for_s=5)
    assert writes(world) == []

    world.run(PROVISIONER, for_s=300, tick_s=10)
    assert held(world).status.resources["cpu"] == "4"
    assert len(writes(world)) == 1


def test_the_same_in_other_words_is_left_as_it_is() -> None:
    world = world_of(provisioner(), machine())
    writes(world)
    same = {"cpu": "4000m", "memory": "8192Mi", "pods": 110}
    world.change(held(world), status__resources=same)
    world.run(PROVISIONER, for_s=400, tick_s=10)

    assert writes(world) == []


@pytest.mark.parametrize("status", [{"cpu": "lots"}, {"cpu": "4", "memory": "?"}])
def test_nonsense_in_its_status_is_replaced(status: Any) -> None:
    world = world_of(changed(provisioner(), status__resources=status), machine())

    assert held(world).status.resources["cpu"] == "4"


def test_a_write_that_fails_is_repeated() -> None:
    world = World(provisioner(), machine(), identity=IDENTITY)
    world.fails = lambda effect: isinstance(effect, Patch)
    world.run(PROVISIONER, for_s=5)
    world.fails = lambda _: False
    world.run(PROVISIONER, for_s=5)

    assert held(world).status.resources["cpu"] == "4"
    assert HASH in held(world).metadata.annotations


def test_without_memory_nothing_is_written_twice() -> None:
    world = world_of(provisioner(), machine())
    writes(world)
    world.restart()
    world.run(PROVISIONER, for_s=5)

    assert writes(world) == []


def test_one_that_is_going_is_left_alone() -> None:
    world = World(provisioner(weight=1000, deleted_at=at(0)), identity=IDENTITY)

    assert world.step(PROVISIONER, "default") == Step()


# One that cannot be read.


def test_one_that_cannot_be_read_any_more_is_told_and_not_written_to() -> None:
    world = world_of(provisioner())
    writes(world)
    world.view._broken["Provisioner"]["", "default"] = Unreadable("Expected `int`, got `str`")
    world.put(machine())
    world.run(PROVISIONER, for_s=5)
    step = unreadable.advance(world.view, "the cluster", None, builders.moment())

    assert writes(world) == []
    (verdict,) = step.verdicts
    assert verdict.reason is Reason.INVALID
    assert "provisioner/default cannot be read: Expected `int`, got `str`" in verdict.message
