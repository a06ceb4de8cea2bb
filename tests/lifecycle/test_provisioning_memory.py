"""What does provisioning remember from one look to the next?"""

from __future__ import annotations

from tests.lifecycle.pending import planned, waiting
from tests.lifecycle.rows import PROVISIONING
from unmoor.lifecycle.provisioning import Memory


def test_when_nobody_waits_any_more_only_what_is_the_same_next_time_is_kept() -> None:
    world = planned(waiting())
    known = world.memories[PROVISIONING.name, "all"]
    world.put(waiting(on="a"))
    world.settle(PROVISIONING)
    memory = world.memories[PROVISIONING.name, "all"]

    assert memory == Memory(scenery=known.scenery, solver=known.solver)
    assert known != memory
