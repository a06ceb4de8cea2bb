"""Twenty worlds in every test run; ``unmoor swarm`` lives through as many as one likes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

from tests.sim import sabotage
from unmoor.policy.methods import METHODS
from unmoor.sim import methods
from unmoor.sim.acts import ACTS
from unmoor.sim.demands import BOOTS, GREEN, LOGS, SHORTAGES, WISHES, Demands
from unmoor.sim.draws import API_FAULTS, CLOUD_FAULTS, FAULTS_LEAST, HABITS, MISCHIEF, draw
from unmoor.sim.mischief import HAPPENS
from unmoor.sim.swarm import SeedResult

SEEDS = range(1, 21)
SEED_COMPARED = 11
TRACE = """
from tests.sim import sabotage
print(sabotage.play({seed}, 1.0).trace_hash)
"""


@cache
def lived(seed: int) -> SeedResult:
    """An hour of a world."""
    return sabotage.play(seed, hours=1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_rule_is_broken_and_all_settles(seed: int) -> None:
    result = lived(seed)

    assert result.ok, f"{result.summary}\n{result.story}"


def test_the_same_seed_is_the_same_story_whatever_the_hash_seed() -> None:
    first, second = (_trace(seed) for seed in ("1", "4242"))

    assert first == second
    assert len(first) == 64


def _trace(hash_seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    code = TRACE.format(seed=SEED_COMPARED)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.split()[-1]  # what was logged stands before it, with the time of day


def test_different_seeds_are_different_worlds() -> None:
    draws = [draw(seed, sorted(sabotage.TYPES_BY_NAME)) for seed in range(1, 201)]

    assert len({tuple(list(one.lines())[1:]) for one in draws}) == len(draws)


def test_every_world_is_as_big_and_as_hard_as_promised() -> None:
    for seed in range(1, 201):
        drawn = draw(seed, sorted(sabotage.TYPES_BY_NAME))

        assert 5 <= len(drawn.machines) <= 9
        assert drawn.foreign >= 1
        assert len(drawn.faults) >= FAULTS_LEAST


def test_every_fault_and_every_habit_is_drawn_by_some_seed() -> None:
    draws = [draw(seed, sorted(sabotage.TYPES_BY_NAME)) for seed in range(1, 201)]

    faults = {fault for one in draws for fault in one.faults}
    habits = {habit for one in draws for habit, _ in one.habits}

    assert faults == {
        *(f"api {name}" for name in API_FAULTS),
        *(f"cloud {name}" for name in CLOUD_FAULTS),
        *MISCHIEF,
    }
    assert habits == set(HABITS)


def test_a_third_of_the_worlds_is_about_provisioning_and_has_all_of_it() -> None:
    draws = [draw(seed, sorted(sabotage.TYPES_BY_NAME)) for seed in range(1, 201)]

    hard = [one for one in draws if one.demands != Demands()]
    wishes = {wish for one in hard for some in one.demands.wishes.values() for wish in some}
    short = {shortage.what for one in hard for shortage in one.demands.shortages}
    apps = {ref.name for one in hard for ref, _ in one.apps}
    owners = {ref.name for one in hard for ref, _ in one.provisioners}

    assert 50 <= len(hard) <= 85
    assert wishes == set(WISHES)
    assert short == set(SHORTAGES)
    assert {one.demands.boot_s for one in hard} == set(BOOTS)
    assert LOGS in apps
    assert GREEN in owners


def test_all_that_can_be_drawn_can_be_done() -> None:
    assert set(ACTS) == set(HABITS)
    assert set(HAPPENS) == set(MISCHIEF)


def test_the_checkers_know_every_method() -> None:
    rows = [row.method for row in METHODS]

    assert sorted(methods.METHODS) == sorted(rows), "each method has a row in sim/methods.py"


@pytest.mark.parametrize("method", [row.method for row in METHODS])
def test_every_method_is_drawn_and_acts(method: str) -> None:
    asks = methods.METHODS[method].asks
    drawn = [
        seed
        for seed in SEEDS
        if any(asks(body) for _, body in draw(seed, sorted(sabotage.TYPES_BY_NAME)).provisioners)
    ]

    assert drawn, f"sim/draws.py draws no Provisioner whose nodes go by {method}"
    assert any(method in lived(seed).methods for seed in drawn), f"no node goes by {method}"


def test_a_method_that_nobody_knows_is_a_breach() -> None:
    result = sabotage.play(1, 1.0, sabotage.MethodRenamed())

    assert result.rule == "a-command-is-asked-for"
    assert "sim/methods.py" in result.summary


def test_a_broken_rule_tells_its_story() -> None:
    result = sabotage.play(1, 0.2, sabotage.FinalizerRemovedFirst())

    assert not result.ok
    assert "the-finalizer-holds" in result.summary
    assert "--- unmoor-a" in result.story
    assert "termination" in result.story
    assert "faults:" in result.story
