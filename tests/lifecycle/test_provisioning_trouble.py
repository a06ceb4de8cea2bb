"""Machines for pods that wait, while the cloud, the server or the machines themselves fail."""

from __future__ import annotations

import pytest

from tests.engine.scenes import instance_type
from tests.lifecycle.pending import SINGLE, homeless, made, planned, provisioner, sell_out, waiting
from tests.lifecycle.rows import PROVISIONING
from unmoor.model import names


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
