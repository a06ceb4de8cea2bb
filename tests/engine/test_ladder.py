"""The price of the first type that has room is the one that trying them in turn finds."""

from __future__ import annotations

from math import inf
from random import Random

import numpy as np
import pytest

from unmoor.engine.bulk.prices import Ladder


def tried_in_turn(rooms: list[list[int]], costs: list[float], row: list[int]) -> float:
    for room, cost in zip(rooms, costs, strict=True):
        if all(has >= asked for has, asked in zip(room, row, strict=True)):
            return cost
    return inf


@pytest.mark.parametrize("seed", range(20))
def test_types_that_are_dearer_and_smaller_are_no_obstacle(seed: int) -> None:
    dice = Random(seed)
    rooms = [[dice.randint(0, 9) for _ in range(3)] for _ in range(dice.randint(1, 12))]
    costs = sorted(float(dice.randint(1, 9)) for _ in rooms)
    rows = [[dice.randint(0, 10) for _ in range(3)] for _ in range(50)]

    found = Ladder(np.array(rooms), np.array(costs)).costs_of(np.array(rows))

    assert found.tolist() == [tried_in_turn(rooms, costs, row) for row in rows]


def test_without_types_there_is_no_price() -> None:
    ladder = Ladder(np.zeros((0, 3), dtype=np.int64), np.zeros(0))

    assert ladder.costs_of(np.array([[1, 1, 1], [0, 0, 0]])).tolist() == [inf, inf]
