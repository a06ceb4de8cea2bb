"""What a log line looks like, and which lines the controller writes.

A line is a constant message and fields; as JSON it is one object a line, as text it is for people.
The lines come from the records of steps (spec 10.3): what was done at Info, what is waited for at
Debug, what failed at Warning or Error. The same refusal about the same object, the same failure of
the same effect and the same crash are told once a day (spec 10.4, change monitor,
``cadence.logDedupe``) unless they change. A step that crashes tells its whole story.

Must not: decide, or write a secret: effects carry none, and object bodies are not logged.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Hashable, MutableMapping
from typing import Any, TextIO

import msgspec
import structlog

from unmoor.app.told import Told
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
from unmoor.model import names
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import LEASES, Resource
from unmoor.model.machine import Machine
from unmoor.model.observation import ProblemKind
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Reason, Verdict
from unmoor.runtime.ports import Clock
from unmoor.runtime.story import Outcome, Record, Story, describe, tell

OTHERS_KEPT = 4
"""A server that is away says so in several words by turns; each is told once."""
REPORTED_AGAIN_S = 60.0
"""A watch, or a lease, that stays broken in the same words is told again after this time."""
FIELD_CHARS_MAX = 2_000
"""A longer text in a field is cut: objects and answers hold what strangers wrote."""
ERRORS = frozenset(
    (
        Reason.UNPLACEABLE,
        Reason.CREATION_REFUSED,
        Reason.TYPES_UNKNOWN,
        Reason.INSUFFICIENT_CAPACITY,
        Reason.INCONSISTENT,
    )
)
"""Warnings that are told as errors: a pod cannot be scheduled, the cloud has no capacity, a check
of consistency has failed (spec 6.1, 6.3, 10.3)."""
UNREADABLE = " cannot be read: "
"""How the informer says that an object does not decode."""

Fields = dict[str, Any]
Line = tuple[str, str, Fields]
"""Level, message, fields."""


def configure(*, level: str, form: str, stream: TextIO | None = None) -> None:
    """Set up structlog for this process. ``form``: "json" or "text"."""
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.format_exc_info,
        _cut,
    ]
    renderer: Any = _as_json if form == "json" else _as_text
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )


def _cut(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Cut what is too long for a line; a story and a traceback are told whole."""
    for key, value in event.items():
        if key in {"story", "exception"} or not isinstance(value, str):
            continue
        if len(value) > FIELD_CHARS_MAX:
            event[key] = f"{value[:FIELD_CHARS_MAX]}... ({len(value)} characters)"
    return event


def _as_json(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    line = {
        "level": event.pop("level"),
        "time": event.pop("time"),
        "message": event.pop("event"),
        **event,
    }
    return msgspec.json.encode(line, enc_hook=str).decode()


def _as_text(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    head = f"{event.pop('time')} {event.pop('level'):<7} {event.pop('event')}"
    story = event.pop("story", "")
    fields = " ".join(f"{key}={_quoted(value)}" for key, value in event.items())
    return "\n".join(part for part in (f"{head}  {fields}".rstrip(), story) if part)


def _quoted(value: object) -> str:
    if isinstance(value, dict | list | tuple):
        return msgspec.json.encode(value).decode()
    text = str(value)
    is_plain = text.isprintable() and not any(letter in text for letter in ' "=')
    return text if text and is_plain else msgspec.json.encode(text).decode()


class LogObserver:
    """Writes the lines of every step.

    ``story``: where a crashed step's past is kept; ``view``: where a machine's labels are found.
    """

    def __init__(self, clock: Clock) -> None:
        """Write through structlog as it is configured."""
        self.story: Story | None = None
        self.view: View | None = None
        self._clock = clock
        self._log = structlog.get_logger()
        self._said = Told()
        self._failed = Told(OTHERS_KEPT)
        self._crashed_at = Told()
        self._reported = Told(OTHERS_KEPT)

    def __call__(self, record: Record) -> None:
        """Write what one step did, met and said."""
        if record.crash:
            self._crashed(record)
            return
        self._crashed_at.forget((record.reconciler, record.key))
        for outcome in record.outcomes:
            line = line_of(outcome, self.view)
            if self._is_news(record, outcome) and line is not None:
                level, message, fields = line
                self._write(level, message, {**fields, "controller": record.reconciler})
        for verdict in self._news(record):
            self._write(*said_by(verdict), record.reconciler)

    def report(self, resource: Resource[Any], problem: str) -> None:
        """Write what an informer met: an object that cannot be used, or a broken watch.

        While a server is away, each kind says so once in a while, not at each attempt.
        """
        is_object = problem.startswith("configmap/") or UNREADABLE in problem
        if is_object:
            if self._is_reported(problem, problem, self._again_s):
                self._log.error("object refused", kind=resource.kind, error=problem)
        elif self._is_reported(resource.kind, problem, REPORTED_AGAIN_S):
            self._log.warning("watch interrupted", kind=resource.kind, error=problem)

    def clock_problem(self, problem: str) -> None:
        """Write that our clock is not the server's, once a day, however often it swings."""
        if self._is_reported("the clock", "it is wrong", self._again_s):
            self._log.warning("the clocks differ", problem=problem)

    def lease_problem(self, problem: str) -> None:
        """Write what keeps us from the lease that says who acts."""
        if self._is_reported("the lease", problem, REPORTED_AGAIN_S):
            self._log.warning("lease neither taken nor renewed", error=problem)

    def _is_reported(self, about: Hashable, problem: str, again_s: float) -> bool:
        now_s = self._clock.now().mono
        return bool(self._reported.news(about, (problem,), now_s=now_s, again_s=again_s))

    @property
    def _again_s(self) -> float:
        cadence = Cadence() if self.view is None else self.view.settings.cadence
        return cadence.log_dedupe_s

    def _write(self, level: str, message: str, fields: Fields, controller: str = "") -> None:
        write: Callable[..., None] = getattr(self._log, level)
        write(message, **fields, **({"controller": controller} if controller else {}))

    def _crashed(self, record: Record) -> None:
        error = record.crash.strip().splitlines()[-1]
        about, now_s = (record.reconciler, record.key), record.moment.mono
        if not self._crashed_at.news(about, (error,), now_s=now_s, again_s=self._again_s):
            return
        past = (record,) if self.story is None else self.story.of(record.reconciler, record.key)
        self._log.error(
            "step crashed, please report it with its story",
            controller=record.reconciler,
            key=str(record.key),
            error=error,
            story=tell(past),
        )

    def _is_news(self, record: Record, outcome: Outcome) -> bool:
        """Success always is; a failure is when the same effect did not fail so before."""
        about = (record.reconciler, *_identity_of(outcome.effect))
        if outcome.problem is None:
            self._failed.forget(about)
            return True
        words = f"{outcome.problem.kind}: {outcome.problem.message}"
        now_s = record.moment.mono
        return bool(self._failed.news(about, (words,), now_s=now_s, again_s=self._again_s))

    def _news(self, record: Record) -> list[Verdict]:
        """The verdicts that the step before did not give in the same words, or a day ago."""
        given: dict[Hashable, dict[str, Verdict]] = {}
        for verdict in record.step.verdicts:
            if verdict.reason is Reason.SETTINGS_INVALID:
                continue  # reported at once, by every process, by whoever applies the settings
            about = (record.reconciler, verdict.subject, verdict.method, verdict.reason)
            given.setdefault(about, {})[verdict.message] = verdict
        now_s, again_s = record.moment.mono, self._again_s
        return [
            said[words]
            for about, said in given.items()
            for words in self._said.news(about, tuple(said), now_s=now_s, again_s=again_s)
        ]


def _identity_of(effect: AnyEffect) -> tuple[str, str, str]:
    """What is tried, and on whom: the same when it is tried again."""
    what = type(effect).__name__
    match effect:
        case Patch():
            return what, f"{effect.ref} {effect.ref.uid}", effect.subresource
        case Create() | Delete() | Evict():
            return what, f"{effect.ref} {effect.ref.uid}", ""
        case Launch():
            return what, str(effect.machine), ""
        case Terminate():
            return what, effect.provider_id, ""
        case Observe():
            return what, effect.subject, str(effect.asked)
        case Publish():
            return what, str(effect.regarding), effect.reason
        case Avoid():
            return what, effect.subject, ""
        case Suppose():
            return what, str(effect.machine), ""
        case Nominate():
            return what, "", ""


def said_by(verdict: Verdict) -> Line:
    """The line of a verdict: waiting is for Debug, decisions are for everybody, warnings louder."""
    if not verdict.is_refusal:
        level, message = "info", "decided"
    elif verdict.is_warning:
        level = "error" if verdict.reason in ERRORS else "warning"
        message = "needs attention"
    else:
        level, message = "debug", "waiting"
    fields = {
        verdict.subject.kind.lower(): _name(verdict.subject),
        "method": str(verdict.method),
        "reason": str(verdict.reason),
        "because": verdict.message,
    }
    return level, message, fields


def line_of(outcome: Outcome, view: View | None = None) -> Line | None:
    """The line of an effect, None for what is not worth one."""
    effect = outcome.effect
    if outcome.problem is not None:
        return _failed(outcome)
    match effect:
        case Patch():
            return _patched(effect, view)
        case Create() | Delete():
            level, verb = ("info", "created") if isinstance(effect, Create) else _deleted(effect)
            return level, f"{verb} {effect.ref.kind.lower()}", _about(effect, effect.ref)
        case Evict():
            return "info", "evicted pod", _about(effect, effect.ref)
        case Launch():
            fields = {"token": effect.request.token, **_about(effect, effect.machine)}
            return "debug", "asked the cloud for an instance", fields
        case Terminate():
            return (
                "info",
                "terminated instance",
                {
                    "provider-id": effect.provider_id,
                    **(_about(effect, effect.machine) if effect.machine else _why(effect)),
                },
            )
        case Observe() | Publish() | Nominate() | Avoid() | Suppose():
            return None


def _deleted(effect: Delete) -> tuple[str, str]:
    """A lease that nobody owned is no news."""
    return ("debug" if effect.ref.kind == LEASES.kind else "info"), "deleted"


def _patched(effect: Patch, view: View | None) -> Line:
    kind, about = effect.ref.kind.lower(), _about(effect, effect.ref)
    spec, meta = effect.body.get("spec") or {}, effect.body.get("metadata") or {}
    counted = {fact.name for fact in effect.facts}
    if "machines_launched" in counted:
        machine = view.machine(effect.ref.name) if view is not None else None
        return (
            "info",
            "launched machine",
            {
                "machine": effect.ref.name,
                **_launched(effect, machine),
            },
        )
    for fact, message in _MILESTONES.items():
        if fact in counted:
            return "debug", message, about
    if "unschedulable" in spec:
        verb = "cordoned" if spec["unschedulable"] else "uncordoned"
        return "info", f"{verb} {kind}", about
    if "finalizers" in meta and names.TERMINATION_FINALIZER not in meta["finalizers"]:
        return "info", f"released {kind}", about
    what = f"updated status of {kind}" if effect.subresource == "status" else f"patched {kind}"
    return "debug", what, about


_MILESTONES = {
    "machines_registered": "machine registered",
    "machines_initialized": "machine initialized",
    "machines_disrupted": "machine qualifies for a disruption",
}
"""Facts whose line says more than that something was patched."""


def _launched(effect: Patch, machine: Machine | None) -> Fields:
    """What became known with the launch (spec 10.3)."""
    status = effect.body.get("status") or {}
    labels = {} if machine is None else machine.metadata.labels
    return {
        "provider-id": status.get("providerID"),
        "instance-type": labels.get(names.INSTANCE_TYPE),
        "zone": labels.get(names.ZONE),
        "capacity-type": labels.get(names.CAPACITY_TYPE),
        "allocatable": status.get("allocatable"),
    }


def _failed(outcome: Outcome) -> Line | None:
    effect, problem = outcome.effect, outcome.problem
    assert problem is not None
    if isinstance(effect, Publish):
        return None
    fields = {"effect": describe(effect), "problem": str(problem.kind), "error": problem.message}
    match problem.kind:
        case ProblemKind.TOO_MANY_REQUESTS if isinstance(effect, Evict):
            return "debug", "eviction must wait", fields
        case ProblemKind.TOO_MANY_REQUESTS:
            return "warning", "asked to slow down", fields
        case ProblemKind.NOT_FOUND | ProblemKind.CONFLICT:
            return "debug", "somebody else was first", fields
        case ProblemKind.UNKNOWN:
            return "warning", "effect without an answer", fields
        case _:
            message = "eviction failed" if isinstance(effect, Evict) else "effect failed"
            return "error", message, fields


def _about(effect: AnyEffect, ref: Any) -> Fields:
    return {ref.kind.lower(): _name(ref), **_why(effect)}


def _why(effect: AnyEffect) -> Fields:
    return {"why": effect.why} if effect.why else {}


def _name(ref: Any) -> str:
    return f"{ref.namespace}/{ref.name}" if ref.namespace else str(ref.name)
