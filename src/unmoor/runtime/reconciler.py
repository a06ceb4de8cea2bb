"""A controller is a row: a name, what wakes it, the key it steps, and the step.

The rows themselves are in ``reconcilers.py``; one loop (``loop.py``) runs them all.

Must not: know what any step decides.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from unmoor.lifecycle.step import Step
from unmoor.model.base import Object
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View

Key: TypeAlias = Hashable
"""What is being stepped: a node's name, a machine's name, or :data:`ONE`."""

StepFunction: TypeAlias = Callable[[View, Any, Any, Moment], Step[Any]]
"""``step(view, key, memory, moment) -> Step``; memory is None the first time and whenever lost."""

ONE = "the cluster"
"""The key of a reconciler that has only one."""


class Where(Enum):
    """On which side of the executor port a step runs."""

    LOOP = "loop"
    """A single key, on the live view, in under 5 ms."""
    WORKER = "worker"
    """A pass over the cluster, on a frozen view, off the loop."""


class Wake(msgspec.Struct, frozen=True):
    """Which keys a change to an object of ``kind`` concerns.

    ``keys`` gets the view, the object as it was (None: new) and as it is (None: gone).
    """

    kind: str
    keys: Callable[[View, Any | None, Any | None], Iterable[Key]]
    at_start: bool = True
    """False: all that the objects concern is named by those of another kind, so they need not be
    gone through when everything is looked at."""


class Reconciler(msgspec.Struct, frozen=True, kw_only=True):
    """One row. ``every_s`` steps all known keys (or ONE) that often besides, None never."""

    name: str
    step: StepFunction
    wakes: tuple[Wake, ...] = ()
    every_s: Callable[[View], float] | None = None
    is_single: bool = False
    """It has the one key ONE and starts with it."""
    where: Where = Where.LOOP


def either(old: Object | None, new: Object | None) -> Any:
    """The object as it is, or as it was when it is gone."""
    return new if new is not None else old
