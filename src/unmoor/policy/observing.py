"""What is only observed: decided on and recorded, with no node, pod or machine touched?

| what a person writes | what is observed |
|---|---|
| ``unmoor run --observe`` | everything that this process decides |
| the setting ``unmoor.observe`` | the methods that it names |
| the annotation ``unmoor.dev/observe: "true"`` on a Provisioner | what concerns its nodes |

What is observed is looked at by itself, after what is carried out, so that neither stands in the
other's way. An observed command stands as long as the same would be decided: meanwhile its nodes
count as gone for what is observed besides, and use up the budgets of that.

Must not: decide what is worth doing.
"""

from __future__ import annotations

import msgspec

from unmoor.model import names
from unmoor.model.base import Condition
from unmoor.model.disruption import Disruption
from unmoor.model.kinds import DISRUPTIONS, PROVISIONERS
from unmoor.model.machine import MACHINE_DRIFTED, MACHINE_EMPTY, MACHINE_EXPIRED, Machine
from unmoor.model.observation import Answer, Asked
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method

OF_METHODS = frozenset({MACHINE_EXPIRED, MACHINE_DRIFTED, MACHINE_EMPTY})
"""The conditions of a machine that methods go by."""


def why(view: View, method: Method, provisioner: Provisioner) -> str:
    """Say by whose word a method only observes the nodes of a provisioner, "" when it acts."""
    if view.identity.is_observing:
        return "unmoor runs with --observe"
    if method in view.settings.observe:
        return f"the setting unmoor.observe names {method}"
    if provisioner.metadata.annotations.get(names.OBSERVE) == names.TRUE:
        return f'provisioner {provisioner.name} carries the annotation "{names.OBSERVE}"'
    return ""


def is_any(view: View) -> bool:
    """True when something is observed."""
    return (
        view.identity.is_observing
        or bool(view.settings.observe)
        or any(
            one.metadata.annotations.get(names.OBSERVE) == names.TRUE
            for one in view.all(PROVISIONERS).values()
        )
    )


def as_supposed(view: View, machine: Machine) -> Machine:
    """Return a machine with the conditions that it would have, had we written them."""
    if not view.identity.is_observing:
        return machine
    supposed: Answer[tuple[Condition, ...]] | None = view.answer(Asked.SUPPOSED, machine.uid)
    if supposed is None or supposed.result is None:
        return machine
    ours = {one.type: one for one in supposed.result if one.type in OF_METHODS}
    kept = tuple(one for one in machine.status.conditions if one.type not in OF_METHODS)
    status = msgspec.structs.replace(machine.status, conditions=(*kept, *ours.values()))
    return msgspec.structs.replace(machine, status=status)


def standing(view: View) -> tuple[Disruption, ...]:
    """Return the observed commands that stand, by name."""
    return tuple(one for one in view.sorted(DISRUPTIONS) if one.is_standing)


def gone(view: View) -> frozenset[str]:
    """Return the names of the nodes that would be gone by now."""
    return frozenset(node.name for one in standing(view) for node in one.nodes)
