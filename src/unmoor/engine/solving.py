"""Where do these pods go, and with which machines? The one question that others ask the engine.

The fast engine answers, with machines made cheaper where that is in nobody's way. numpy is loaded
when the first question comes, not before.

Must not: know how.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import TYPE_CHECKING, NamedTuple

from unmoor.engine.plan import Plan
from unmoor.engine.scene import Scene, is_same
from unmoor.model.pod import Pod

if TYPE_CHECKING:
    from unmoor.engine.bulk.shapes import Market


class Solver:
    """Answers, and keeps the last answer for as long as the question is the same.

    Dropping it costs time only. Not to be used by two threads at a time.
    """

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._market: Market | None = None
        self._last: _Answered | None = None

    def rest(self) -> None:
        """Let the last view go, as nobody will ask for a while: an old view grows with time."""
        self._last = None

    def solve(self, scene: Scene, pods: Iterable[Pod]) -> Plan:
        """Return a plan that the oracle finds feasible, and that costs no more than the oracle's.

        Never raises for what an API object says: a pod that means nothing is refused by field and
        value, and no other pod is planned differently for it.
        """
        from unmoor.engine.bulk import answers, greedy, shapes  # noqa: PLC0415 - numpy takes a tenth of a second

        last, self._last = self._last, None
        asked = tuple(pods)
        if last is not None and last.is_of(scene, asked):
            plan = answers.once_more(last.plan)
        else:
            self._market = self._market or shapes.Market()
            plan = greedy.solve(scene, asked, is_improved=True, market=self._market)
        self._last = _Answered(scene, asked, plan)
        return plan


class _Answered(NamedTuple):
    """A question and its answer."""

    scene: Scene
    pods: tuple[Pod, ...]
    plan: Plan

    def is_of(self, scene: Scene, pods: tuple[Pod, ...]) -> bool:
        """True when the question is the same."""
        is_alike = len(self.pods) == len(pods) and all(map(is_, self.pods, pods))
        return is_alike and is_same(scene, self.scene)


def solve(scene: Scene, pods: Iterable[Pod]) -> Plan:
    """Answer once (see :meth:`Solver.solve`)."""
    return Solver().solve(scene, pods)
