"""Which kinds the engine looks at is said once, and is so: others rely on it.

Answers are kept while none of those has changed, and checkers of the rehearsals show it no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from tests.builders import machine, node, pod, provisioner
from tests.engine.crowds import Dice, some_pods, some_scene
from tests.engine.pieces import daemon_set
from unmoor.engine import oracle, solving
from unmoor.engine.scene import ASKED_FOR
from unmoor.engine.scenery import MADE_OF, Scenery
from unmoor.model.snapshot import INDEXES, View

SCENES = 40


class Watched(Mapping[str, Any]):
    """Notes which of these are looked at."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.seen: set[str] = set()
        self._tables = tables

    def __getitem__(self, name: str) -> Any:
        self.seen.add(name)
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def watched(view: View) -> tuple[Watched, Watched]:
    """Objects by kind, and indexes by name."""
    objects, indexes = Watched(view._objects), Watched(view._indexes)
    view._objects = objects  # type: ignore[assignment]
    view._indexes = indexes  # type: ignore[assignment]
    return objects, indexes


def kinds_seen(parts: tuple[Watched, Watched]) -> set[str]:
    objects, indexes = parts
    return objects.seen | {one.kind for one in INDEXES if one.name in indexes.seen}


def test_what_a_simulation_asks_its_view_for() -> None:
    seen: set[str] = set()
    for seed in range(SCENES):
        dice = Dice(Random(seed).randbytes(400))
        scene, pods = some_scene(dice), some_pods(dice)
        parts = watched(scene.view)
        plans = (oracle.solve(scene, pods), solving.solve(scene, pods))
        assert dict(plans[0].refused) == dict(plans[1].refused)
        seen |= kinds_seen(parts)

    assert seen == set(ASKED_FOR)


def test_what_a_scene_is_made_of() -> None:
    view = View.of(node("a"), machine("m-a"), pod(on="a"), daemon_set(), provisioner())
    parts = watched(view)
    Scenery().scene_of(view, ())

    assert kinds_seen(parts) == set(MADE_OF)
