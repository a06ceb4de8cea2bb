"""What a decision returns, and how two of them are joined.

``step(view, key, memory, moment) -> Step``: the one shape that everything which decides has.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from unmoor.lifecycle.effects import AnyEffect, Fact, say_all
from unmoor.model.moment import earliest
from unmoor.policy.verdict import Verdict

M = TypeVar("M")
EFFECTS_MAX = 5_000
"""More effects than this from one step is a bug, not a plan."""


class Step(msgspec.Struct, Generic[M], frozen=True):
    """What to do, what to remember, what to say, and when to look again.

    ``memory`` is typed per reconciler, small, and droppable: losing it may cost time, never
    correctness. ``wake_at`` is a monotonic time; None waits for the next change. ``facts`` are what
    this look has counted, whatever becomes of the effects.
    """

    effects: tuple[AnyEffect, ...] = ()
    memory: M | None = None
    verdicts: tuple[Verdict, ...] = ()
    wake_at: float | None = None
    facts: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        """Hold the limit."""
        if len(self.effects) > EFFECTS_MAX:
            raise ValueError(f"{len(self.effects)} effects in one step, at most {EFFECTS_MAX}")


def join(first: Step[M], second: Step[M]) -> Step[M]:
    """Both steps at once; the second's memory wins where it has one."""
    return Step(
        effects=first.effects + second.effects,
        memory=second.memory if second.memory is not None else first.memory,
        verdicts=first.verdicts + second.verdicts,
        wake_at=earliest(first.wake_at, second.wake_at),
        facts=first.facts + second.facts,
    )


def spoken(*verdicts: Verdict, wake_at: float | None = None) -> Step[Any]:
    """Say this for now, and do nothing else."""
    return Step(effects=say_all(verdicts), verdicts=verdicts, wake_at=wake_at)
