"""Bugs that somebody might write into the engine are found, each within as many examples as a test
of the sound engine looks at.

In the fast engine: by the oracle. In the oracle: by what is a fact about kube-scheduler, and where
there is none, as of sums and limits, by sums. (tests/e2e asks kube-scheduler itself.)
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.engine import planted, sums
from tests.engine.crowds import BYTES, Dice, some_pods, some_scene
from tests.engine.planted import (
    APART,
    DAEMONS,
    IN_THE_FAST_ENGINE,
    LIMIT,
    PORT,
    SPREAD,
    VOLUMES,
    Engine,
)
from tests.engine.test_agreement import EXAMPLES, hold_to_the_oracle
from tests.engine.test_facts import fitting
from tests.facts.exceptions import AGREED
from tests.facts.table import FACTS

AT_RANDOM = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    database=None,
)


@pytest.mark.parametrize("bug", IN_THE_FAST_ENGINE)
def test_a_bug_in_the_fast_engine_is_found_by_the_oracle(bug: str, tmp_path: Path) -> None:
    with planted.fast_engine(bug, tmp_path) as engine:
        solve = engine("bulk.greedy").solve

        @AT_RANDOM
        @given(BYTES)
        def look(given_bytes: bytes) -> None:
            hold_to_the_oracle(solve, given_bytes)

        with pytest.raises(AssertionError):
            look()


@pytest.mark.parametrize("bug", [SPREAD, APART, PORT, VOLUMES])
def test_a_bug_in_the_oracle_is_found_by_facts(bug: str, tmp_path: Path) -> None:
    with planted.oracle_of(bug, tmp_path) as engine:
        wrong = [name for name in AGREED if fitting(FACTS[name](), engine) != FACTS[name]().fitting]

    assert wrong


@pytest.mark.parametrize("bug", [DAEMONS, LIMIT])
def test_a_bug_in_the_oracle_is_found_by_sums(bug: str, tmp_path: Path) -> None:
    with planted.oracle_of(bug, tmp_path) as engine, pytest.raises(AssertionError):
        sum_up(engine)


def test_the_sums_of_the_oracle_are_right() -> None:
    sum_up(planted.sound)


def sum_up(engine: Engine) -> None:
    solve = engine("oracle").solve

    @AT_RANDOM
    @given(BYTES)
    def look(given_bytes: bytes) -> None:
        dice = Dice(given_bytes)
        on, pods = some_scene(dice), some_pods(dice)

        assert sums.problems(on, solve(on, pods), pods) == []

    look()
