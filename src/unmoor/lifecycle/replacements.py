"""How far are the machines that a command waits for? (001:20-21, spec 4.1)

Each is made once, under the name that the command has written down. As soon as it has been seen,
its uid is written down as well: if it is gone then, because the cloud had no capacity, its node
never joined, or somebody deleted it, it has failed and is not made again. So it has when the server
refuses it, or when its provisioner may make no machine. How long they are waited for is
``command_phases``' question.

Must not: choose what is made, or take anything back (``replacement_end``).
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import commitment, doubtful, new_machine, refusals
from unmoor.lifecycle.effects import AnyEffect, Fact, Publish
from unmoor.lifecycle.new_machine import Purpose
from unmoor.lifecycle.refusals import Refused
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.disruption import Disruption, Replacement
from unmoor.model.kinds import ref_of
from unmoor.model.machine import LIVING_CONDITIONS, MACHINE_DRIFTED, Machine
from unmoor.model.moment import Moment
from unmoor.model.observation import Asked
from unmoor.model.provisioner import Provisioner, validate
from unmoor.model.quantity import QuantityError
from unmoor.model.requirement import RequirementError
from unmoor.model.snapshot import View
from unmoor.policy import methods, stock

AT_ONCE_MAX = 1_000
"""So many are made in one step."""
TOLD_MAX = 20
"""Of so many it is told that they are waited for."""


class Failed(msgspec.Struct, frozen=True):
    """Some will not come: what is said of each, by name."""

    why: dict[str, str]


class Creating(msgspec.Struct, frozen=True):
    """Some were not made yet."""

    new: tuple[Replacement, ...]


class Recording(msgspec.Struct, frozen=True):
    """Some are there, and it is not written down yet which."""

    seen: tuple[Machine, ...]


class Coming(msgspec.Struct, frozen=True):
    """All are there, and these are not ready for pods yet."""

    machines: tuple[Machine, ...]


class Ready(msgspec.Struct, frozen=True):
    """All are ready for pods."""


State: TypeAlias = Failed | Creating | Recording | Coming | Ready


def state_of(view: View, command: Disruption, moment: Moment) -> State:
    """Read off the world how far they are."""
    named = command.spec.replacements
    found = [(one, view.machine(one.name)) for one in named]
    why = {one.name: _why_failed(view, command, one, machine, moment) for one, machine in found}
    if failed := {name: words for name, words in why.items() if words}:
        return Failed(failed)
    if new := tuple(one for one, machine in found if machine is None):
        return Creating(new)
    there = [machine for _, machine in found if machine is not None]
    if seen := tuple(one for one in there if one.name not in command.status.launched):
        return Recording(seen)
    coming = tuple(one for one in there if missing_of(view, one))
    return Coming(coming) if coming else Ready()


def _why_failed(
    view: View, command: Disruption, one: Replacement, machine: Machine | None, moment: Moment
) -> str:
    """Why it will not come, "" while it may."""
    uid = command.status.launched.get(one.name, "")
    if machine is None and not uid:
        return _why_not_made(view, command, one, moment)
    if machine is None or machine.is_deleting or uid not in {"", machine.uid}:
        return "it is gone again; the events of the Machine say why"
    if any(node.is_deleting for node in view.nodes_of(machine.provider_id)):
        return "its node is being deleted"
    if machine.replacement_for != command.name:
        return "it is not the one that was made for this"
    drifted = machine.condition(MACHINE_DRIFTED)
    if drifted is not None and drifted.status == "True":
        # Else it would be the next to be replaced, and so on for ever.
        return f"it has drifted itself before it was up: {drifted.reason}: {drifted.message}"
    return ""


def lost(view: View, command: Disruption) -> str:
    """Say which replacement that was up is on its way out by now, and why; "" for none (R18)."""
    for one in command.spec.replacements:
        machine = view.machine(one.name)
        if machine is None or machine.is_deleting:
            return f"its replacement {one.name} is gone again"
        if any(node.is_deleting for node in view.nodes_of(machine.provider_id)):
            return f"the node of its replacement {one.name} is being deleted"
    return ""


def _why_not_made(view: View, command: Disruption, one: Replacement, moment: Moment) -> str:
    """Why it cannot be made at all, "" when nobody knows better."""
    provisioner = view.provisioner(one.provisioner)
    if provisioner is None or provisioner.is_deleting:
        return f"provisioner {one.provisioner} is gone"
    if errors := validate(provisioner):
        return f"its provisioner is not valid: {errors[0]}"
    if not one.instance_types:
        return "what is written of it names no type of instance"
    try:
        commitment.planned(command, one)
    except (RequirementError, QuantityError) as error:
        return f"what is written of it means nothing: {error}"
    if said := _refusal(view, command, provisioner):
        return said
    hold = doubtful.doubts(view, {}, moment).held.get(one.provisioner)
    if hold is not None and not hold.is_on_trial:
        return f"provisioner {one.provisioner} makes no machine now: {hold.words}"
    return ""


def _refusal(view: View, command: Disruption, provisioner: Provisioner) -> str:
    """What the server says who refuses machines of its provisioner since we try to make one."""
    answer = view.answer(Asked.CREATION, provisioner.uid)
    since = command.status.phase_since
    if answer is None or answer.problem is None or since is None or answer.at.wall < since:
        return ""
    return refusals.words_of(Refused(answer.problem, answer.at.mono, 1, answer.at.mono), "it")


def missing_of(view: View, machine: Machine) -> str:
    """Say what a machine still needs before pods may run on it, "" when nothing."""
    for kind in LIVING_CONDITIONS:
        condition = machine.condition(kind)
        if condition is None or not condition.is_true:
            said = (condition.message or condition.reason) if condition is not None else ""
            return f"{kind} is not True{f' ({said})' if said else ''}"
    for node in view.nodes_of(machine.provider_id):
        if not node.is_ready:
            return f"its node {node.name} is not ready"
        if node.is_cordoned:
            return f"its node {node.name} is cordoned"
    return ""


def create(view: View, command: Disruption, new: tuple[Replacement, ...]) -> Step[Any]:
    """Make those that were not made yet; the same name again is the same machine."""
    effects: list[AnyEffect] = []
    sold = stock.by_name(view)
    purpose = Purpose(
        reason=command.action, command=command.name, replaced=_replaced_types(view, command)
    )
    for one in new[:AT_ONCE_MAX]:
        provisioner, planned = view.provisioner(one.provisioner), commitment.planned(command, one)
        assert provisioner is not None, one.provisioner
        effects.append(
            new_machine.create(
                view,
                provisioner,
                planned,
                one.name,
                sold,
                purpose,
            )
        )
    return Step(effects=tuple(effects))


def _replaced_types(view: View, command: Disruption) -> tuple[str, ...]:
    """Those that are replaced for their price; what drifts is replaced by its like."""
    row = methods.row_of(command)
    if row is None or not row.is_for_price:
        return ()
    nodes = (view.node(one.name) for one in command.nodes)
    types = {one.metadata.labels.get(names.INSTANCE_TYPE, "") for one in nodes if one is not None}
    return tuple(sorted(types - {""}))


def told_of_launch(command: Disruption, machines: tuple[Machine, ...]) -> tuple[Publish, ...]:
    """Say on each machine what it is for (spec 10.2)."""
    nodes = command.spec.summary
    message = f"launching for {command.action} of {nodes}: {command.spec.reason} ({command.name})"
    return tuple(
        Publish(regarding=ref_of(one), reason="DeprovisioningLaunching", message=message)
        for one in machines[:TOLD_MAX]
    )


def told_of_wait(command: Disruption, machines: tuple[Machine, ...]) -> tuple[Publish, ...]:
    """Say on each machine that it is waited for."""
    message = f"it is waited for until it is ready for pods ({command.name})"
    return tuple(
        Publish(regarding=ref_of(one), reason="DeprovisioningWaitingReadiness", message=message)
        for one in machines[:TOLD_MAX]
    )


def waited(command: Disruption, moment: Moment) -> Fact:
    """How long they took, whatever came of it (spec 4.1)."""
    waited_s = moment.since_s(command.status.phase_since)
    return Fact("deprovisioning_replacement_machine_initialized_seconds", value=waited_s)


def counted(command: Disruption, failures: int) -> Fact:
    """So many did not come up."""
    return Fact(
        "deprovisioning_replacement_machine_launch_failure_counter",
        {"deprovisioner": command.action},
        float(failures),
    )


def poll_s(view: View, command: Disruption, moment: Moment) -> float:
    """How soon to look again: longer and longer intervals, since each change wakes us anyway."""
    cadence = view.settings.cadence
    waited_s = moment.since_s(command.status.phase_since)
    return min(max(cadence.replacement_poll_s, waited_s), cadence.replacement_poll_most_s)


def late(view: View, state: Creating | Recording | Coming, limit_s: float) -> Failed:
    """They have had their time."""
    match state:
        case Creating(new):
            why = {one.name: "it could not be made" for one in new}
        case Recording(machines) | Coming(machines):
            why = {one.name: missing_of(view, one) or "it was not written down" for one in machines}
        case never:
            assert_never(never)
    return Failed(
        {name: f"it was not ready after {limit_s:g} s: {what}" for name, what in why.items()}
    )
