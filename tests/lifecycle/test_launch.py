"""A launch attempt's number: what somebody has written there, and what makes it a new one."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import instance, machine
from tests.lifecycle.driver import World
from tests.lifecycle.rows import MACHINE
from unmoor.lifecycle import launch
from unmoor.lifecycle.effects import Launch, Patch
from unmoor.model import names
from unmoor.model.machine import Machine
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind
from unmoor.model.snapshot import View


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


def decided(seen: Machine, now: Machine) -> tuple[World, Patch]:
    """What a process that has seen ``seen`` writes, in a world in which it is ``now``."""
    world = World(now)
    answer = Answer(world.moment, instance())
    view = View.of(seen, identity=builders.IDENTITY)
    view._answers[Asked.LAUNCH][f"{seen.uid}-1"] = answer
    [patch] = launch.advance(view, seen, 0, world.moment).effects
    assert isinstance(patch, Patch)
    world.change(world.view.machine(now.name))
    return world, patch


def test_an_older_number_never_takes_the_place_of_a_newer() -> None:
    """A process that is behind has seen no number yet, and another has got on to the second."""
    world, patch = decided(
        machine(is_new=True), machine(is_new=True, annotations={names.LAUNCH_ATTEMPT: "2"})
    )
    problem = world.act(patch)

    assert patch.body == {"metadata": {"annotations": {names.LAUNCH_ATTEMPT: "1"}}}
    assert problem is not None
    assert problem.kind is ProblemKind.CONFLICT


def test_a_label_that_has_come_in_the_meantime_stays() -> None:
    first = {names.LAUNCH_ATTEMPT: "1"}
    world, patch = decided(
        machine(is_new=True, annotations=first),
        machine(is_new=True, annotations=first, labels={names.ZONE: "theirs"}),
    )
    problem = world.act(patch)

    assert names.ZONE in patch.body["metadata"]["labels"]
    assert problem is not None
    assert problem.kind is ProblemKind.CONFLICT
