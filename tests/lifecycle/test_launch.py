"""A launch attempt's number: what somebody has written there, and what makes it a new one."""

from __future__ import annotations

import pytest

from tests.builders import machine
from tests.lifecycle.driver import World
from tests.lifecycle.rows import MACHINE
from unmoor.lifecycle.effects import Launch
from unmoor.model import names
from unmoor.model.observation import Problem, ProblemKind


@pytest.mark.parametrize(
    "written", ["abc", "-1", " 1", "1.5", "\u00b2", "\u0663", "9" * 5000, "../.."]
)
def test_what_is_no_number_counts_from_the_start(written: str) -> None:
    world = World(machine(is_new=True, annotations={names.LAUNCH_ATTEMPT: written}))
    world.launch_problems = [Problem(ProblemKind.FAILED, "no")]
    world.run(MACHINE, for_s=5)

    tokens = [effect.request.token for effect in world.done(Launch)]
    assert tokens == [f"uid-machine-m-a-{written}", "uid-machine-m-a-1"]
    found = world.view.machine("m-a")
    assert found is not None
    assert found.is_launched


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        (ProblemKind.UNKNOWN, ["uid-machine-m-a-1", "uid-machine-m-a-1"]),
        (ProblemKind.TOO_MANY_REQUESTS, ["uid-machine-m-a-1", "uid-machine-m-a-1"]),
        (ProblemKind.FAILED, ["uid-machine-m-a-1", "uid-machine-m-a-2"]),
    ],
)
def test_what_says_nothing_about_an_attempt_is_asked_again_under_its_token(
    kind: ProblemKind, tokens: list[str]
) -> None:
    world = World(machine(is_new=True))
    world.launch_problems = [Problem(kind, "no")]
    world.run(MACHINE, for_s=5)

    assert [effect.request.token for effect in world.done(Launch)] == tokens
