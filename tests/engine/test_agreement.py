"""The fast engine says what the oracle says, on random scenes with every constraint kind.

A few in every test run, always the same; thousands that nobody has seen in `make thorough`. A
failure is kept as a scene that is written out (``kept``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, note, settings

from tests.conftest import THOROUGH
from tests.engine import census, kept
from tests.engine.crowds import BYTES, Dice, some_pods, some_promises, some_scene
from tests.engine.judging import problems
from tests.engine.scenes import (
    WEB,
    instance_type,
    pod,
    required,
    scene,
    template,
    term,
)
from unmoor.engine import oracle
from unmoor.engine.bulk import greedy
from unmoor.engine.plan import Plan
from unmoor.engine.scene import Scene
from unmoor.model.pod import Pod

IS_THOROUGH = settings.get_current_profile_name() == THOROUGH
EXAMPLES = 150
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
SCENES = "scenes"
RARELY = 500
"""Of so many scenes, one at least has any kind that one may name."""


def cases(usual: int) -> int:
    """How many scenes a test looks at."""
    return settings.get_profile(THOROUGH).max_examples if IS_THOROUGH else usual


def drawn(given_bytes: bytes) -> tuple[Scene, list[Pod]]:
    dice = Dice(given_bytes)
    on, pods = some_scene(dice), some_pods(dice)
    return some_promises(dice, on, pods), pods


def test_the_fast_engine_says_what_the_oracle_says() -> None:
    met = Counter[str]()

    @settings(
        max_examples=cases(EXAMPLES),
        deadline=None,
        phases=PHASES,
        suppress_health_check=list(HealthCheck),
    )
    @given(BYTES)
    @example(b"")
    def look(given_bytes: bytes) -> None:
        on, pods = drawn(given_bytes)
        note(kept.written_out(on, pods))
        met.update([SCENES, *hold_scene_to_the_oracle(greedy.solve, on, pods)])

    look()
    assert met[SCENES] >= cases(EXAMPLES)
    if IS_THOROUGH:  # Else there are too few; test_kinds counts then.
        assert census.rare(met, met[SCENES] // RARELY) == {}


def hold_to_the_oracle(solve: Callable[[Scene, list[Pod]], Plan], given_bytes: bytes) -> None:
    hold_scene_to_the_oracle(solve, *drawn(given_bytes))


@pytest.mark.parametrize("name", kept.SCENES)
def test_what_it_once_said_otherwise_it_says_no_more(name: str) -> None:
    hold_scene_to_the_oracle(greedy.solve, *kept.SCENES[name]())


def hold_scene_to_the_oracle(
    solve: Callable[[Scene, list[Pod]], Plan], on: Scene, pods: list[Pod]
) -> set[str]:
    """Return the kinds of constraints that were met."""
    expected = oracle.solve(on, pods)

    found = solve(on, pods)

    assert list(found.placements.items()) == list(expected.placements.items())
    assert found.machines == expected.machines
    assert found.given_up == expected.given_up
    assert dict(found.refused) == dict(expected.refused)
    return census.kinds_in(on, pods, expected)


@settings(
    max_examples=cases(100), deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck)
)
@given(BYTES)
@example(b"")
def test_what_is_improved_is_feasible_and_no_dearer(given_bytes: bytes) -> None:
    on, pods = drawn(given_bytes)
    plain = greedy.solve(on, pods)

    found = greedy.solve(on, pods, is_improved=True)

    assert problems(on, found, pods) == []
    assert set(found.placements) == set(plain.placements)
    assert len(found.machines) == len(plain.machines)
    before, after = plain.price_usd_per_h, found.price_usd_per_h
    assert (before is None) == (after is None), "what is unknown is not free"
    assert before is None or after is None or after <= before + 1e-9
    assert dict(found.refused) == dict(plain.refused)


@settings(
    max_examples=cases(50), deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck)
)
@given(BYTES)
def test_the_oracle_keeps_its_own_rules(given_bytes: bytes) -> None:
    on, pods = drawn(given_bytes)

    assert problems(on, oracle.solve(on, pods), pods) == []


@pytest.mark.parametrize("seed", range(3))
def test_pods_of_different_sizes_change_places_until_their_machines_are_cheaper(seed: int) -> None:
    dice = Random(seed)
    sizes = [(cpu, memory) for cpu in ("100m", "1", "2") for memory in ("256Mi", "2Gi", "4Gi")]
    alone = {"podAntiAffinity": required(term())}
    pods = [pod(f"plain-{at:02}", **_size(dice, sizes)) for at in range(20)]
    pods += [
        pod(f"alone-{at}", labels=WEB, affinity=alone, **_size(dice, sizes)) for at in range(10)
    ]
    types = [
        instance_type(f"t{cpu}", cpu=cpu, memory_gib=2 * cpu, pods=10) for cpu in (1, 2, 4, 8, 16)
    ]
    on = scene(template(types=types))
    plain = greedy.solve(on, pods).price_usd_per_h

    found = greedy.solve(on, pods, is_improved=True)

    assert problems(on, found, pods) == []
    assert found.price_usd_per_h is not None
    assert plain is not None
    assert found.price_usd_per_h < plain


@pytest.mark.parametrize("priced", [(), (2, 8), (1, 2, 4), (16,)])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_exchanged_for_a_price_that_nobody_knows(
    seed: int, priced: tuple[int, ...]
) -> None:
    dice = Random(seed)
    sizes = [(cpu, memory) for cpu in ("100m", "1", "2") for memory in ("256Mi", "2Gi", "4Gi")]
    alone = {"podAntiAffinity": required(term())}
    pods = [pod(f"plain-{at:02}", **_size(dice, sizes)) for at in range(20)]
    pods += [
        pod(f"alone-{at}", labels=WEB, affinity=alone, **_size(dice, sizes)) for at in range(10)
    ]
    types = [
        instance_type(
            f"t{cpu}", cpu=cpu, memory_gib=2 * cpu, pods=10, price=cpu if cpu in priced else None
        )
        for cpu in (1, 2, 4, 8, 16)
    ]
    on = scene(template(types=types))

    found = greedy.solve(on, pods, is_improved=True)

    assert problems(on, found, pods) == []
    if not priced:
        assert found.placements == oracle.solve(on, pods).placements


def _size(dice: Random, sizes: list[tuple[str, str]]) -> dict[str, Any]:
    cpu, memory = dice.choice(sizes)
    return {"cpu": cpu, "memory": memory}
