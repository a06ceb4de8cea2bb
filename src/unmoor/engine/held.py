"""What a pod holds on its node, so that nobody else there may have it: one table of kinds.

Whoever keeps count of what is held, or judges by it, one by one or in bulk, knows no kind.

Must not: know nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from unmoor.engine.disks import disks_of
from unmoor.engine.ports import ports_of
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.model.pod import Pod


class Held(Protocol):
    """One thing that is held; as text, what people call it."""

    @property
    def constraint(self) -> Constraint:
        """What refuses a pod that wants it, too."""

    def collides(self, other: object) -> bool:
        """True when the two cannot be on one node; never for things of another kind."""


KINDS: tuple[Callable[[Pod], tuple[Held, ...]], ...] = (ports_of, disks_of)
"""What there is to hold: for each kind, what a pod holds."""


def held_by(pod: Pod) -> tuple[Held, ...]:
    """Return all that a pod holds wherever it runs."""
    return tuple(one for kind in KINDS for one in kind(pod))


def collisions(wanted: Iterable[Held], taken: Iterable[Held]) -> tuple[Refusal, ...]:
    """Return the first that is taken, if any, of each kind."""
    there = tuple(taken)
    found: dict[Constraint, Refusal] = {}
    for one in wanted:
        if one.constraint not in found and any(one.collides(other) for other in there):
            refusal = Refusal(one.constraint, str(one), "another pod has it")
            found[one.constraint] = refusal
    return tuple(found.values())
