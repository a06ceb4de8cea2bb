"""How conditions are written: built, merged, rolled up, and patched only when something changed.

A condition's lastTransitionTime moves only with its status (R5), so a machine whose launch fails
for one reason after another does not get its fifteen minutes again.

Must not: decide whether a condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from unmoor.lifecycle.effects import Fact, Patch, set_conditions, with_condition
from unmoor.model.base import Condition
from unmoor.model.machine import LIVING_CONDITIONS, READY, Machine
from unmoor.model.moment import Moment


def true(kind: str, reason: str = "", message: str = "") -> Condition:
    """A condition that holds."""
    return Condition(type=kind, status="True", reason=reason or kind, message=message)


def false(kind: str, reason: str, message: str = "") -> Condition:
    """A condition that does not hold, and why."""
    return Condition(type=kind, status="False", reason=reason, message=message)


def update(
    machine: Machine,
    *new: Condition,
    moment: Moment,
    removed: Iterable[str] = (),
    status: dict[str, Any] | None = None,
    facts: tuple[Fact, ...] = (),
) -> tuple[Patch, ...]:
    """Return the patch that brings these conditions about, () when they are so already."""
    before = machine.status.conditions
    after = merged(before, new, removed=removed, moment=moment)
    if after == before and not status:
        return ()
    patch = set_conditions(machine, after, status)
    return (msgspec.structs.replace(patch, facts=facts),)


def merged(
    before: tuple[Condition, ...],
    new: Iterable[Condition],
    *,
    moment: Moment,
    removed: Iterable[str] = (),
) -> tuple[Condition, ...]:
    """Return the conditions with some replaced and some removed, and Ready as it follows."""
    gone = frozenset(removed)
    after = tuple(one for one in before if one.type not in gone)
    changed = tuple(new)
    for one in changed:
        after = with_condition(after, one, moment.wall)
    if any(one.type in LIVING_CONDITIONS for one in changed):
        after = with_condition(after, _ready(after), moment.wall)
    return after


def _ready(conditions: tuple[Condition, ...]) -> Condition:
    """Spec 1.2: True only when all three living conditions are."""
    known = {one.type: one for one in conditions}
    for kind in LIVING_CONDITIONS:
        one = known.get(kind)
        if one is None or not one.is_true:
            return false(READY, one.reason if one else "Unknown", f"{kind} is not True")
    return true(READY)
