"""What if these nodes were gone? One scene, turned into rows once and asked thousands of times.

For each question the nodes and their pods are taken out of the rows and the tallies, the pods are
placed by the fast engine, and everything is put back as it was. The answer is that of the oracle on
``Scene.without``.

Must not: decide who is to go, or keep anything that an exception has left half done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from unmoor.engine.bulk import greedy, renewal
from unmoor.engine.bulk.answers import Explainer, answer, once_more
from unmoor.engine.bulk.greedy import Greedy
from unmoor.engine.bulk.hopeful import Lookout, Stuck
from unmoor.engine.bulk.prices import Prices
from unmoor.engine.plan import Plan
from unmoor.engine.scene import Scene, freed_by
from unmoor.model.pod import Pod

PODS_DEPARTED = 20
"""So many pods for each place may have gone before all rows are made anew: that forgets them."""
ANSWERS_MAX = 20_000
"""So many answers are remembered, the latest, about 3 kB each: several for each node."""


class _Compiled(NamedTuple):
    """The rows, and what was found out with them: it goes by their numbers, and goes with them."""

    greedy: Greedy
    prices: Prices
    lookout: Lookout


def is_moved(pod: Pod) -> bool:
    """True when a pod needs another place once its node is gone."""
    return not (pod.is_of_its_node or pod.is_terminal)


class WhatIf:
    """A scene that is asked again and again. Not to be shared between threads."""

    def __init__(
        self,
        scene: Scene,
        moves: Callable[[Pod], bool] = is_moved,
        answers_max: int = ANSWERS_MAX,
    ) -> None:
        """``moves``: which pods of a node that is gone look for another place."""
        self._moves = moves
        self._answers_max = answers_max
        self._compiled: _Compiled | None = None
        self._explaining: tuple[list[Pod], Explainer] | None = None
        self._look(scene)

    def _show(self, scene: Scene) -> None:
        """Ask of this scene; nothing that was answered before holds."""
        self.scene = scene
        self._answers: dict[frozenset[str], Plan] = {}
        self._stuck: dict[str, Stuck | None] = {}

    def _look(self, scene: Scene) -> None:
        """Know what there is in a scene of which nothing is known yet."""
        self._show(scene)
        self._departed: list[Pod] = []
        # A machine that is coming up may have the name of a node that is another's.
        self._rows: dict[str, list[int]] = {}
        for at, place in enumerate(scene.places):
            self._rows.setdefault(place.name, []).append(at)
        self._started = {one.name: one for one in scene.started}
        # A template cannot go: it has no name that anybody asks about.
        self._soft = {getattr(one, "name", "") for one in scene.soft_grounds()}

    def follow(self, scene: Scene) -> None:
        """Ask of this scene from now on.

        Where nothing has changed since the last but which pods are on which nodes, only the rows of
        those nodes are made anew; else all of them, when the next question comes.
        """
        before, found, self._compiled = self.scene, self._compiled, None
        rows = renewal.rows_with_other_pods(before, scene) if found is not None else None
        if found is None or rows is None:
            self._look(scene)
            return
        # What is equal stays the same object: what was found out about it is kept by identity. So
        # is what was found out about pods, which therefore have to stay alive.
        self._show(replace(scene, started=before.started, templates=before.templates))
        news = renewal.news_of(before, scene, rows)
        self._departed += [pod for one in news for pod in one.gone]
        come = [pod for one in news for pod in one.come if self._moves(pod)]
        is_small = len(self._departed) <= PODS_DEPARTED * len(scene.places)
        if is_small and renewal.covers(found.greedy, come):
            counts = renewal.renew(found.greedy, self.scene, news)
            found.lookout.follow(found.greedy, rows, counts)
            self._compiled = found
        else:
            self._departed = []

    @property
    def is_ready(self) -> bool:
        """True when the next question needs no rows to be made first."""
        return self._compiled is not None

    def moved(self, gone: Collection[str]) -> list[Pod]:
        """Return the pods that look for a place when these are gone."""
        rows = self._rows_of(gone)
        return [pod for at in rows for pod in self.scene.places[at].pods if self._moves(pod)]

    def without(self, gone: Collection[str]) -> Plan:
        """Return where the pods of these places go when they are gone.

        ``gone``: names of places and started machines; others change nothing. Never raises for
        what an API object says. The same question gets the very same answer.
        """
        asked = frozenset(name for name in gone if name in self._rows or name in self._started)
        plan = self._answers.get(asked)
        if plan is not None:
            return once_more(plan)
        while len(self._answers) >= self._answers_max:
            del self._answers[next(iter(self._answers))]
        plan = self._answers[asked] = self._answer(asked)
        return plan

    def hopeless(self, names: Iterable[str]) -> dict[str, Stuck]:
        """Return which of these places certainly cannot go, each by itself, and what keeps it.

        Found for all of them at once, and remembered: where ``without`` would leave a pod without
        a place, for reasons that no order of placing changes. Not every such place is found.
        """
        named = list(names)
        new = {
            name: self._rows[name][0]
            for name in named
            if name not in self._stuck and self._is_one_place(name)
        }
        if new:
            with self._in_use() as (compiled, _, lookout):
                for name, at in new.items():
                    if not lookout.knows(at):
                        lookout.add(compiled, at, self.moved((name,)))
                stuck = lookout.look(compiled, new.values())
            self._stuck |= {name: stuck.get(at) for name, at in new.items()}
        kept = ((name, self._stuck.get(name)) for name in named)
        return {name: stuck for name, stuck in kept if stuck is not None}

    def _rows_of(self, gone: Iterable[str]) -> list[int]:
        return sorted(at for name in set(gone) for at in self._rows.get(name, ()))

    def _is_one_place(self, name: str) -> bool:
        return len(self._rows.get(name, ())) == 1 and name not in self._started

    def _answer(self, gone: frozenset[str]) -> Plan:
        pods = self.moved(gone)
        if self._are_last_soft(gone):
            return greedy.solve(self.scene.without(gone), pods)
        with self._in_use() as (compiled, prices, _):
            return self._asked(compiled, prices, gone, pods)

    @contextmanager
    def _in_use(self) -> Iterator[_Compiled]:
        """The rows, made if need be; what an exception leaves half done is not used again."""
        found, self._compiled = self._compiled, None
        if found is None:
            compiled = Greedy(self.scene, [])
            found = _Compiled(compiled, Prices(compiled.types), Lookout())
        yield found
        self._compiled = found

    def _are_last_soft(self, gone: frozenset[str]) -> bool:
        """With them goes the reason for which a pod may give up its dislike of soft taints."""
        return bool(self._soft) and gone.issuperset(self._soft)

    def _asked(
        self, compiled: Greedy, prices: Prices, gone: frozenset[str], pods: list[Pod]
    ) -> Plan:
        rows = self._rows_of(gone)
        compiled.ground.take_away(rows)
        compiled.begin(pods, gone)
        for place in (self.scene.places[at] for at in rows):
            self._free(compiled, place.provisioner, place.capacity)
        for name in sorted(gone & self._started.keys()):
            self._free(compiled, self._started[name].provisioner, self._started[name].capacity)
        compiled.run()
        plan = answer(compiled, prices, partial(self._explained, self.scene, gone, pods))
        compiled.undo()
        return plan

    def _explained(self, scene: Scene, gone: frozenset[str], pods: list[Pod]) -> Explainer:
        """Who knows the reasons for one question: a simulation of its own, kept till the next."""
        known = self._explaining
        if known is None or known[0] is not pods:
            compiled = Greedy(scene.without(gone), pods)
            compiled.begin(pods)
            compiled.run()
            known = self._explaining = (pods, Explainer(compiled))
        return known[1]

    def _free(self, compiled: Greedy, provisioner: str, capacity: Mapping[str, int]) -> None:
        left = compiled.remaining.get(provisioner)
        if left:
            compiled.remaining[provisioner] = freed_by(left, [capacity])
