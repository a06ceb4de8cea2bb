"""The fast engine says what the oracle says, on random scenes with every constraint kind."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tests.engine.crowds import Dice, some_pods, some_scene
from unmoor.engine import oracle
from unmoor.engine.bulk import greedy

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)


@settings(max_examples=150, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(st.binary(min_size=0, max_size=400))
@example(b"")
def test_the_fast_engine_says_what_the_oracle_says(given_bytes: bytes) -> None:
    dice = Dice(given_bytes)
    on, pods = some_scene(dice), some_pods(dice)
    expected = oracle.solve(on, pods)

    found = greedy.solve(on, pods)

    assert list(found.placements.items()) == list(expected.placements.items())
    assert found.machines == expected.machines
    assert found.given_up == expected.given_up
    assert dict(found.refused) == dict(expected.refused)
