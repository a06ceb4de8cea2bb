"""What is said of a plan: which pods go where, which find no place, and what each waits for.

Eleven thousand pods are no storm: where a pod goes is an event at a limited rate (spec 10.2), and
why it has no place is one every five minutes, of so many pods in one pass. Events come before
verdicts: who is to be told is told, also where not everybody's reason can be worked out.

Must not: decide anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import msgspec

from unmoor.engine.plan import Plan
from unmoor.engine.refusal import Refusal
from unmoor.engine.scene import Scene
from unmoor.lifecycle.effects import Publish, say
from unmoor.model.base import Key, Ref
from unmoor.model.kinds import MACHINES, PROVISIONERS, ref_of
from unmoor.model.moment import Moment
from unmoor.model.observation import Problem
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.model.wording import counted
from unmoor.policy import provisionable
from unmoor.policy.provisionable import Wanting
from unmoor.policy.verdict import Method, Reason, Verdict

NOMINATED = "Nominated"
FAILED = "FailedScheduling"
NOMINATED_RATE_PER_S = 5.0
NOMINATED_BURST = 10.0
FAILED_MAX = 100
"""So many pods are told in one pass that they have no place; the others in the next."""
REFUSALS_SAID_MAX = 3
"""So many reasons of one place are said."""
PLACES_SAID_MAX = 4
"""So many provisioners, a node among them, say their reasons; the others are counted."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one pass.

    ``places``: pod key to the object that it is to go to. ``made``: by provisioner, how many
    machines, and for how many pods.
    """

    scene: Scene
    plan: Plan
    places: dict[Key, Ref] = {}
    made: dict[str, tuple[int, int]] = {}


class Told(msgspec.Struct, frozen=True):
    """Droppable. Of pods (uid) that still wait: where each was said to go, and when it was said
    that it has no place (monotonic). ``allowed``: how many were allowed to be told, at ``at``.
    """

    nominated: dict[str, str] = {}
    failed: dict[str, float] = {}
    allowed: float = NOMINATED_BURST
    at: float = 0.0


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
    said: list[Publish] = []
    told_now = 0
    for pod in wanting.pending:
        place, at = result.places.get(pod.key), told.failed.get(pod.uid)
        if place is not None:
            known = told.nominated.get(pod.uid) == str(place)
            if not known and allowed >= 1:
                allowed -= 1
                said.append(_nominated(pod, place))
                known = True
            if known:
                nominated[pod.uid] = str(place)
            if at is not None and moment.mono < at + again_s:
                failed[pod.uid] = at  # It may lose that place again.
            continue
        if (at is None or moment.mono >= at + again_s) and told_now < FAILED_MAX:
            failures = [event for one in _refused(pod, result) for event in say(one)]
            if failures:
                said += failures
                told_now += 1
                at = moment.mono
        if at is not None:
            failed[pod.uid] = at
    return tuple(said), Told(nominated, failed, allowed, moment.mono)


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
    for name, (machines, pods) in sorted(result.made.items()):
        yield Verdict(
            subject=PROVISIONERS.ref(name),
            method=Method.PROVISIONING,
            reason=Reason.PLANNED,
            message=(
                f"{counted(pods, 'pod')} without a place: provisioner {name} makes "
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
    """Place by place, in their order: a remedy at one of them may be none at another."""
    places = [list(those) for _, those in groupby(refusals, key=lambda one: one.where)]
    words = [_at_one(those) for those in places[:PLACES_SAID_MAX]]
    more = len(places) - len(words)
    return "; ".join(words) + (f"; and {counted(more, 'more provisioner')}" if more > 0 else "")


def _at_one(refusals: list[Refusal]) -> str:
    words = [_with_place(one) for one in refusals]
    more = len(words) - REFUSALS_SAID_MAX
    return "; ".join(words[:REFUSALS_SAID_MAX]) + (f"; and {more} more" if more > 0 else "")


def _with_place(one: Refusal) -> str:
    """A reason about a provisioner as such names it itself."""
    is_named = not one.where or f"provisioner {one.where}" in one.missing.replace("/", " ")
    return str(one) if is_named else f"{one} (at {one.where})"


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


def _nominated(pod: Pod, place: Ref) -> Publish:
    coming = ", which is coming up" if place.kind == MACHINES.kind else ""
    message = f"it is to run on {place.kind.lower()} {place.name}{coming}"
    return Publish(regarding=ref_of(pod), reason=NOMINATED, message=message)


def _name(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"
