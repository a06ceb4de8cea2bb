"""How many nodes of a provisioner may be going at the same time? (spec 1.7, 4.3)

Budgets are written as NodePools of Karpenter have them, a JSON list in the Provisioner's annotation
``unmoor.dev/budgets``: so many nodes or such a share of them, for all reasons or for some, always
or within windows that a schedule opens, in UTC. Of those that apply the smallest counts. Where one
cannot be read, no node goes until it is mended: whoever wrote it wanted fewer to go, not more.

What is forced (an interruption, ``kubectl delete node``) asks no budget, and counts as going.

Must not: know pods, or their budgets (``drain``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import ceil
from types import MappingProxyType

import msgspec
from cronsim import CronSim, CronSimError

from unmoor.model import duration, names
from unmoor.model.moment import later
from unmoor.model.provisioner import Provisioner
from unmoor.model.validation import FieldError, cut

EMPTY = "Empty"
DRIFTED = "Drifted"
UNDERUTILIZED = "Underutilized"
EXPIRED = "Expired"
REASONS = (UNDERUTILIZED, EMPTY, DRIFTED, EXPIRED)
"""Those of Karpenter, and ours for expiration, which asks no budget there."""
BUDGETS_MAX = 50
PERCENT_MOST = 100
FIELDS = 5
"""Of a schedule: minute, hour, day of the month, month, day of the week."""
MACROS: Mapping[str, str] = MappingProxyType(
    {
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
        "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    }
)
_COUNT = re.compile(r"[0-9]{1,9}")
_PERCENT = re.compile(r"([0-9]{1,3})%")
_WHOLE_MINUTES = re.compile(r"(?=[0-9])(?:[0-9]{1,9}h)?(?:[0-9]{1,9}m)?(?:0s)?")


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One budget as it is written. ``nodes``: a number, or a share as in ``10%``.

    ``schedule`` (cron, UTC) opens a window of ``duration``; both or neither. ``reasons``: absent
    means all.
    """

    nodes: str | int = "10%"
    schedule: str | None = None
    duration: str | None = None
    reasons: tuple[str, ...] | None = None


class Allowed(msgspec.Struct, frozen=True):
    """How many nodes may be going; ``most`` None: as many as like. ``why``: in words."""

    most: int | None = None
    why: str = ""


def budgets_of(provisioner: Provisioner) -> tuple[tuple[Budget, ...], tuple[FieldError, ...]]:
    """Return what is written, and what is wrong with it."""
    text = provisioner.metadata.annotations.get(names.BUDGETS)
    if text is None:
        return (), ()
    try:
        found = msgspec.json.decode(text, type=tuple[Budget, ...])
    except msgspec.MsgspecError as error:
        remedy = f'write a JSON list, as in [{{"nodes": "10%"}}]: {error}'
        return (), (_error(provisioner, "", text, "it cannot be read", remedy),)
    if len(found) > BUDGETS_MAX:
        remedy = f"use at most {BUDGETS_MAX} budgets"
        return (), (_error(provisioner, "", str(len(found)), "there are too many", remedy),)
    errors = [
        _error(provisioner, f"[{number}].{field}", str(value), problem, remedy)
        for number, one in enumerate(found)
        for field, value, problem, remedy in _problems(one)
    ]
    return found, tuple(errors)


def is_limited(provisioner: Provisioner) -> bool:
    """True when anything is written."""
    return names.BUDGETS in provisioner.metadata.annotations


def allowed(provisioner: Provisioner, reason: str, nodes: int, now: datetime) -> Allowed:
    """Return how many of its ``nodes`` may be going for this reason."""
    found, errors = budgets_of(provisioner)
    if errors:
        return Allowed(0, f"a budget of provisioner {provisioner.name} is not valid: {errors[0]}")
    return least(found, reason, nodes, now)


def least(budgets: Iterable[Budget], reason: str, nodes: int, now: datetime) -> Allowed:
    """Return what the tightest of these allows; each must be valid."""
    active = [one for one in budgets if is_for(one, reason) and is_active(one, now)]
    if not active:
        return Allowed()
    tightest = min(active, key=lambda one: amount(one, nodes))
    window = f" within the window of {tightest.schedule}" if tightest.schedule else ""
    return Allowed(
        amount(tightest, nodes),
        f"a budget allows {tightest.nodes} of {nodes} nodes to be going{window}",
    )


def is_for(budget: Budget, reason: str) -> bool:
    """True when it applies to this reason."""
    return budget.reasons is None or reason in budget.reasons


def is_active(budget: Budget, now: datetime) -> bool:
    """True when it has no schedule, or its window is open (a hit at or after now - duration)."""
    if budget.schedule is None or budget.duration is None:
        return True
    opened = later(now.astimezone(UTC), -duration.parse(budget.duration))
    for hit in CronSim(_fields(budget.schedule), later(opened, -1)):
        if hit >= opened:
            return hit <= now
    return False


def amount(budget: Budget, nodes: int) -> int:
    """Return the number that it allows; a share is rounded up."""
    text = str(budget.nodes)
    found = _PERCENT.fullmatch(text)
    return int(text) if found is None else ceil(int(found[1]) * nodes / PERCENT_MOST)


def _fields(schedule: str) -> str:
    return MACROS.get(schedule, schedule)


def _problems(budget: Budget) -> Iterable[tuple[str, object, str, str]]:
    """Field, value, problem and remedy of each thing that is wrong (V407)."""
    text = str(budget.nodes)
    share = _PERCENT.fullmatch(text)
    is_share = share is not None and int(share[1]) <= PERCENT_MOST
    if not is_share and not _COUNT.fullmatch(text):
        yield "nodes", text, "it is no number of nodes", 'write 0 or more, or a share as in "10%"'
    if (budget.schedule is None) != (budget.duration is None):
        missing = "duration" if budget.duration is None else "schedule"
        yield missing, "", "schedule and duration go together", "write both, or neither"
    if budget.schedule is not None and (why := _why_no_schedule(budget.schedule)):
        remedy = (
            'write five fields of cron, as in "0 9 * * mon-fri", or @daily; what goes past the end '
            'of a week, a day or a year is a list, as in "0 0 * * sat,sun"'
        )
        yield "schedule", cut(budget.schedule), why, remedy
    if budget.duration is not None and (why := _why_no_duration(budget.duration)):
        yield "duration", cut(budget.duration), why, 'write hours or minutes: "8h"'
    elif budget.duration is not None and not duration.parse(budget.duration):
        remedy = 'write how long the window is open; all day is "24h" from "@daily" on'
        yield "duration", budget.duration, "the window is never open", remedy
    for reason in budget.reasons or ():
        if reason not in REASONS:
            yield "reasons", cut(reason), "there is no such reason", f"use {', '.join(REASONS)}"


def _why_no_duration(text: str) -> str:
    if not _WHOLE_MINUTES.fullmatch(text):
        return "it is no duration"
    try:
        duration.parse(text)
    except duration.DurationError:
        return "it is longer than anybody waits"
    return ""


def _why_no_schedule(schedule: str) -> str:
    fields = _fields(schedule)
    if len(fields.split()) != FIELDS:
        return "it is no schedule"
    try:
        CronSim(fields, datetime(2000, 1, 1))  # noqa: DTZ001 - any day will do
    except CronSimError as error:
        return f"it is no schedule ({error})"
    return ""


def _error(
    provisioner: Provisioner, where: str, value: str, problem: str, remedy: str
) -> FieldError:
    field = f"metadata.annotations[{names.BUDGETS}]{where}"
    return FieldError(f"provisioner/{provisioner.name}", field, cut(value), problem, remedy)
