"""The engine's planted bugs, in the engine of a whole controller.

Must not: reach into unmoor, or know where the bugs are (``tests/engine/planted``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tests.engine import planted
from tests.sim import sabotage
from unmoor.engine.plan import Plan
from unmoor.engine.scene import Scene
from unmoor.engine.solving import Solver
from unmoor.lifecycle import provisioning
from unmoor.lifecycle.step import Step
from unmoor.model.moment import Moment
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View


class Misengineered(sabotage.RowBug):
    """Provisioning asks an engine with a bug."""

    rows_concerned: tuple[str, ...] = ("provisioning",)

    def __init__(self, engine: planted.Engine) -> None:
        """``engine``: a copy of the fast one."""
        self._solver = _Wrong(engine)

    def step(
        self, step: sabotage.StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        known = memory or provisioning.Memory()
        wrong = msgspec.structs.replace(known, solver=self._solver)
        return step(view, key, wrong, moment)


class _Wrong(Solver):
    def __init__(self, engine: planted.Engine) -> None:
        super().__init__()
        self._greedy = engine("bulk.greedy")

    def solve(self, scene: Scene, pods: Iterable[Pod]) -> Plan:
        plan: Plan = self._greedy.solve(scene, pods, is_improved=True)
        return plan
