"""Amounts that no 64-bit integer holds: whoever asks for them waits, nobody else is affected.

The fast engine keeps amounts as 64-bit rows. Each case is put to it by way of a view, as the API
would tell it, and the oracle must say the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import changed, machine, node, provisioner
from tests.engine.pieces import asking, daemon_set, instance_type, spec_of, view_of, with_spec
from unmoor.engine import oracle, solving
from unmoor.engine.bulk.whatif import WhatIf
from unmoor.engine.plan import Plan
from unmoor.engine.scene import Scene
from unmoor.engine.scenery import scene_of
from unmoor.model.instance import InstanceType
from unmoor.model.pod import Pod

HUGE = ("1e30", "9Ei", "9223372036854775807", "8Ei", "4611686018427387904", "1e400")
GPU = "example.com/gpu"


def pending(name: str, **amounts: str) -> Pod:
    one = asking(builders.pod(name, on=""), **{"cpu": "1", **amounts})
    return changed(one, metadata__uid=f"uid-{name}", status__phase="Pending")


def both(on: Scene, pods: list[Pod]) -> Plan:
    """What the oracle says, and the fast engine must say, too."""
    plan, fast = oracle.solve(on, pods), solving.solve(on, pods)
    assert fast.placements == plan.placements
    assert dict(fast.refused) == dict(plan.refused)
    assert fast.machines == plan.machines
    return fast


def scene(*objects: Any, types: tuple[InstanceType, ...] = (instance_type(),)) -> Scene:
    return scene_of(view_of(*objects), types)


def there(**allocatable: str) -> Any:
    return node("a", allocatable={"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable})


@pytest.mark.parametrize("amount", HUGE)
@pytest.mark.parametrize("resource", ["cpu", "memory", GPU])
def test_a_huge_request_fits_nowhere_and_hinders_nobody(resource: str, amount: str) -> None:
    pods = [pending("huge", **{resource: amount}), pending("usual"), pending("again", memory="1Gi")]
    plan = both(scene(there(), provisioner()), pods)

    assert {name for _, name in plan.refused} == {"huge"}
    assert {name for _, name in plan.placements} == {"usual", "again"}


@pytest.mark.parametrize("amount", HUGE)
def test_a_huge_node_takes_what_can_be_counted(amount: str) -> None:
    on = scene(there(cpu=amount, memory=amount), provisioner())
    pods = [pending(f"p{number}", cpu="1000000", memory="1Ei") for number in range(3)]
    plan = both(on, [*pods, pending("huge", cpu=amount)])

    assert len(plan.placements) == 3
    assert {name for _, name in plan.refused} == {"huge"}


@pytest.mark.parametrize("amount", [*HUGE, "4Ei"])
def test_sums_do_not_wrap_around(amount: str) -> None:
    """Each of the pods there has as much as can be counted: what is left is less than nothing."""
    running = [asking(builders.pod(f"r{number}", on="a"), cpu=amount) for number in range(4)]
    plan = both(scene(there(), *running), [pending("usual")])

    assert not plan.placements


@pytest.mark.parametrize("amount", ["-1", "-1e30", "-9Ei", "-0"])
@pytest.mark.parametrize("resource", ["cpu", "memory", "pods", GPU])
def test_less_than_nothing_takes_nobody(resource: str, amount: str) -> None:
    plan = both(scene(there(**{resource: amount}), provisioner()), [pending("usual")])
    is_enough = amount == "-0" and resource in {"memory", GPU}

    assert bool(plan.machines) is not is_enough


@pytest.mark.parametrize("amount", [2**62 - 1, 2**62, 2**63, 10**30])
def test_huge_types_are_types(amount: int) -> None:
    """A cloud says whole numbers, of any size."""
    huge = instance_type("m.huge", cpu=8)
    vast = InstanceType(
        name=huge.name,
        arch=huge.arch,
        capacity={**huge.capacity, "memory": amount},
        allocatable={**huge.allocatable, "memory": amount},
        offerings=huge.offerings,
        labels=huge.labels,
    )
    limited = with_spec(provisioner(), limits={"memory": "3Ei", "cpu": "100"})
    pods = [pending(f"p{number}", memory="1Ei") for number in range(2)]
    unlimited = both(scene(provisioner(), types=(vast, instance_type())), pods)
    plan = both(scene(limited, types=(vast, instance_type())), pods)

    assert len(unlimited.placements) == 2
    assert not plan.placements


@pytest.mark.parametrize("amount", HUGE)
def test_daemons_and_limits_may_be_huge(amount: str) -> None:
    large = daemon_set("agent", spec_of({"cpu": amount, "memory": amount}))
    limited = with_spec(provisioner(), limits={"cpu": amount, GPU: f"-{amount}"})
    plan = both(scene(there(), machine("m-a"), large, limited), [pending("usual")])

    assert {name for _, name in plan.refused} == {"usual"}


@pytest.mark.parametrize("amount", HUGE)
def test_a_node_may_be_taken_away_from_a_huge_cluster(amount: str) -> None:
    """And put back: the rows are what they were."""
    nodes = [there(cpu=amount), changed(there(cpu=amount), metadata__name="b")]
    running = [asking(builders.pod(f"r{number}", on="a"), cpu="1000") for number in range(2)]
    asked = WhatIf(scene(*nodes, *running))
    plans = [asked.without(["a"])]
    asked.follow(asked.scene)  # It keeps the rows, and forgets what it has answered.
    plans.append(asked.without(["a"]))

    assert plans[0] is not plans[1]
    assert plans[0].placements == plans[1].placements
    assert set(plans[0].placements.values()) == {"b"}
