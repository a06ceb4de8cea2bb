"""What is said of a plan: which pods go where, which find no place, and what each waits for.

Eleven thousand pods are no storm: where a pod goes is an event at a limited rate (spec 10.2), and
why it has no place, or cannot go where it is to, is one every five minutes, of so many pods in one
pass; another reason than the one that was told is told at once, a few times in those minutes.
Events come before
verdicts: who is to be told is told, also where not everybody's reason can be worked out.

Must not: decide anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from math import inf

import msgspec

from unmoor.engine.plan import Plan
from unmoor.engine.refusal import STOCK, Constraint, Refusal
from unmoor.engine.scene import Scene
from unmoor.lifecycle.effects import Publish, say
from unmoor.lifecycle.new_machine import to_evict
from unmoor.model import names, taint
from unmoor.model.base import Key, Ref, condition_of
from unmoor.model.kinds import MACHINES, NODES, PROVISIONERS, ref_of
from unmoor.model.moment import Moment
from unmoor.model.observation import Problem
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint
from unmoor.model.wording import counted, named
from unmoor.policy import provisionable
from unmoor.policy.provisionable import Wanting
from unmoor.policy.verdict import Method, Reason, Verdict

NOMINATED = "Nominated"
FAILED = "FailedScheduling"
AWAITING_STARTUP_TAINT = "AwaitingStartupTaint"
NOMINATED_RATE_PER_S = 5.0
NOMINATED_BURST = 10.0
FAILED_MAX = 100
"""So many pods are told in one pass that they have no place; the others in the next."""
CAUSES_MAX = 3
"""So often in ``cadence.failedSchedulingDedupe`` a pod is told why: reasons may come and go."""
REFUSALS_SAID_MAX = 3
"""So many reasons of one place are said."""
PLACES_SAID_MAX = 4
"""So many provisioners, a node among them, say their reasons; the others are counted."""


_FIGURE = re.compile(r"\d+")


class Made(msgspec.Struct, frozen=True):
    """So many machines, for so many pods, of which so many still run on a node that goes."""

    machines: int = 0
    pods: int = 0
    leaving: int = 0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one pass.

    ``places``: pod key to the object that it is to go to. ``made``: by provisioner.
    """

    scene: Scene
    plan: Plan
    places: dict[Key, Ref] = {}
    made: dict[str, Made] = {}


class Failure(msgspec.Struct, frozen=True):
    """Since when (monotonic) a pod has been told that it cannot run, why, and how often."""

    at: float
    cause: str
    times: int = 1


class Told(msgspec.Struct, frozen=True):
    """Droppable. Of pods (uid) that still wait: where each was said to go, and why it was said
    that it has no place. ``allowed``: how many were allowed to be told, at ``at``.
    """

    nominated: dict[str, str] = {}
    failed: dict[str, Failure] = {}
    allowed: float = NOMINATED_BURST
    at: float = 0.0

    def at_of(self, pod: Pod) -> float:
        """Since when the pod has been told that it has no place; who never was comes first."""
        known = self.failed.get(pod.uid)
        return -inf if known is None else known.at


def verdicts(wanting: Wanting, result: Result) -> tuple[Verdict, ...]:
    """Everything that was decided: about provisioners first, then pod by pod."""
    return (
        *_skipped(result.scene),
        *_bought(result),
        *(verdict for pod in wanting.pending for verdict in _about(pod, result)),
        *(verdict for pod in wanting.leaving for verdict in _about_leaving(pod, result)),
    )


def events(
    view: View, wanting: Wanting, result: Result, told: Told, moment: Moment
) -> tuple[tuple[Publish, ...], Told]:
    """Return the events of a pass, and what is told by then. Only pods that wait are told."""
    nominated, failed = {}, {}
    allowed = told.allowed + NOMINATED_RATE_PER_S * max(moment.mono - told.at, 0.0)
    allowed = min(allowed, NOMINATED_BURST)
    again_s = view.settings.cadence.failed_scheduling_dedupe_s
    causes, closed = _Causes(result.plan), _Closed(view, moment)
    said: list[Publish] = []
    told_now = 0
    # Reasons are not worked out without end: who was told before does not keep others from it.
    for pod in sorted(wanting.pending, key=told.at_of):
        place, known = result.places.get(pod.key), told.failed.get(pod.uid)
        if known is not None and moment.mono >= known.at + again_s:
            known = None
        if place is not None:
            is_told = told.nominated.get(pod.uid) == str(place)
            if not is_told and allowed >= 1:
                allowed -= 1
                said.append(_nominated(pod, place))
                is_told = True
            if is_told:
                nominated[pod.uid] = str(place)
        held = "" if place is None else closed.to(pod, place)
        if (place is None or held) and told_now < FAILED_MAX:
            now = _failure(known, held or causes.of(pod), moment)
            if now is not None and now is not known:
                said += [_held(pod, held)] if held else _failures(pod, result)
                told_now += 1
                known = now
        if known is not None:
            failed[pod.uid] = known  # Also of one that has a place: it may lose that again.
    return tuple(said), Told(nominated, failed, allowed, moment.mono)


class _Causes:
    """Why pods have no place, without their names and without figures, which change all the time.

    Equal pods have one and the same reasons, so each is worded once.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._words: dict[int, str] = {}

    def of(self, pod: Pod) -> str:
        """Return "" where there is none, or it has not been worked out."""
        refusals = self._plan.refused.get(pod.key)
        if not refusals:
            return ""
        found = self._words.get(id(refusals))
        if found is None:
            found = self._words[id(refusals)] = _FIGURE.sub("#", _said(refusals))
        return found


class _Closed:
    """Which nodes do taints that are to go by themselves keep pods out of for too long?

    Plans overlook these taints, so that nobody gets a second node; kube-scheduler does not.
    """

    def __init__(self, view: View, moment: Moment) -> None:
        self._view, self._moment = view, moment
        self._patience_s = view.settings.cadence.startup_taint_patience_s
        self._taints: dict[str, tuple[Taint, ...]] = {}

    def to(self, pod: Pod, place: Ref) -> str:
        """Say why the pod cannot go where it is to; "" where nothing, or nobody yet, says so."""
        if place.kind != NODES.kind:
            return ""
        found = self._taints.get(place.name)
        if found is None:
            found = self._taints[place.name] = self._left(place.name)
        one = taint.first_untolerated(pod.spec.tolerations, found)
        if one is None:
            return ""
        kind, who = "startup taint", "whatever it waits for"
        if one.identity in names.EPHEMERAL_TAINTS:
            kind, who = "taint", "the cloud's controller or the node controller"
        return (
            f"it is to run on node {place.name}, which still has the {kind} "
            f"{one.identity_text}: {who} must remove it"
        )

    def _left(self, name: str) -> tuple[Taint, ...]:
        node = self._view.node(name)
        if node is None or node.is_initialized or not node.is_ready:
            return ()
        ready = condition_of(node.status.conditions, "Ready")
        ready_at = ready.last_transition_time if ready is not None else None
        since = ready_at or node.metadata.creation_timestamp
        if self._moment.since_s(since) < self._patience_s:
            return ()
        machines = self._view.machines_of(node.provider_id)
        starting = [one for machine in machines for one in machine.spec.startup_taints]
        return tuple(
            one
            for one in node.spec.taints
            if taint.has(starting, one) or one.identity in names.EPHEMERAL_TAINTS
        )


def _failure(known: Failure | None, cause: str, moment: Moment) -> Failure | None:
    """Return what is told from now on; the same as before where nothing new is to be said."""
    if not cause:
        return known
    if known is None:
        return Failure(moment.mono, cause)
    if known.cause == cause or known.times >= CAUSES_MAX:
        return known
    return Failure(known.at, cause, known.times + 1)


def types_unknown(pod: Pod, problem: Problem) -> Verdict:
    """Say that nothing can be planned, for whom for example, and why."""
    return Verdict(
        subject=ref_of(pod),
        method=Method.PROVISIONING,
        reason=Reason.TYPES_UNKNOWN,
        message=(
            f"no machine can be chosen for pod {pod.namespace}/{pod.name}, nor for any other: the "
            f"cloud does not say what it sells ({problem.kind}): {problem.message}; it is asked "
            "again"
        ),
        evidence={"kind": problem.kind},
        event=FAILED,
        is_warning=True,
    )


def _skipped(scene: Scene) -> Iterator[Verdict]:
    for template in scene.templates:
        why = template.problem or (template.hold.words if template.hold is not None else "")
        if template.machines_max == 0:
            yield Verdict(
                subject=PROVISIONERS.ref(template.provisioner),
                method=Method.PROVISIONING,
                reason=Reason.PROVISIONER_SKIPPED,
                message=f"provisioner {template.provisioner} is skipped: {why}",
                is_refusal=False,
            )


def _bought(result: Result) -> Iterator[Verdict]:
    for name, made in sorted(result.made.items()):
        pods, machines = made.pods, made.machines
        yield Verdict(
            subject=PROVISIONERS.ref(name),
            method=Method.PROVISIONING,
            reason=Reason.PLANNED,
            message=(
                f"{counted(pods, 'pod')} without a place{to_evict(made.leaving)}: provisioner "
                f"{name} makes "
                f"{counted(machines, 'machine')}"
            ),
            evidence={"pods": pods, "machines": machines},
            is_refusal=False,
        )


def _about(pod: Pod, result: Result) -> Iterator[Verdict]:
    if hindrance := provisionable.hindrance(pod):
        yield _verdict(
            pod,
            Reason.MAY_HINDER,
            f"pod {_name(pod)} {hindrance}: that may keep consolidation from removing its node",
            is_refusal=False,
        )
    for words in result.plan.given_up.get(pod.key, ()):
        message = f"pod {_name(pod)} is placed without what it would prefer: {words}"
        yield _verdict(pod, Reason.PREFERENCE_GIVEN_UP, message)
    yield from _refused(pod, result)


def _about_leaving(pod: Pod, result: Result) -> Iterator[Verdict]:
    """It runs; only its successor would have no place."""
    for one in _refused(pod, result):
        yield msgspec.structs.replace(one, event="", is_warning=False)


def _refused(pod: Pod, result: Result) -> Iterator[Verdict]:
    refusals = result.plan.refused.get(pod.key)
    message = f"there is no place for pod {_name(pod)}, nor can one be made"
    if refusals:
        yield _failed(pod, f"{message}: {_said(refusals)}")
    elif refusals is not None:
        yield _verdict(pod, Reason.UNPLACEABLE, f"{message}; a later look says why")


def _said(refusals: tuple[Refusal, ...]) -> str:
    """The nearest first. What several places say in the same words is said once, and where.

    Of those that are not in order, which come last, one says what is wrong; the others are named.
    """
    places = [list(those) for _, those in groupby(refusals, key=lambda one: one.where)]
    sound = [those for those in places if not _is_broken(those)]
    broken = [those for those in places if _is_broken(those)]
    where: dict[str, list[str]] = {}
    for those in (*sound[:PLACES_SAID_MAX], *broken[:1]):
        for words in _at_one(those):
            where.setdefault(words, []).append(those[0].where)
    parts = [_with_places(words, names) for words, names in where.items()]
    if others := named(tuple(those[0].where for those in broken[1:])):
        parts.append(f"not in order either, as kubectl describe provisioner says: {others}")
    more = len(sound) - PLACES_SAID_MAX
    return "; ".join(parts) + (f"; and {counted(more, 'more provisioner')}" if more > 0 else "")


def _is_broken(those: list[Refusal]) -> bool:
    """True for a provisioner that no pod could have a machine of, whatever the cloud has."""
    return bool(those[0].where) and all(
        one.constraint is Constraint.PROVISIONER and one.subject != STOCK for one in those
    )


def _at_one(refusals: list[Refusal]) -> list[str]:
    words = [str(one) for one in refusals[:REFUSALS_SAID_MAX]]
    more = len(refusals) - len(words)
    return [*words, *([f"and {more} more"] if more > 0 else [])]


def _with_places(words: str, places: list[str]) -> str:
    """A reason about a provisioner as such names it itself."""
    [first, *_] = places
    is_named = not first or f"provisioner {first}" in words.replace("/", " ")
    return words if is_named else f"{words} (at {', '.join(places)})"


def _failed(pod: Pod, message: str) -> Verdict:
    return Verdict(
        subject=ref_of(pod),
        method=Method.PROVISIONING,
        reason=Reason.UNPLACEABLE,
        message=message,
        event=FAILED,
        is_warning=True,
    )


def _verdict(pod: Pod, reason: Reason, message: str, *, is_refusal: bool = True) -> Verdict:
    """For the log alone (spec 10.3)."""
    return Verdict(
        subject=ref_of(pod),
        method=Method.PROVISIONING,
        reason=reason,
        message=message,
        event="",
        is_refusal=is_refusal,
    )


def _failures(pod: Pod, result: Result) -> list[Publish]:
    return [event for one in _refused(pod, result) for event in say(one)]


def _held(pod: Pod, why: str) -> Publish:
    about = ref_of(pod)
    return Publish(regarding=about, reason=AWAITING_STARTUP_TAINT, message=why, is_warning=True)


def _nominated(pod: Pod, place: Ref) -> Publish:
    coming = ", which is coming up" if place.kind == MACHINES.kind else ""
    message = f"it is to run on {place.kind.lower()} {place.name}{coming}"
    return Publish(regarding=ref_of(pod), reason=NOMINATED, message=message)


def _name(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"
