"""No cycles are looked for while a cluster is listed; afterwards as ever."""

from __future__ import annotations

import asyncio
import gc

import pytest

from tests.runtime.followed import Followed
from tests.runtime.scripted import Slow, passes
from unmoor.app.collecting import FIRST_LISTS_S, settle
from unmoor.model.kinds import NODES
from unmoor.sim.virtual import run


@pytest.mark.parametrize("delay_s", [1.0, FIRST_LISTS_S + 60.0], ids=["quick", "slow"])
def test_the_collector_rests_while_all_is_listed_but_not_for_ever(delay_s: float) -> None:
    followed = Followed()
    followed.api.put("Node", "a")
    followed.api.plan("list", Slow(delay_s))
    frozen = gc.get_freeze_count()

    async def main() -> None:
        follow = asyncio.create_task(followed.informer.run((NODES,)))
        settling = asyncio.create_task(settle(followed.informer))
        await passes(0.5)
        assert not gc.isenabled()
        await settling
        assert gc.isenabled()
        assert asyncio.get_running_loop().time() == min(delay_s, FIRST_LISTS_S)
        follow.cancel()

    run(main())
    assert gc.get_freeze_count() > frozen


def test_whoever_is_stopped_before_leaves_the_collector_at_work() -> None:
    followed = Followed()
    followed.api.plan("list", Slow(5.0))

    async def main() -> None:
        settling = asyncio.create_task(settle(followed.informer))
        await passes(1.0)
        settling.cancel()

    run(main())

    assert gc.isenabled()
