"""Whose cordon is it? Only one that came with what is under way is ours to take back (R27)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import node, pod
from tests.lifecycle.rows import DEPROVISIONING
from tests.lifecycle.test_deprovisioning import command, empties, reasons
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase
from unmoor.policy.verdict import Reason


def test_r27_a_cordon_that_a_person_set_after_taking_ours_away_stays() -> None:
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.change(world.view.node("a"), spec__unschedulable=False)
    assert Reason.CANCELLED_BY_UNCORDON in reasons(world)  # and written down

    world.change(world.view.node("a"), spec__unschedulable=True)
    world.run(DEPROVISIONING, for_s=3)
    left = world.view.node("a")

    assert left is not None
    assert (left.is_cordoned, left.disruption, left.is_cordoned_by_us) == (True, "", False)
    assert names.CORDONED not in left.metadata.annotations


def test_r30_what_is_left_out_is_let_go_while_the_others_still_go() -> None:
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.put(pod(on="a"))
    world.run(DEPROVISIONING, for_s=20)  # nobody drains b
    left, going = world.view.node("a"), world.view.node("b")

    assert command(world).phase is DisruptionPhase.DELETING
    assert left is not None
    assert (left.is_cordoned, left.disruption, left.is_deleting) == (False, "", False)
    assert going is not None
    assert going.is_deleting


@pytest.mark.parametrize(
    ("claim", "given", "is_ours"),
    [
        ("emptiness-1", {"disruption": "emptiness-1"}, True),
        ("emptiness-1", {"is_cordoned": True}, False),
        ("emptiness-1", {"is_cordoned": True, "disruption": "emptiness-2"}, False),
        ("termination", {"is_cordoned": True, "deleted_at": builders.NOW}, True),
        ("termination", {"deleted_at": builders.NOW}, False),
        ("drain", {"is_cordoned": True}, False),
        ("", {"is_cordoned": True}, False),
    ],
)
def test_r27_whose_cordon_it_is(claim: str, given: Any, *, is_ours: bool) -> None:
    marks = {names.CORDONED: claim} if claim else {}

    assert node(**given, annotations=marks).is_cordoned_by_us is is_ours
