"""How a machine gets its instance, once, whatever is lost on the way (spec 6.1, launch).

An attempt has a token, ``<Machine UID>-<n>``. The number is written to the API one step *before*
the cloud is asked, and the same token always means the same instance. So a lost answer is repeated
with the same token; only after a definite failure is there a new number. A token without a Machine
is what garbage collection looks for.

What the cloud said is copied to the labels first and to the status, with the condition that ends
the launch, one step later: a crash in between repeats the copy.

Must not: choose an instance type; the cloud chooses among what the requirements allow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import conditions
from unmoor.lifecycle.effects import (
    AnyEffect,
    Fact,
    Launch,
    Observe,
    Patch,
    delete_as_seen,
    describe,
    say,
)
from unmoor.lifecycle.step import Step, spoken
from unmoor.model import names, resources
from unmoor.model.instance import CloudInstance, LaunchRequest, OfferingName
from unmoor.model.kinds import ref_of
from unmoor.model.machine import MACHINE_LAUNCHED, Machine
from unmoor.model.moment import Moment, doubled_s
from unmoor.model.money import UNKNOWN, usd
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.model.quantity import QuantityError
from unmoor.model.requirement import Requirement, RequirementError
from unmoor.model.selection import wish_of
from unmoor.model.snapshot import View
from unmoor.model.validation import Findings
from unmoor.policy import heartbeat, made_from, no_shows
from unmoor.policy.verdict import Method, Reason, Verdict

MESSAGE_CHARS_MAX = 300
"""A cloud's error may be pages long (spec 6.1)."""

_NUMBER = re.compile("[0-9]{1,18}")
_SAYS_NOTHING = frozenset({ProblemKind.UNKNOWN, ProblemKind.TOO_MANY_REQUESTS})
"""After these an earlier call under the same token may have launched all the same: a cloud that
turns a request away for being one too many has not looked at its token."""


class Numbering(msgspec.Struct, frozen=True):
    """The attempt's number must be written down before it is made."""

    number: int


class Launching(msgspec.Struct, frozen=True):
    """The cloud is to be asked under this token, for the first time or again."""

    token: str


class Waiting(msgspec.Struct, frozen=True):
    """The last attempt failed, or was lost, and it is too early for another."""

    until: float
    problem: Problem


class OutOfCapacity(msgspec.Struct, frozen=True):
    """The cloud has none: whoever wanted the machine must want another."""

    problem: Problem


class Linking(msgspec.Struct, frozen=True):
    """The instance is named by the annotation; it is to be looked at."""

    provider_id: str


class Unlinked(msgspec.Struct, frozen=True):
    """The instance named by the annotation does not exist."""

    provider_id: str


class Copying(msgspec.Struct, frozen=True):
    """The cloud has answered; what it said is to be written down."""

    instance: CloudInstance


Phase: TypeAlias = Numbering | Launching | Waiting | OutOfCapacity | Linking | Unlinked | Copying


def token_of(machine: Machine) -> str:
    """Return the token of the current attempt, "" before the first."""
    number = machine.metadata.annotations.get(names.LAUNCH_ATTEMPT, "")
    return f"{machine.uid}-{number}" if number else ""


def phase_of(view: View, machine: Machine, lost: int, moment: Moment) -> Phase:
    """Read the phase of a machine that is not launched yet. ``lost``: answers lost in a row."""
    if linked := machine.linked_to:
        return _linked_phase(view, linked, moment)  # T125
    token = token_of(machine)
    if not token:
        return Numbering(1)
    answer = view.answer(Asked.LAUNCH, token)
    if answer is None:
        return Launching(token)
    if answer.result is not None:
        return Copying(answer.result)
    assert answer.problem is not None
    if answer.problem.kind is ProblemKind.INSUFFICIENT_CAPACITY:
        return OutOfCapacity(answer.problem)
    is_open = answer.problem.kind in _SAYS_NOTHING
    number = _number_of(machine)
    until = answer.again_at(_back_off_s(view, lost if is_open else number))
    if moment.mono < until:
        return Waiting(until, answer.problem)
    return Launching(token) if is_open else Numbering(number + 1)


def _linked_phase(view: View, linked: str, moment: Moment) -> Phase:
    answer = view.instance(linked)
    if answer is None:
        return Linking(linked)
    if answer.result is not None:
        return Copying(answer.result)
    assert answer.problem is not None
    if answer.is_missing and heartbeat.alive_on(view, linked, moment) is None:
        return Unlinked(linked)
    until = answer.again_at(view.settings.cadence.link_again_s)
    return Waiting(until, answer.problem) if moment.mono < until else Linking(linked)


def _number_of(machine: Machine) -> int:
    text = machine.metadata.annotations.get(names.LAUNCH_ATTEMPT, "0")
    # Somebody may have written anything there; what is no number of ours counts from the start.
    return int(text) if _NUMBER.fullmatch(text) else 0


def _back_off_s(view: View, attempts: int) -> float:
    """1 s, doubling to one minute, by default (spec 6.1)."""
    cadence = view.settings.cadence
    return doubled_s(cadence.launch_backoff_s, attempts - 1, cadence.launch_backoff_most_s)


def advance(view: View, machine: Machine, lost: int, moment: Moment) -> Step[int]:
    """Take one step; the step's memory is the number of answers lost in a row."""
    phase = phase_of(view, machine, lost, moment)
    match phase:
        case Numbering(number):
            return Step(effects=(_number(machine, number),))
        case Launching(token):
            avoid = no_shows.avoided_by(view, machine.provisioner_name, moment)
            return _launch(view, machine, token, lost, avoid)
        case Waiting(until, problem):
            return _waiting(machine, until, problem, lost, moment)
        case OutOfCapacity(problem):
            return _out_of_capacity(machine, problem)
        case Linking(provider_id):
            return Step(effects=(Observe(asked=Asked.INSTANCE, subject=provider_id),))
        case Unlinked(provider_id):
            return _unlinked(machine, provider_id)
        case Copying(instance):
            return _copy(machine, instance, moment)
        case never:
            assert_never(never)


def _number(machine: Machine, number: int) -> Patch:
    """Only over the number that was seen: to go back to an earlier one would launch it again."""
    why = f"launch attempt {number} is written down before it is made"
    return describe(machine, annotations={names.LAUNCH_ATTEMPT: str(number)}, why=why)


def _launch(
    view: View, machine: Machine, token: str, lost: int, avoid: tuple[OfferingName, ...]
) -> Step[int]:
    try:
        requests = resources.parse_resources(machine.spec.resources.requests)
    except QuantityError as error:
        return _invalid(machine, "spec.resources.requests", str(error))
    for one in machine.spec.requirements:
        try:
            Requirement.of(one.key, one.operator, one.values)
        except RequirementError as error:
            return _invalid(machine, "spec.requirements", str(error))
    findings = Findings(f"machine/{machine.name}")
    spec = machine.spec
    findings.taints({"spec.taints": spec.taints, "spec.startupTaints": spec.startup_taints})
    if findings.errors:
        # The server would refuse the node's registration, after the machine was paid for.
        first = findings.errors[0]
        return _invalid(machine, first.field, f"{first.problem}; {first.remedy}")
    provisioner = view.provisioner(machine.provisioner_name)
    template = None if provisioner is None else made_from.template_of(view, provisioner)
    request = LaunchRequest(
        token=token,
        cluster=view.identity.cluster,
        machine=machine.name,
        requirements=tuple(
            (wanted.key, wanted.operator, wanted.values) for wanted in machine.spec.requirements
        ),
        requests=requests,
        labels=machine.metadata.labels,
        tags={names.PROVISIONER_NAME: machine.provisioner_name},
        avoid=avoid,
        template=None if template is None else wish_of(template),
    )
    launch = Launch(
        machine=ref_of(machine),
        request=request,
        owner=ref_of(provisioner) if provisioner is not None else None,
        why=f"attempt {token}",
    )
    return Step(effects=(launch,), memory=lost + 1)


def _invalid(machine: Machine, field: str, problem: str) -> Step[int]:
    """A bad object is reported and left alone; nothing else stops for it."""
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.INVALID,
        message=f"machine/{machine.name}: {field}: {problem}",
        evidence={"field": field},
        event="Invalid",
        is_warning=True,
    )
    return spoken(verdict)


def _waiting(
    machine: Machine, until: float, problem: Problem, lost: int, moment: Moment
) -> Step[int]:
    """The failure is a condition on the machine; it goes when a later attempt succeeds.

    What will never be accepted as it is, somebody has written: it is for people to mend.
    """
    is_theirs = problem.kind is ProblemKind.INVALID
    reason = "LinkFailed" if machine.linked_to else "LaunchFailed"
    message = shortened(problem.message)
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.LAUNCH_FAILED,
        message=(
            f"machine {machine.name} was not launched ({problem.kind}): {message}; "
            f"{'mend what it asks for' if is_theirs else 'it is tried again'}"
        ),
        evidence={
            "attempt": _number_of(machine),
            "kind": problem.kind,
            "again_in_s": round(max(until - moment.mono, 0)),
        },
        event=reason,
        is_warning=is_theirs,
    )
    patch = conditions.update(
        machine, conditions.false(MACHINE_LAUNCHED, reason, message), moment=moment
    )
    effects: tuple[AnyEffect, ...] = (*patch, *say(verdict))
    return Step(effects=effects, memory=lost, verdicts=(verdict,), wake_at=until)


def shortened(message: str) -> str:
    """Cut a long message, visibly."""
    if len(message) <= MESSAGE_CHARS_MAX:
        return message
    return message[:MESSAGE_CHARS_MAX] + "..."


def _out_of_capacity(machine: Machine, problem: Problem) -> Step[int]:
    """T126."""
    message = shortened(problem.message)
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.INSUFFICIENT_CAPACITY,
        message=f"the cloud has no capacity for machine {machine.name}: {message}",
        evidence={"provisioner": machine.provisioner_name},
        event="InsufficientCapacityError",
        is_warning=True,
    )
    why = "the cloud has no capacity for it"
    return given_up(machine, verdict, why=why, counted_as="insufficient_capacity")


def _unlinked(machine: Machine, provider_id: str) -> Step[int]:
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.INSTANCE_MISSING,
        message=f"machine {machine.name} is linked to {provider_id}, which does not exist",
        evidence={"provider_id": provider_id},
        event="InstanceMissing",
        is_warning=True,
    )
    why = "the instance that it is linked to does not exist"
    return given_up(machine, verdict, why=why, counted_as="garbage_collected")


def given_up(machine: Machine, verdict: Verdict, *, why: str, counted_as: str) -> Step[Any]:
    """Delete a machine, tell it, and count it (spec 10.1); a person's deletion is not counted.

    If anything has happened to it since, a node that has joined at last for one, it is looked at
    again first.
    """
    labels = {"reason": counted_as, "provisioner": machine.provisioner_name}
    facts = (Fact("machines_terminated", labels),)
    delete = delete_as_seen(machine, why=why, facts=facts)
    return Step(effects=(delete, *say(verdict)), verdicts=(verdict,))


def _copy(machine: Machine, instance: CloudInstance, moment: Moment) -> Step[int]:
    wanted = labels_of(machine, instance)
    missing = {key: value for key, value in wanted.items() if key not in machine.metadata.labels}
    if missing:
        cost, why = _cost_of(instance), "what the cloud launched"
        return Step(effects=(describe(machine, labels=missing, annotations=cost, why=why),))
    status: dict[str, Any] = {
        "providerID": instance.provider_id,
        "capacity": resources.render(instance.capacity),
        "allocatable": resources.render(instance.allocatable),
    }
    facts = (Fact("machines_launched", {"provisioner": machine.provisioner_name}),)
    patch = conditions.update(
        machine, conditions.true(MACHINE_LAUNCHED), moment=moment, status=status, facts=facts
    )
    return Step(effects=patch)


def _cost_of(instance: CloudInstance) -> dict[str, str]:
    price, book = instance.price_usd_per_h, instance.price_book
    cost = {names.PRICE: UNKNOWN if price is None else usd(price)}
    return cost | ({names.PRICE_BOOK: book} if book else {})


def labels_of(machine: Machine, instance: CloudInstance) -> dict[str, str]:
    """Spec 6.1: cloud labels < labels from single-valued requirements < the machine's own."""
    shape = {
        names.INSTANCE_TYPE: instance.instance_type,
        names.ZONE: instance.zone,
        names.CAPACITY_TYPE: instance.capacity_type,
    }
    said = {**instance.labels, **{key: value for key, value in shape.items() if value}}
    return {**said, **_single_valued(machine, said), **machine.metadata.labels}


def _single_valued(machine: Machine, said: Mapping[str, str]) -> dict[str, str]:
    """What the cloud really launched wins over a wish that it did not fulfil."""
    values = {}
    for one in machine.spec.requirements:
        try:
            wanted = Requirement.of(one.key, one.operator, one.values)
        except RequirementError:
            continue
        only = wanted.only_value
        if only is not None and said.get(wanted.key, only) == only:
            values[wanted.key] = only
    return values
