"""Which pods may be on a tainted node, and which taints are the same.

A taint is identified by key and effect; its value does not make it another taint, because the API
server refuses two of them on one node (API reference: Node.spec.taints).

Must not: know nodes or pods. Values are judged by :mod:`unmoor.model.validation`, so any text
decodes here; a toleration with an operator that nobody knows simply tolerates nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from unmoor.model import names
from unmoor.model.base import Struct

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"
EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)

KEEPS_OUT = (NO_SCHEDULE, NO_EXECUTE)
"""The effects that a pod must tolerate in order to be placed."""

EXISTS = "Exists"
GREATER = "Gt"
LESS = "Lt"

INT64_MAX = 2**63 - 1
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


class Taint(Struct):
    """A mark on a node that keeps pods away (API reference: core/v1 Taint)."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """(key, effect): what makes two taints the same."""
        return (self.key, self.effect)

    def __str__(self) -> str:
        """``key=value:effect``, as kubectl writes it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else self.identity_text

    @property
    def identity_text(self) -> str:
        """``key:effect``, the taint without its value."""
        return f"{self.key}:{self.effect}"


class Toleration(Struct):
    """What a pod puts up with (API reference: core/v1 Toleration). ``operator`` "" means Equal."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


GOING_SOON = Taint(key=names.GOING_SOON, value=names.TRUE, effect=PREFER_NO_SCHEDULE)
"""Ours, on nodes that are to go soon. With another value it is a person's."""


def is_going_soon(one: Taint) -> bool:
    """True for our own mark of a node that is to go soon, whenever it was set."""
    return one.identity == GOING_SOON.identity and one.value == GOING_SOON.value


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """True when the toleration covers the taint, for however long.

    An empty key or effect covers every key or effect. Gt and Lt compare the *taint's* value with
    the toleration's as 64-bit integers; a value that is no integer is not tolerated (Kubernetes
    1.35 and later, behind the gate TaintTolerationComparisonOperators: where the gate is off, the
    server refuses such pods, so there is nothing to switch here).
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            return _compares(toleration.operator, toleration.value, taint.value)
        case _:
            return False


def first_untolerated(
    tolerations: Iterable[Toleration],
    taints: Iterable[Taint],
    *,
    effects: tuple[str, ...] = KEEPS_OUT,
) -> Taint | None:
    """Return the first taint with one of ``effects`` that nothing covers: the witness of a no."""
    known = tuple(tolerations)
    for taint in taints:
        if taint.effect in effects and not any(tolerates(one, taint) for one in known):
            return taint
    return None


def tolerates_all(
    tolerations: Iterable[Toleration],
    taints: Iterable[Taint],
    *,
    effects: tuple[str, ...] = KEEPS_OUT,
) -> bool:
    """True when every taint with one of ``effects`` is covered by some toleration."""
    return first_untolerated(tolerations, taints, effects=effects) is None


def is_same(one: Taint, other: Taint) -> bool:
    """True when key and effect agree; the values may differ."""
    return one.identity == other.identity


def has(taints: Iterable[Taint], wanted: Taint) -> bool:
    """True when one of ``taints`` is the same as ``wanted``."""
    return any(is_same(taint, wanted) for taint in taints)


def merge(existing: Iterable[Taint], added: Iterable[Taint]) -> tuple[Taint, ...]:
    """Return ``existing`` followed by those of ``added`` that are not there yet.

    Where both hold the same taint the existing one wins, with its value and its time.
    """
    merged: dict[tuple[str, str], Taint] = {}
    for taint in (*existing, *added):
        merged.setdefault(taint.identity, taint)
    return tuple(merged.values())


def without(taints: Iterable[Taint], removed: Iterable[Taint]) -> tuple[Taint, ...]:
    """Return the taints that are not the same as any of ``removed``, in their order."""
    gone = {taint.identity for taint in removed}
    return tuple(taint for taint in taints if taint.identity not in gone)


def _compares(operator: str, tolerated: str, tainted: str) -> bool:
    threshold, value = _integer(tolerated), _integer(tainted)
    if threshold is None or value is None:
        return False
    return value > threshold if operator == GREATER else value < threshold


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -INT64_MAX - 1 <= number <= INT64_MAX else None
