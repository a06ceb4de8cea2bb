"""Which disruption conditions does a machine have: expired, drifted, empty? (spec 7.1)

Each part says what its condition should be; all are written in one patch. A condition is True or it
is not there. That of emptiness is the emptiness clock: it is set when the last workload pod is gone
or terminal, at first sight at the latest, and moves only with its status (R5).

The node's annotation ``karpenter.sh/voluntary-disruption`` mirrors them, unless it holds somebody
else's value (R14): then nothing is done there.

Must not: make a node go; that is the methods' question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from unmoor.lifecycle import conditions
from unmoor.lifecycle.effects import Fact, Observe, Patch, describe, patch_as_seen
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.base import Condition
from unmoor.model.machine import (
    MACHINE_DRIFTED,
    MACHINE_EMPTY,
    MACHINE_EXPIRED,
    MACHINE_LAUNCHED,
    Machine,
)
from unmoor.model.moment import Moment, earliest, later, rfc3339
from unmoor.model.observation import Asked
from unmoor.model.provisioner import Provisioner, validate
from unmoor.model.snapshot import View
from unmoor.policy import drifted, lifetime, made_from, nomination, observing, pods
from unmoor.policy.ownership import is_our_machine, is_ours

MARKS = {MACHINE_EXPIRED: "expired", MACHINE_DRIFTED: "drifted"}
"""What the node's annotation says of each, in the order of the methods."""
STUCK_SLACK_S = 0.1
"""A pod is stuck from just after its limit on, not at it."""


class Part(msgspec.Struct, frozen=True):
    """What one method wants: the condition, or None for "not there"; and when to look again."""

    kind: str
    condition: Condition | None = None
    wake_at: float | None = None
    asks: tuple[Observe, ...] = ()


def expiration(view: View, machine: Machine, provisioner: Provisioner, moment: Moment) -> Part:
    """Its lifetime is over, counted from the older of machine and node (T118, T119)."""
    ttl_s = provisioner.spec.ttl_seconds_until_expired
    since = lifetime.born_at(view, machine)
    if ttl_s is None or since is None:
        return Part(MACHINE_EXPIRED)
    ends = later(since, ttl_s)
    if moment.wall < ends:
        return Part(MACHINE_EXPIRED, wake_at=moment.at(ends))
    # No age: the same words at every look, so that nothing is written twice.
    message = f"at {rfc3339(ends)} it was {ttl_s} s old (ttlSecondsUntilExpired)"
    return Part(MACHINE_EXPIRED, conditions.true(MACHINE_EXPIRED, "TTLExpired", message))


def drift(view: View, machine: Machine, provisioner: Provisioner, moment: Moment) -> Part:
    """What differs from what would be made now; what cannot be told leaves it as it is."""
    cadence = view.settings.cadence
    wake_at = moment.after(cadence.drift_poll_s)
    launched = machine.condition(MACHINE_LAUNCHED)
    if launched is None or launched.status == "False":
        return Part(MACHINE_DRIFTED)
    if not made_from.is_on(view.settings, machine):
        return Part(MACHINE_DRIFTED, wake_at=wake_at)
    found = drifted.find(view, machine, provisioner)
    asks: tuple[Observe, ...] = ()
    answer = view.instance(machine.provider_id)
    is_due = answer is None or moment.mono >= answer.again_at(cadence.drift_poll_s)
    if is_due and drifted.is_instance_asked_for(view, machine, provisioner):
        asks = (Observe(asked=Asked.INSTANCE, subject=machine.provider_id),)
    if drifted.is_selection_awaited(view, provisioner):
        wake_at = moment.after(cadence.pending_pod_retry_s)
    if not found.differences:
        held = machine.condition(MACHINE_DRIFTED) if found.unknown else None
        return Part(MACHINE_DRIFTED, held, wake_at, asks)
    condition = conditions.true(MACHINE_DRIFTED, found.differences[0].reason, found.message)
    return Part(MACHINE_DRIFTED, condition, wake_at, asks)


def emptiness(view: View, machine: Machine, provisioner: Provisioner, moment: Moment) -> Part:
    """Spec 7.1, first match. Nothing is configured: nothing is said (R6)."""
    nodes = view.nodes_of(machine.provider_id)
    if provisioner.ttl_after_empty_s is None or not machine.is_initialized or len(nodes) != 1:
        return Part(MACHINE_EMPTY)
    node = nodes[0]
    if nomination.nominated_for(view, node, moment) is not None:
        return Part(MACHINE_EMPTY, wake_at=moment.after(view.settings.cadence.nominated_poll_s))
    if view.unreadable_pods_on(node.name):
        # Nothing tells us when such a pod is mended or gone.
        return Part(MACHINE_EMPTY, wake_at=moment.after(view.settings.cadence.nominated_poll_s))
    limit_s = view.settings.cadence.stuck_terminating_s
    counted = pods.counted(view.pods_on(node.name), moment, pods.Patience(limit_s))
    if counted:
        # R5: a terminating pod counts until it is gone or stuck, and nothing tells us the latter.
        ends = [pod.stops_by for pod in counted if pod.stops_by is not None]
        stuck_at = [moment.at(later(end, limit_s + STUCK_SLACK_S)) for end in ends]
        return Part(MACHINE_EMPTY, wake_at=earliest(*stuck_at))
    return Part(MACHINE_EMPTY, conditions.true(MACHINE_EMPTY))


PARTS: tuple[Callable[[View, Machine, Provisioner, Moment], Part], ...] = (
    expiration,
    drift,
    emptiness,
)


def advance(view: View, key: str, memory: None, moment: Moment) -> Step[Any]:
    """Bring the conditions of the machine called ``key`` up to date in one patch."""
    del memory
    machine = view.machine(key)
    if machine is None or machine.is_deleting or not is_our_machine(machine, view.identity):
        return Step()
    provisioner = view.provisioner(machine.provisioner_name)
    if provisioner is None or validate(provisioner):
        return Step()  # spec 7.1: existing conditions stay
    if made_from.is_on(view.settings, machine) and machine.is_launched:
        lacking = made_from.missing_stamps(view, machine, provisioner)
        if lacking:
            why = "what it was made from is not written down as we would compare it"
            return Step(effects=(describe(machine, annotations=lacking, why=why),))
    machine = observing.as_supposed(view, machine)
    parts = [part(view, machine, provisioner, moment) for part in PARTS]
    step = written(machine, parts, moment)
    return msgspec.structs.replace(step, effects=(*step.effects, *_mirrored(view, machine, parts)))


def _mirrored(view: View, machine: Machine, parts: Sequence[Part]) -> tuple[Patch, ...]:
    """001:186-194: the first of our values that is there stays while it is true."""
    true = [MARKS[one.kind] for one in parts if one.condition is not None and one.kind in MARKS]
    nodes = view.nodes_of(machine.provider_id)
    if len(nodes) != 1 or nodes[0].is_deleting or not is_ours(view, nodes[0]):
        return ()
    (node,) = nodes
    held = node.metadata.annotations.get(names.VOLUNTARY_DISRUPTION)
    is_others = held is not None and held not in MARKS.values()
    if is_others or held in true or (held is None and not true):
        return ()
    mark = true[0] if true else None
    body = {"metadata": {"annotations": {names.VOLUNTARY_DISRUPTION: mark}}}
    why = f"its machine is {mark}" if mark else f"its machine is not {held} any more"
    return (patch_as_seen(node, body, why=why),)


def written(machine: Machine, parts: Sequence[Part], moment: Moment) -> Step[Any]:
    """Write all that applies, and remove all that does not, in one patch (T121, T122)."""
    wanted = [part.condition for part in parts if part.condition is not None]
    facts = tuple(
        fact for one in wanted if not machine.has(one.type) for fact in _disrupted(machine, one)
    )
    patch = conditions.update(
        machine,
        *wanted,
        moment=moment,
        removed=[part.kind for part in parts if part.condition is None],
        facts=facts,
    )
    asks = tuple(ask for part in parts for ask in part.asks)
    wake_at = earliest(*(part.wake_at for part in parts))
    return Step(effects=(*patch, *asks), wake_at=wake_at)


def _disrupted(machine: Machine, condition: Condition) -> Iterator[Fact]:
    owner = machine.provisioner_name
    kind = condition.type.removeprefix("Machine").lower()
    yield Fact("machines_disrupted", {"type": kind, "provisioner": owner})
    if condition.type == MACHINE_DRIFTED:
        yield Fact("machines_drifted", {"type": condition.reason, "provisioner": owner})
