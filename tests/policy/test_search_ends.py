"""A search ends by what it has done, not by a clock, and with what it has found (11.6, R46)."""

from __future__ import annotations

import pytest

from tests.policy.test_multi_node import ordered
from tests.policy.underused import LARGE, SMALL, going, look, node, pod, proposed
from unmoor.policy.look import Look
from unmoor.policy.multi_node import bisected
from unmoor.policy.room import Room
from unmoor.policy.set_search import Purse, best_sets
from unmoor.policy.verdict import Reason


def twenty() -> Look:
    """Twenty nodes with a small pod each: nineteen could go."""
    names = [f"n{number:02}" for number in range(20)]
    pods = [pod(f"web{name}-1", name, "10m") for name in names]
    return look(*(node(name, SMALL) for name in names), *pods)


@pytest.mark.parametrize(("placed", "gone"), [(10, 0), (11, 11), (27, 16), (1000, 19)])
def test_t033_a_search_that_may_not_go_on_ends_with_what_it_has(placed: int, gone: int) -> None:
    asked = twenty()
    candidates = ordered(asked)
    assert asked.simulation is not None
    room = Room(asked.simulation, candidates)

    found = bisected(asked, candidates, room, Purse(placed))

    assert (0 if found is None else len(found.nodes)) == gone


def test_so_do_the_searches_for_sets() -> None:
    asked = twenty()
    candidates = ordered(asked)
    assert asked.simulation is not None
    room = Room(asked.simulation, candidates)
    sizes = [
        max(
            (len(one.nodes) for one in best_sets(asked, room, candidates, Purse(placed))), default=0
        )
        for placed in (5, 20, 1000)
    ]

    assert sizes == sorted(sizes)
    assert sizes[0] == 0
    assert sizes[1] >= 2


def test_t034_each_node_is_looked_at_in_every_pass_and_all_stay_where_none_can_go() -> None:
    names = [f"n{number:02}" for number in range(25)]
    pods = [pod(f"web{name}-1", name, "20") for name in names]
    proposal = proposed(*(node(name, LARGE) for name in names), *pods)

    assert going(proposal) == []
    assert [one.subject.name for one in proposal.verdicts] == names
    assert {one.reason for one in proposal.verdicts} == {Reason.NOT_CHEAPER}
