"""Rows that have followed a scene are those that would be made of it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.engine.crowds import Dice
from tests.engine.test_whatif import a_full_scene, everybody, with_other_pods
from unmoor.engine.bulk.greedy import Greedy
from unmoor.engine.bulk.whatif import WhatIf
from unmoor.engine.scene import differing


def rows_of(compiled: Greedy, columns: tuple[str, ...]) -> list[Any]:
    """What there is of each node, in these columns; in others nobody asks or has anything."""
    ground = compiled.ground
    at = [compiled.columns.index(one) for one in columns]
    people = {
        repr((person.sample.namespace, person.sample.metadata.labels, person.held)): dict(
            zip(nodes.tolist(), times.tolist(), strict=True)
        )
        for person, nodes, times in ground.people.values()
        if len(nodes)
    }
    return [
        ground.free[:, at].tolist(),
        ground._free_at_first[:, at].tolist(),
        ground._is_overdrawn.tolist(),
        ground.is_open.tolist(),
        [vars(site) for site in ground.standing],
        people,
    ]


def names_claimed(compiled: Greedy) -> list[bool]:
    """Which of some claims are in use."""
    claims = ("waiting", "mine", "here", "data", "shared")
    return [compiled.ground.is_claimed("default", one) for one in claims]


@pytest.mark.parametrize("seed", range(60))
def test_rows_that_followed_are_as_new(seed: int) -> None:
    dice = Dice(Random(seed).randbytes(3000))
    on = a_full_scene(dice)
    asked = WhatIf(on, everybody)
    for _ in range(4 if on.places else 0):
        asked.without((on.places[0].name,))
        if asked._compiled is not None:
            names_claimed(asked._compiled[0])
        on = with_other_pods(on, dice)
        asked.follow(on)
        if asked._compiled is not None:
            followed, new = asked._compiled[0], Greedy(on, [])

            assert rows_of(followed, new.columns) == rows_of(new, new.columns)
            assert names_claimed(followed) == names_claimed(new)


@pytest.mark.parametrize("seed", range(20))
def test_who_is_in_one_only_differs(seed: int) -> None:
    dice = Random(seed)
    one = tuple(range(dice.randrange(6)))
    other = tuple(at for at in (*one, 7, 8) if dice.random() < 0.6)
    pods: Any = {at: object() for at in range(9)}
    before, after = differing(tuple(pods[at] for at in one), tuple(pods[at] for at in other))

    assert {id(pod) for pod in before} ^ {id(pod) for pod in after} == {
        id(pods[at]) for at in set(one) ^ set(other)
    }
    assert not before or not after or (before[0] is not after[0] and before[-1] is not after[-1])
