"""Is a provisioner in order, and what does it have? Both are told on the object itself.

A bad one says so in its condition ``Active`` and in events, with field, value and remedy, and so
does one whose requirements nothing on sale meets, once it is known what is; others go on. Nobody
is woken by what the cloud says, so until then it is looked for every few seconds.
``status.resources`` is what is paid for (``policy.usage``), ``status.lastScaleTime`` the creation
of its newest machine. The annotation ``karpenter.sh/provisioner-hash`` follows what is
static in it (spec 7.3), while it is in order: a slip of the pen is no reason for its nodes to go.

Nothing is written twice, and nothing on a provisioner that has instances of which none is ours:
another controller runs those, and believes what stands there. Somebody who writes something else in
place of what we wrote is right for a while (``cadence.provisionerMetrics``).

Must not: touch what a person wrote.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from unmoor.engine import blame
from unmoor.engine.limits import left_by
from unmoor.lifecycle import conditions
from unmoor.lifecycle.effects import (
    AnyEffect,
    Fact,
    Publish,
    describe,
    say_all,
    set_conditions,
    with_condition,
)
from unmoor.lifecycle.step import Step
from unmoor.lifecycle.telling import once
from unmoor.model import names, resources
from unmoor.model.base import Condition, condition_of
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import PROVISIONERS, ref_of
from unmoor.model.moment import Moment, earliest
from unmoor.model.provisioner import ACTIVE, Provisioner, requirements_of, validate
from unmoor.model.quantity import QuantityError
from unmoor.model.requirement import Requirements
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View
from unmoor.model.static_hash import hash_of
from unmoor.model.validation import FieldError
from unmoor.policy import budgets, stock
from unmoor.policy.usage import Usage, usage_of
from unmoor.policy.verdict import Method, Reason, Verdict

TOLD_MAX = 10
"""So many errors of one provisioner are told; the last line says how many more there are."""
SHOWN_MAX = 3
"""So many of them stand in its condition."""
NOTHING_ON_SALE = "NothingOnSale"
"""The reason in the condition, and of the event, where no instance type meets the requirements."""
GAUGES = ("provisioner_limit", "provisioner_usage", "provisioner_usage_pct")


class Standing(msgspec.Struct, frozen=True):
    """All that we would have on a provisioner. ``hashed`` "" leaves the annotation as it is."""

    hashed: str
    active: Condition
    capacity: Resources
    scaled: datetime | None


class Sought(msgspec.Struct, frozen=True):
    """What was found when ``types`` were last searched for what a provisioner requires."""

    requirements: Requirements
    defaults: frozenset[str]
    types: tuple[InstanceType, ...]
    words: str


class Memory(msgspec.Struct, frozen=True):
    """Droppable: what is known of the last look, so that the next one says only what is new.

    ``seen``: the resource version, and ``looked``: when, on the monotonic clock. ``settled``: what
    stood on the object as we would have it, and since when. ``measured``: the gauges that are set.
    ``sought``: why nothing on sale would do takes a while to find out, where nothing would.
    """

    seen: str
    looked: float
    settled: tuple[Standing, float] | None
    told: dict[Publish, float]
    measured: tuple[tuple[str, str], ...]
    sought: Sought | None = None


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Look at the provisioner called ``key``, and write down what has changed."""
    provisioner = view.provisioner(key)
    if provisioner is None:
        return Step(facts=_unmeasured(key))
    if provisioner.is_deleting or ("", key) in view.broken(PROVISIONERS):
        return Step(memory=memory)  # what we hold is not what is, or will be, there
    version = provisioner.metadata.resource_version
    if memory is not None and memory.seen == version:
        due = memory.looked + view.settings.cadence.provisioner_status_s
        if moment.mono < due:
            return Step(memory=memory, wake_at=due)
    errors, usage = validate(provisioner), usage_of(view, key)
    sought = _sought(view, provisioner, memory) if not errors else None
    unmet = sought.words if sought is not None else ""
    wanted = standing_of(view, provisioner, errors, usage)
    if unmet:
        active = conditions.false(ACTIVE, NOTHING_ON_SALE, unmet)
        wanted = msgspec.structs.replace(wanted, active=active)
    writes, settled, wake_at = _written(view, provisioner, wanted, memory, moment, usage)
    # A budget that cannot be read keeps nodes from going, and is no reason to make none.
    verdicts = _verdicts(provisioner, (*errors, *budgets.budgets_of(provisioner)[1]))
    if unmet:
        words = f"provisioner/{key}: {unmet}"
        verdicts += (_told(provisioner, words, {"field": "spec.requirements"}, NOTHING_ON_SALE),)
    events, told = once(view, say_all(verdicts), memory.told if memory else {}, moment)
    if sought is None and not errors:
        retry_s = view.settings.cadence.pending_pod_retry_s
        wake_at = earliest(wake_at, moment.after(retry_s))
    gauges = _gauges(provisioner, usage.capacity)
    measured = tuple(gauges)
    return Step(
        effects=(*events, *writes),
        memory=Memory(version, moment.mono, settled, told, measured, sought),
        verdicts=verdicts,
        wake_at=wake_at,
        facts=_facts(key, gauges, memory.measured if memory else None),
    )


def _sought(view: View, provisioner: Provisioner, memory: Memory | None) -> Sought | None:
    """Say which requirements nothing on sale meets; None while it is not known what is."""
    sold = stock.types_of(view)
    if sold is None or sold.result is None:
        return None
    requirements, defaults = requirements_of(provisioner), frozenset(provisioner.defaults)
    before = memory.sought if memory is not None else None
    if (
        before is not None
        and before.types is sold.result
        and (before.requirements, before.defaults) == (requirements, defaults)
    ):
        return before
    why = blame.words_of(requirements, sold.result, defaults)
    words = f"spec.requirements: {why}" if why else ""
    return Sought(requirements, defaults, sold.result, words)


# ---------------------------------------------------------------------------------------- standing


def standing_of(
    view: View, provisioner: Provisioner, errors: tuple[FieldError, ...], usage: Usage
) -> Standing:
    """Return what the provisioner should have in annotation and status."""
    born = [one.metadata.creation_timestamp for one in view.machines_launched_by(provisioner.name)]
    times = [one for one in (*born, provisioner.status.last_scale_time) if one is not None]
    return Standing(
        hashed=hash_of(provisioner) if not errors else "",
        active=_active(errors),
        capacity=usage.capacity,
        scaled=max(times, default=None),
    )


def _active(errors: tuple[FieldError, ...]) -> Condition:
    if not errors:
        return conditions.true(ACTIVE)
    shown = [str(one).removeprefix(f"{one.object}: ") for one in errors[:SHOWN_MAX]]
    more = len(errors) - len(shown)
    return conditions.false(
        ACTIVE, "Invalid", ". ".join([*shown, f"{more} more fields are wrong"] if more else shown)
    )


def _is_hashed(provisioner: Provisioner, wanted: Standing) -> bool:
    return wanted.hashed in {"", provisioner.metadata.annotations.get(names.PROVISIONER_HASH)}


def _is_in_place(provisioner: Provisioner, wanted: Standing) -> bool:
    status, new = provisioner.status, wanted.active
    old = condition_of(status.conditions, ACTIVE)
    return (
        old is not None
        and (old.status, old.reason, old.message) == (new.status, new.reason, new.message)
        and old.last_transition_time is not None
        and _amounts(provisioner) == wanted.capacity
        and status.last_scale_time == wanted.scaled
    )


def _amounts(provisioner: Provisioner) -> Resources | None:
    """What the status says now, None when it says nothing that could be meant."""
    try:
        return resources.parse_resources(provisioner.status.resources)
    except QuantityError:
        return None


def _written(
    view: View,
    provisioner: Provisioner,
    wanted: Standing,
    memory: Memory | None,
    moment: Moment,
    usage: Usage,
) -> tuple[tuple[AnyEffect, ...], tuple[Standing, float] | None, float | None]:
    """What to write, what is settled now, and when to look again.

    One patch at a time: each names the version it has seen.
    """
    settled = memory.settled if memory is not None else None
    is_hashed = _is_hashed(provisioner, wanted)
    if is_hashed and _is_in_place(provisioner, wanted):
        is_new = settled is None or settled[0] != wanted
        return (), ((wanted, moment.mono) if is_new else settled), None
    if not usage.is_ours or not view.identity.cluster or not view.identity.scheme:
        return (), None, None
    if settled is not None and settled[0] == wanted:
        again = settled[1] + view.settings.cadence.provisioner_metrics_s
        if moment.mono < again:
            return (), settled, again
    if not is_hashed:
        why = "what is static in it has changed"
        return (describe(provisioner, annotations=_hash(wanted), why=why),), None, None
    return (_status(provisioner, wanted, moment),), None, None


def _hash(wanted: Standing) -> dict[str, str]:
    return {names.PROVISIONER_HASH: wanted.hashed}


def _status(provisioner: Provisioner, wanted: Standing, moment: Moment) -> AnyEffect:
    before = provisioner.status
    gone = dict.fromkeys(name for name in before.resources if name not in wanted.capacity)
    status: dict[str, Any] = {"resources": {**gone, **resources.render(wanted.capacity)}}
    if wanted.scaled is not None:
        status["lastScaleTime"] = msgspec.to_builtins(wanted.scaled)
    after = with_condition(before.conditions, wanted.active, moment.wall)
    return set_conditions(provisioner, after, status)


# ------------------------------------------------------------------------------------------ words


def _verdicts(provisioner: Provisioner, errors: tuple[FieldError, ...]) -> tuple[Verdict, ...]:
    verdicts = tuple(
        _told(provisioner, str(error), {"field": error.field, "value": error.value})
        for error in errors[:TOLD_MAX]
    )
    more = len(errors) - TOLD_MAX
    if more > 0:
        words = f"provisioner/{provisioner.name}: {more} more fields are wrong; mend these first"
        verdicts += (_told(provisioner, words, {}),)
    return verdicts


def _told(
    provisioner: Provisioner, message: str, evidence: dict[str, Any], event: str = "Invalid"
) -> Verdict:
    return Verdict(
        subject=ref_of(provisioner),
        method=Method.LIFECYCLE,
        reason=Reason.PROVISIONER_INVALID,
        message=message,
        evidence=evidence,
        event=event,
        is_warning=True,
    )


# ---------------------------------------------------------------------------------------- figures


def _gauges(provisioner: Provisioner, used: Resources) -> dict[tuple[str, str], float]:
    """(metric, resource) to value: cores, and whole units of the rest. A share of 0 is none."""
    limits = left_by(provisioner, {}).amounts
    found = {}
    for name, limit in sorted(limits.items()):
        found[GAUGES[0], name] = _figure(name, limit)
    for name in sorted({*limits, *used}):
        found[GAUGES[1], name] = _figure(name, used.get(name, 0))
    for name, limit in sorted(limits.items()):
        if limit > 0:
            found[GAUGES[2], name] = 100.0 * used.get(name, 0) / limit
    return found


def _figure(name: str, amount: int) -> float:
    return amount / 1000 if name == resources.CPU else float(amount)


def _facts(
    provisioner: str,
    gauges: dict[tuple[str, str], float],
    before: tuple[tuple[str, str], ...] | None,
) -> tuple[Fact, ...]:
    """What was measured last time and is not any more goes; without memory, all that there is."""
    gone = _unmeasured(provisioner) if before is None else ()
    gone += tuple(
        Fact(metric, {"provisioner": provisioner, "resource_type": name}, None)
        for metric, name in before or ()
        if (metric, name) not in gauges
    )
    return gone + tuple(
        Fact(metric, {"provisioner": provisioner, "resource_type": name}, value)
        for (metric, name), value in gauges.items()
    )


def _unmeasured(provisioner: str) -> tuple[Fact, ...]:
    return tuple(Fact(metric, {"provisioner": provisioner}, None) for metric in GAUGES)
