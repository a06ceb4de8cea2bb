"""Which disruption conditions does a machine have: empty, and later expired and drifted (spec 7.1).

Each part says what its condition should be; all are written in one patch. A condition is True or it
is not there. That of emptiness is the emptiness clock: it is set when the last workload pod is gone
or terminal, at first sight at the latest, and moves only with its status (R5).

Must not: make a node go; that is the methods' question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from unmoor.lifecycle import conditions
from unmoor.lifecycle.effects import Fact, describe
from unmoor.lifecycle.step import Step
from unmoor.model.base import Condition
from unmoor.model.machine import MACHINE_EMPTY, Machine
from unmoor.model.moment import Moment, earliest, later
from unmoor.model.provisioner import Provisioner, validate
from unmoor.model.snapshot import View
from unmoor.policy import made_from, nomination, observing, pods
from unmoor.policy.ownership import is_our_machine

STUCK_SLACK_S = 0.1
"""A pod is stuck from just after its limit on, not at it."""


class Part(msgspec.Struct, frozen=True):
    """What one method wants: the condition, or None for "not there"; and when to look again."""

    kind: str
    condition: Condition | None = None
    wake_at: float | None = None


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


PARTS: tuple[Callable[[View, Machine, Provisioner, Moment], Part], ...] = (emptiness,)
"""Expiration and drift come here."""


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
    return written(machine, parts, moment)


def written(machine: Machine, parts: Sequence[Part], moment: Moment) -> Step[Any]:
    """Write all that applies, and remove all that does not, in one patch (T121, T122)."""
    wanted = [part.condition for part in parts if part.condition is not None]
    facts = tuple(_disrupted(machine, one) for one in wanted if not machine.has(one.type))
    patch = conditions.update(
        machine,
        *wanted,
        moment=moment,
        removed=[part.kind for part in parts if part.condition is None],
        facts=facts,
    )
    return Step(effects=patch, wake_at=earliest(*(part.wake_at for part in parts)))


def _disrupted(machine: Machine, condition: Condition) -> Fact:
    kind = condition.type.removeprefix("Machine").lower()
    return Fact("machines_disrupted", {"type": kind, "provisioner": machine.provisioner_name})
