"""Pods that change places make no machine larger than its provisioner's limits have room for."""

from __future__ import annotations

from random import Random

import pytest

from tests.engine import sums
from tests.engine.scenes import instance_type, pod, scene, template
from unmoor.engine.bulk import greedy


@pytest.mark.parametrize("seed", [106, 204, 273, 475, 524, 549, 722])
def test_what_was_counted_against_a_limit_stays_the_largest_that_a_machine_may_become(
    seed: int,
) -> None:
    """In each of these small worlds exchanging pods pays, and the limit is what forbids some."""
    dice = Random(seed)
    types = [
        instance_type(
            f"t{number}",
            cpu=dice.choice((2, 4, 8, 16)),
            memory_gib=dice.choice((2, 4, 8, 16, 32)),
            pods=dice.choice((2, 3, 4)),
            price=dice.choice((1.0, 1.5, 2, 3, 4)),
        )
        for number in range(dice.randint(2, 4))
    ]
    cores, memory = ("1", "2", "3"), ("1Gi", "3Gi", "7Gi", "14Gi")
    pods = [
        pod(f"p{number}", cpu=dice.choice(cores), memory=dice.choice(memory))
        for number in range(dice.randint(2, 8))
    ]
    limit = {"cpu": dice.choice((4, 6, 8, 10, 12, 16, 20, 24)) * 1000}
    on = scene(template(types=types, remaining=limit, limits=limit))

    plan = greedy.solve(on, pods, is_improved=True)

    assert plan.machines
    assert sums.problems(on, plan, pods) == []
