"""Who crashes in a world is heard: at once by whoever waits for it, at the end by everybody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model.kinds import NODES
from unmoor.model.moment import Moment
from unmoor.runtime.controller import Options
from unmoor.runtime.ports import Page
from unmoor.sim import virtual
from unmoor.sim.actors.actor import Actor, Key
from unmoor.sim.gate import Gate
from unmoor.sim.world import Process, World

SHORT_S = 10.0


class Clumsy(Actor):
    """Trips over the first node."""

    kinds: ClassVar[tuple[str, ...]] = (NODES.kind,)

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        del old, new
        self.mark((kind,))

    async def play(self, key: Key, moment: Moment) -> float | None:
        del moment
        raise ZeroDivisionError(f"tripped over {key[0]}")


class ClumsyWorld(World):
    def cast(self) -> Sequence[Actor]:
        return (Clumsy(self.stage),)


class Broken(Gate):
    """Lists in a way that nobody expects."""

    async def list(self, *_: Any, **__: Any) -> Page[Any]:
        raise ZeroDivisionError("listed")


def test_a_cast_that_crashes_is_heard_at_once() -> None:
    async def live() -> None:
        async with ClumsyWorld(1, cloud=SimulatedCloud, types={}) as world:
            await world.api.create(NODES.ref("a"), {"metadata": {"name": "a"}})
            await world.last()

    with pytest.raises(ExceptionGroup) as caught:
        virtual.run(live())

    assert caught.group_contains(ZeroDivisionError, match="tripped over Node")


def test_an_unmoor_that_crashes_is_heard_when_asked() -> None:
    async def live() -> None:
        async with World(1, cloud=SimulatedCloud, types={}) as world:
            sound = Process(world, Options())
            await sound.start()
            broken = Process(world, Options(identity="other"), api=Broken(world.api))
            await broken.start()
            await world.clock.sleep(SHORT_S)
            sound.check()
            await sound.stop()
            sound.check()
            broken.check()

    with pytest.raises(ExceptionGroup) as caught:
        virtual.run(live())

    assert caught.group_contains(ZeroDivisionError, match="listed")
