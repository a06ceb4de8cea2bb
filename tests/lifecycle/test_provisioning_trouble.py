"""Machines for pods that wait, while the cloud, the server or the machines themselves fail."""

from __future__ import annotations

import pytest

from tests.builders import condition, machine, node
from tests.engine.scenes import instance_type
from tests.lifecycle.pending import SINGLE, homeless, made, planned, provisioner, sell_out, waiting
from tests.lifecycle.rows import PROVISIONING
from unmoor.model import names
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
