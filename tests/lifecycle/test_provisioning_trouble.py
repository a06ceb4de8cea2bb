"""Machines for pods that wait, while the cloud, the server or the machines themselves fail."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests import builders
from tests.builders import condition, machine, node
from tests.engine.scenes import instance_type
from tests.lifecycle.pending import (
    APART,
    SINGLE,
    asked,
    homeless,
    made,
    planned,
    provisioner,
    sell_out,
    the_one,
    waiting,
    wanting,
)
from tests.lifecycle.rows import MACHINE, PROVISIONING
from unmoor.lifecycle.effects import AnyEffect, Create, Launch
from unmoor.lifecycle.provisioning import CREATED_MAX
from unmoor.model import names
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.taint import Taint

SILENT = Taint(key=names.UNREACHABLE, effect="NoSchedule")


@pytest.mark.parametrize("sold_out", [1, len(SINGLE.offerings)])
def test_a_machine_whose_type_is_sold_out_meanwhile_is_not_bought_again(sold_out: int) -> None:
    """Its launch may yet succeed; if the cloud refuses it, it is given up, and then replaced."""
    only = {"key": names.INSTANCE_TYPE, "operator": "In", "values": [SINGLE.name]}
    provisioners = (provisioner("picky", weight=9, requirements=[only]), provisioner())
    world = planned(waiting(), *provisioners, types=(SINGLE, instance_type("other", price=9.0)))
    [kept] = made(world)
    sell_out(world, SINGLE, SINGLE.offerings[:sold_out])
    world.run(PROVISIONING, for_s=60, tick_s=10)

    assert kept.provisioner_name == "picky"
    assert made(world) == [kept]
    assert homeless(world) == []


@pytest.mark.parametrize(("gone_s", "machines"), [(60, 1), (280, 1), (320, 2)])
def test_a_node_that_has_fallen_silent_holds_pods_for_a_while_only(
    gone_s: float, machines: int
) -> None:
    """kube-scheduler puts nobody there, so whoever waits gets another place in the end."""
    world = planned(node("a", taints=(SILENT,)), machine("m-a"))
    ready = condition("Ready", "Unknown", since=world.moment.wall)
    world.change(world.view.node("a"), status__conditions=(ready,))
    world.put(waiting())
    world.run(PROVISIONING, for_s=gone_s, tick_s=10)

    assert len(made(world)) == machines


def test_a_node_that_comes_back_in_time_takes_them() -> None:
    world = planned(node("a", taints=(SILENT,)), machine("m-a"))
    ready = condition("Ready", "Unknown", since=world.moment.wall)
    world.change(world.view.node("a"), status__conditions=(ready,))
    world.put(waiting())
    world.run(PROVISIONING, for_s=200, tick_s=10)
    world.change(world.view.node("a"), spec__taints=())
    world.run(PROVISIONING, for_s=200, tick_s=10)

    assert [one.name for one in made(world)] == ["m-a"]


@pytest.mark.parametrize("is_on_sale", [True, False])
def test_a_machine_of_another_type_than_it_asked_for_is_not_bought_again(
    *, is_on_sale: bool
) -> None:
    """T316: the label says so a step before the machine is known to be launched."""
    given = builders.instance().instance_type
    types = [
        instance_type(name, zones=("z1",), sold=[("z1", names.ON_DEMAND)])
        for name in ("asked-for", *([given] if is_on_sale else []))
    ]
    only = {"key": names.INSTANCE_TYPE, "operator": "In", "values": ["asked-for"]}
    world = planned(waiting(), provisioner(requirements=[only]), types=tuple(types))
    first = the_one(world)
    for _ in range(6):
        world.step(MACHINE, first.name)
        world.run(PROVISIONING, for_s=12, tick_s=6)

    assert the_one(world).metadata.labels[names.INSTANCE_TYPE] == given


def test_while_the_cloud_has_no_capacity_one_machine_at_a_time_is_tried() -> None:
    """Until one is launched; then the others follow."""
    world = planned(*(waiting(f"web-{number}", spec={"affinity": APART}) for number in range(4)))
    none = Problem(ProblemKind.INSUFFICIENT_CAPACITY, "there is none")
    world.launch_problems = [none] * 6
    counts = []
    for _ in range(5):
        world.run(MACHINE, PROVISIONING, for_s=10, tick_s=0.5)
        counts.append(len(world.done(Create)))
    [told] = {one.message.partition(": ")[2] for one in world.events("FailedScheduling")}

    assert counts == [5, 6, 7, 10, 10]
    assert told == (
        "provisioner on hold: default: the cloud had no capacity for its last machine: there is "
        "none; one is tried at a time (at default)"
    )


# -------------------------------------------------------------- the server refuses to make machines


def is_creation(effect: AnyEffect) -> bool:
    return isinstance(effect, Create)


def test_a_machine_that_the_server_refuses_is_told_on_its_provisioner_and_to_its_pods() -> None:
    world = wanting(waiting())
    world.refuses = is_creation
    world.run(PROVISIONING, for_s=25)
    [told] = {(one.regarding.name, one.message) for one in world.events("FailedCreate")}

    assert told[0] == "default"
    assert "refuses the machines of provisioner default (forbidden): a webhook says no" in told[1]
    assert all(one.is_warning for one in world.events("FailedCreate"))
    [event] = world.events("FailedScheduling")
    assert event.message == (
        "there is no place for pod shop/web-1, nor can one be made: provisioner on hold: default: "
        "the server refuses its machines (forbidden): a webhook says no (at default)"
    )


def test_it_is_tried_again_one_at_a_time_and_less_and_less_often() -> None:
    apart = [waiting(f"web-{number}", spec={"affinity": APART}) for number in range(4)]
    world = wanting(*apart)
    world.refuses = is_creation
    tried = []
    for _ in range(1_000):
        world.step(PROVISIONING, "all")
        tried.append(len(world.done(Create)))
        world.wait(1)
    steps = [at for at in range(1, 1_000) if tried[at] != tried[at - 1]]

    assert [tried[at] - tried[at - 1] for at in steps] == [4, *[1] * (len(steps) - 1)]
    pauses = [later - sooner for sooner, later in pairwise(steps)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (10, 300)
    assert len(world.events("FailedCreate")) == len(steps)


def test_once_one_is_made_the_others_follow() -> None:
    apart = [waiting(f"web-{number}", spec={"affinity": APART}) for number in range(4)]
    world = wanting(*apart)
    world.refuses = is_creation
    world.run(PROVISIONING, for_s=60)
    world.refuses = lambda _: False
    world.run(PROVISIONING, for_s=60)

    assert len(made(world)) == 4
    assert {one.regarding.name for one in world.events("FailedScheduling")} <= {
        one.name for one in apart
    }


def test_other_provisioners_go_on() -> None:
    pods = [
        waiting(f"web-{name}", spec={"nodeSelector": {names.PROVISIONER_NAME: name}})
        for name in ("default", "other")
    ]
    world = wanting(*pods, provisioner("default"), provisioner("other"))
    world.refuses = lambda effect: isinstance(effect, Create) and effect.ref.name[:7] == "default"
    world.run(PROVISIONING, for_s=60)

    assert [one.provisioner_name for one in made(world)] == ["other"]
    assert homeless(world) == ["web-default"]


def test_a_provisioner_beyond_its_limit_is_not_tried() -> None:
    world = wanting(waiting(), provisioner(limits={"resources": {"cpu": "20"}}))
    world.refuses = is_creation
    world.run(PROVISIONING, for_s=5)
    before = len(world.done(Create))
    world.change(world.view.provisioner("default"), status__resources={"cpu": "100"})
    world.run(PROVISIONING, for_s=60)

    assert before == len(world.done(Create)) == 1


# --------------------------------------------------------------------------- they do not come up


def test_a_machine_that_did_not_come_up_is_followed_by_one_of_another_offering() -> None:
    """N18."""
    launched = builders.instance("i-0")
    kinds = tuple(
        instance_type(name, price=price, zones=("z1",), sold=[("z1", names.ON_DEMAND)])
        for name, price in ((launched.instance_type, 1.0), ("other", 2.0))
    )
    world = planned(waiting(), types=kinds)
    first = the_one(world)
    world.run(MACHINE, PROVISIONING, for_s=930, tick_s=10)
    [second] = [one for one in made(world) if not one.is_deleting]
    [told] = world.events("NeverRegistered")
    offering = f"{launched.instance_type} {launched.zone} {launched.capacity_type}"

    assert asked(first)[names.INSTANCE_TYPE].values == (launched.instance_type, "other")
    assert asked(second)[names.INSTANCE_TYPE].values == ("other",)
    assert told.message.endswith(f"Provisioner default does not ask for {offering} for 15 min")
    requests = [one.request for one in world.done(Launch)]
    assert [tuple(map(str, one.avoid)) for one in requests] == [(), (offering,)]


def test_nodes_that_never_become_ready_are_not_made_without_end() -> None:
    """The pods of the first get a second, fifteen minutes later; the third is put off."""
    world = planned(waiting())
    made_at: list[float] = []
    for _ in range(6 * 60):
        world.run(MACHINE, PROVISIONING, for_s=60, tick_s=60)
        for one in made(world)[len(made_at) :]:
            made_at.append(world.moment.mono)
            world.put(
                node(
                    f"n-{len(made_at)}",
                    provider_id=one.provider_id,
                    taints=(Taint(key=names.NOT_READY, effect="NoSchedule"),),
                    created_at=world.moment.wall,
                    is_joined=False,
                )
            )
    pauses = [round((later - sooner) / 60) for sooner, later in pairwise(made_at)]

    assert pauses == [15, 30, 60, 120]


def test_machines_for_which_one_step_has_no_room_come_with_the_next_a_moment_later() -> None:
    alone = (waiting(f"web-{at}", spec={"affinity": APART}) for at in range(CREATED_MAX + 2))
    world = wanting(*alone)
    world.step(PROVISIONING, "all")
    world.wait(2)
    world.step(PROVISIONING, "all")  # what is on sale is asked
    step = world.step(PROVISIONING, "all")

    assert len(world.done(Create)) == CREATED_MAX
    assert step.wake_at == world.moment.mono
    world.step(PROVISIONING, "all")
    assert len(world.done(Create)) == CREATED_MAX + 2
