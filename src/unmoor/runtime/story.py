"""The story: what each step saw, decided and did, kept for a while.

Printed when a step crashes or a simulated world breaks a rule, and read by ``explain`` later. It is
bounded in keys and in records, holds no secrets (effects never carry any), no memory of any step,
and is never a reason to decide anything.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from unmoor.lifecycle.effects import (
    AnyEffect,
    Avoid,
    Create,
    Delete,
    Evict,
    Launch,
    Nominate,
    Observe,
    Patch,
    Publish,
    Suppose,
    Terminate,
)
from unmoor.lifecycle.step import Step
from unmoor.model.moment import Moment
from unmoor.model.observation import Problem
from unmoor.model.wording import counted
from unmoor.runtime.reconciler import Key

KEYS_KEPT = 5_000
RECORDS_KEPT = 40
"""Records for each key."""
RECORDS_MAX = 50_000
"""Records of all keys together; those of the key that has been quiet longest go first."""


class Outcome(msgspec.Struct, frozen=True):
    """What came of one effect; ``problem`` None means that it succeeded.

    ``crash``: the trace of a bug of ours in executing it; the problem then says that it is unknown.
    """

    effect: AnyEffect
    problem: Problem | None = None
    crash: str = ""


class Record(msgspec.Struct, frozen=True):
    """One step: who, when, on which version of the world, and what came of it."""

    reconciler: str
    key: Key
    moment: Moment
    version: int
    step: Step[Any]
    outcomes: tuple[Outcome, ...] = ()
    crash: str = ""


Observer = Callable[[Record], None]
"""Gets every record: the story, the metrics and the log are observers.

What one of them raises stops nothing: the others are told of it as a crash of that key.
"""


class Story:
    """The latest records of the latest keys."""

    def __init__(self, records_max: int = RECORDS_MAX) -> None:
        """Start empty."""
        self._records_max = records_max
        self._records: OrderedDict[tuple[str, Key], deque[Record]] = OrderedDict()
        self._count = 0

    def __call__(self, record: Record) -> None:
        """Keep a record, unless it says nothing new."""
        where = (record.reconciler, record.key)
        records = self._records.get(where)
        if not _is_news(record, records[-1] if records else None):
            return
        if records is None:
            records = self._records[where] = deque(maxlen=RECORDS_KEPT)
        self._records.move_to_end(where)
        self._count += len(records) < RECORDS_KEPT
        step = msgspec.structs.replace(record.step, memory=None)
        records.append(msgspec.structs.replace(record, step=step))
        while len(self._records) > KEYS_KEPT or self._count > self._records_max:
            _, oldest = self._records.popitem(last=False)
            self._count -= len(oldest)

    def of(self, reconciler: str, key: Key) -> tuple[Record, ...]:
        """The records of one key, oldest first."""
        return tuple(self._records.get((reconciler, key), ()))

    def all(self) -> list[Record]:
        """Every record kept, in the order of time."""
        records = [record for kept in self._records.values() for record in kept]
        return sorted(records, key=lambda r: (r.moment.mono, r.version, r.reconciler, str(r.key)))


def _is_news(record: Record, last: Record | None) -> bool:
    """It says something else than the one before, has done something, or fails in other words."""
    if record.crash:
        return last is None or record.crash != last.crash
    verdicts, outcomes = ((), ()) if last is None else (last.step.verdicts, last.outcomes)
    if record.step.verdicts != verdicts:
        return True
    if not record.step.effects or record.outcomes == outcomes != ():
        return any(_has_acted(outcome) for outcome in record.outcomes)
    return True


def _has_acted(outcome: Outcome) -> bool:
    return outcome.problem is None and not isinstance(outcome.effect, Observe)


def tell(records: Iterable[Record]) -> str:
    """Write records as lines that a person can follow; a crash that repeats is written out once."""
    lines: list[str] = []
    crashes: set[str] = set()
    for record in records:
        stamp = f"{record.moment.wall:%H:%M:%S.%f}"[:-3]
        lines.append(f"{stamp} {record.reconciler} {record.key}")
        lines += [f"    says  {verdict.message}" for verdict in record.step.verdicts]
        lines += [f"    does  {_outcome(outcome)}" for outcome in record.outcomes]
        if record.crash:
            known = record.crash in crashes
            crashes.add(record.crash)
            last = record.crash.strip().splitlines()[-1]
            lines.append(f"    CRASH {f'as above: {last}' if known else record.crash}")
    return "\n".join(lines)


def _outcome(outcome: Outcome) -> str:
    said = describe(outcome.effect)
    if outcome.effect.why:
        said += f" ({outcome.effect.why})"
    if outcome.problem is not None:
        said += f" -> {outcome.problem.kind}: {outcome.problem.message}"
    return said


def describe(effect: AnyEffect) -> str:
    """Say an effect in a few words."""
    match effect:
        case Patch():
            where = f"{effect.ref} {effect.subresource}".strip()
            return f"patch {where} {_shortly(effect.body)}"
        case Create() | Delete() | Evict():
            return f"{type(effect).__name__.lower()} {effect.ref}"
        case Launch():
            return f"launch {effect.request.token} for {effect.machine}"
        case Terminate():
            return f"terminate {effect.provider_id}"
        case Observe():
            return f"observe {effect.asked} {effect.subject}"
        case Nominate():
            pods = sum(len(one) for one in effect.places.values())
            return f"nominate {counted(len(effect.places), 'place')} for {counted(pods, 'pod')}"
        case Avoid():
            return f"avoid {effect.subject}: {effect.times} in a row"
        case Suppose():
            return f"suppose conditions of {effect.machine}"
        case Publish():
            return f"publish {effect.reason} on {effect.regarding}: {effect.message}"


def _shortly(body: dict[str, Any]) -> str:
    text = msgspec.json.encode(body).decode()
    return text if len(text) <= 160 else text[:157] + "..."  # noqa: PLR2004
