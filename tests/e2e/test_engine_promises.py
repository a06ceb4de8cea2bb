"""Whatever the engine promises, the real kube-scheduler does."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from tests.e2e import engine_machines, engine_mistakes, engine_promises
from tests.e2e.engine_promises import Objects
from tests.e2e.vouching import Court
from unmoor.cloud.catalogue import ec2_types
from unmoor.model.base import JSON
from unmoor.sim.clusters.generator import generate
from unmoor.sim.clusters.mix import Kind, hard

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

SEEDS = range(1, 181)
SEEDS_OF_MACHINES = range(1, 61)
JOINING_EVERY = 3
"""In every third cluster no DaemonSet has its pods yet, as if its nodes had just joined."""
MISTAKES = (
    engine_mistakes.spreads_off_by_one,
    engine_mistakes.forgets_that_anti_affinity_is_symmetric,
    engine_mistakes.forgets_daemon_sets,
    engine_mistakes.ignores_host_ports,
    engine_mistakes.attaches_one_volume_too_many,
    engine_mistakes.reads_no_taints_of_nodes,
)


def cluster(seed: int) -> Objects:
    objects = [body for _, body in generate(hard(seed), ec2_types())]
    return objects if seed % JOINING_EVERY else [one for one in objects if not is_daemon(one)]


def is_daemon(body: JSON) -> bool:
    owners = body["metadata"].get("ownerReferences", ())
    return any(one["kind"] == "DaemonSet" for one in owners)


@pytest.mark.parametrize("seed", SEEDS)
async def test_kube_scheduler_does_what_was_promised(court: Court, seed: int) -> None:
    trial, turns = engine_promises.asked(cluster(seed))

    outcomes = await court.hear(trial)

    assert list(engine_promises.differences(turns, outcomes)) == []


@pytest.mark.parametrize("seed", SEEDS_OF_MACHINES)
async def test_it_does_so_when_nodes_have_gone_and_machines_come(court: Court, seed: int) -> None:
    trial, plan = engine_machines.asked(cluster(seed), ec2_types(), Random(seed))

    outcomes = await court.hear(trial)

    assert [str(one) for one in outcomes if not one.is_kept] == []
    assert len(outcomes) >= len(plan.placements)


@pytest.mark.timeout(300)  # a few clusters at most, but the machine may have much else to do
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.__name__)
async def test_a_mistake_is_found(court: Court, mistake: Callable[[Objects], Objects]) -> None:
    for seed in SEEDS:
        trial, turns = engine_promises.asked(cluster(seed), mistake)
        if any(engine_promises.differences(turns, await court.hear(trial))):
            break
    else:
        pytest.fail("no cluster finds it")


async def test_every_kind_of_constraint_occurs() -> None:
    assert {kind for seed in SEEDS for kind in hard(seed).shares} == set(Kind)
