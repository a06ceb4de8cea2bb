"""How large may the sets of a Deployment be next? Its strategy, as arithmetic (API reference).

One call is one step: a new template's set grows into the room that ``maxSurge`` leaves, and earlier
ones shrink by what ``maxUnavailable`` lets be missed, first by pods that are not ready anyway. The
caller asks again when something has changed. What it does not know: pods that must be ready for a
while, deadlines, and a new size spread over several sets.

Must not: read or write anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from unmoor.model.base import JSON
from unmoor.sim.actors.owners import scaled

USUAL = "25%"
"""Both bounds, where nothing is said."""


class Bounds(NamedTuple):
    """In pods: how many more than asked for there may be, and how many fewer available."""

    surge: int
    unavailable: int
    is_recreate: bool = False
    """All pods of earlier templates are gone before the first new one is made."""


class Standing(NamedTuple):
    """One set: the size it has been given, and how many of these pods are available."""

    name: str
    size: int
    available: int


def bounds(strategy: JSON, wanted: int) -> Bounds:
    """What a Deployment's ``spec.strategy`` means for so many pods."""
    if strategy.get("type") == "Recreate":
        return Bounds(0, wanted, is_recreate=True)
    rolling = strategy.get("rollingUpdate") or {}
    surge = _rounded(rolling.get("maxSurge"), wanted, is_up=True)
    unavailable = _rounded(rolling.get("maxUnavailable"), wanted, is_up=False)
    if not surge and not unavailable:
        unavailable = 1  # else nothing could ever move
    return Bounds(surge, min(unavailable, wanted))


def newest_size(wanted: int, limits: Bounds, size: int, olds: Sequence[Standing]) -> int:
    """The next size of the newest set, which has ``size`` now (0: it is not there yet)."""
    if size >= wanted:
        return wanted
    room = wanted + limits.surge - size - sum(old.size for old in olds)
    return size + min(wanted - size, max(room, 0))


def old_sizes(
    wanted: int, limits: Bounds, newest: Standing, olds: Sequence[Standing]
) -> dict[str, int]:
    """The next sizes of earlier sets, oldest first in ``olds``; only those that change."""
    least = wanted - limits.unavailable
    everybody = newest.size + sum(old.size for old in olds)
    spare = everybody - least - (newest.size - newest.available)
    sizes = {old.name: old.size for old in olds}
    for old in olds:
        idle = min(old.size - old.available, max(spare, 0))
        sizes[old.name] -= idle
        spare -= idle
    spare = min(spare, newest.available + sum(old.available for old in olds) - least)
    for old in olds:
        taken = min(sizes[old.name], max(spare, 0))
        sizes[old.name] -= taken
        spare -= taken
    return {old.name: sizes[old.name] for old in olds if sizes[old.name] != old.size}


def _rounded(value: Any, wanted: int, *, is_up: bool) -> int:
    """A number of pods; of percentages, more pods are rounded up, missing ones down."""
    value = USUAL if value is None else value
    if is_up or isinstance(value, int):
        return max(scaled(value, wanted), 0)
    return scaled(value, 100 * wanted) // 100
