"""Reasons are worked out once for equal pods, and not without end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.scenes import TYPES, place, pod, scene, some, template
from unmoor.engine import oracle
from unmoor.engine.bulk.answers import PROVISIONER_LOOKS, Explainer, Reasons
from unmoor.engine.bulk.greedy import Greedy
from unmoor.model.pod import Pod

OF_NODES = 4
OF_OFFERS = PROVISIONER_LOOKS + len(TYPES)
EACH = OF_NODES + OF_OFFERS
"""So many looks for each reason."""


def reasons(pods: list[Pod], looks_max: int) -> Reasons:
    """Why these have no place on two nodes with a pod each, nor on a new one."""
    on = scene(place("a", "", pod("there-a")), place("b", "", pod("there-b")), template())
    greedy = Greedy(on, pods)
    greedy.begin(pods)
    greedy.run()
    plan = oracle.solve(on, pods)
    found = Reasons(plan.refused, Explainer(greedy).itself, looks_max)
    assert [one for one in found if found[one] and found[one] != plan.refused[one]] == []
    return found


def test_equal_pods_share_a_reason() -> None:
    found = reasons(some(50, cpu="1000"), EACH)

    assert len({id(found[key]) for key in found}) == 1
    assert all(found.values())


def test_when_too_many_were_asked_for_the_others_are_left_for_later() -> None:
    different = [pod(f"p{number}", cpu=f"{1000 + number}") for number in range(5)]
    broken = pod("broken", cpu="-1")
    found = reasons([*different, broken], 2 * EACH)

    assert sum(not one for one in found.values()) == 3
    assert found[broken.key]


def test_the_first_is_worked_out_whatever_it_takes() -> None:
    found = reasons([pod("one", cpu="1000"), pod("two", cpu="2000")], 1)

    assert sorted(map(bool, found.values())) == [False, True]


@pytest.mark.parametrize("provisioners", [1, 3])
@pytest.mark.parametrize(
    ("wants", "each"),
    [
        pytest.param({"cpu": "1000"}, PROVISIONER_LOOKS + len(TYPES), id="all types"),
        pytest.param({"nodeSelector": {"team": "web"}}, PROVISIONER_LOOKS, id="none at all"),
    ],
)
def test_what_provisioners_say_takes_as_long_as_there_are_types(
    wants: Any, each: int, provisioners: int
) -> None:
    on = scene(*(template(f"p{number}") for number in range(provisioners)))
    greedy = Greedy(on, [hopeless := pod("p", **wants)])
    greedy.begin([hopeless])
    greedy.run()

    assert Explainer(greedy).looks(hopeless.key) == provisioners * each
