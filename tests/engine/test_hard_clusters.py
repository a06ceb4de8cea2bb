"""The fast engine says what the oracle says of whole clusters, in which much comes together."""

from __future__ import annotations

import pytest

from tests.facts import reading
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine import oracle
from unmoor.engine.bulk import greedy
from unmoor.engine.scenery import scene_of
from unmoor.model.kinds import PODS
from unmoor.sim.clusters.generator import generate
from unmoor.sim.clusters.mix import hard

SEEDS = range(41, 71)
"""Among them are two that have found a mistake which random scenes had not."""


@pytest.mark.parametrize("seed", SEEDS)
def test_both_place_the_waiting_pods_alike(seed: int) -> None:
    view = reading.view_of([body for _, body in generate(hard(seed), ec2_types())])
    waiting = [pod for pod in view.sorted(PODS) if not pod.node_name]
    scene = scene_of(view, ())

    expected, found = oracle.solve(scene, waiting), greedy.solve(scene, waiting)

    assert list(found.placements.items()) == list(expected.placements.items())
    assert found.machines == expected.machines
    assert dict(found.refused) == dict(expected.refused)
