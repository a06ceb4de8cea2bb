"""What becomes of a machine that was made for a command, when the command is over?

| the command | the machine |
|---|---|
| succeeded | is an ordinary one from now on: the mark goes |
| was cancelled, or somebody has removed it | goes, unless it serves somebody |

It serves somebody while a pod is on its node, or is on its way there; or when a person wants the
node to stay. Then it is an ordinary one, too. Before it goes, the server itself is asked who is
there, and a Disruption counts as missing only when the server says so. The mark is on the Machine
alone, so who removes it keeps the machine.

Must not: touch the machines of a running command.
"""

from __future__ import annotations

from typing import Any

from unmoor.lifecycle import roll_call
from unmoor.lifecycle.effects import AnyEffect, Fact, Patch, delete_as_seen, describe, say_all
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import MACHINES, ref_of
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.policy import nomination, ownership, pods
from unmoor.policy.verdict import Method, Reason, Verdict

AT_ONCE_MAX = 1_000
"""So many are looked into in one step; the rest in the next."""
TOLD_MAX = 20
"""So many become events in one step."""
COUNTED_AS = "replacement_not_needed"
"""The reason in ``machines_terminated``."""


def bearing(view: View) -> list[Machine]:
    """Return the machines of ours that bear the name of a command, by name."""
    found = [one for one in view.all(MACHINES).values() if one.replacement_for]
    ours = [one for one in found if not one.is_deleting and _is_ours(view, one)]
    return sorted(ours, key=lambda one: one.name)


def _is_ours(view: View, machine: Machine) -> bool:
    return ownership.is_our_machine(machine, view.identity)


def tidy(view: View, moment: Moment) -> Step[Any]:
    """Let go of machines that no command waits for any more."""
    effects: list[AnyEffect] = []
    verdicts: list[Verdict] = []
    wakes: list[float] = []
    for machine in bearing(view)[:AT_ONCE_MAX]:
        step = _of_mark(view, machine, moment)
        effects += step.effects
        verdicts += step.verdicts
        wakes += [step.wake_at] if step.wake_at is not None else []
    effects += say_all(verdicts, TOLD_MAX)
    wake_at = min(wakes, default=None)
    return Step(effects=tuple(effects), verdicts=tuple(verdicts), wake_at=wake_at)


def _of_mark(view: View, machine: Machine, moment: Moment) -> Step[Any]:
    command = view.disruption(machine.replacement_for)
    if command is None:
        asking = roll_call.is_command_gone(view, machine, machine.replacement_for, moment)
        why = f"{machine.replacement_for} does not exist"
        return _roll_back(view, machine, why, moment) if asking is None else asking
    if command.is_running:
        return Step()
    if command.phase is DisruptionPhase.SUCCEEDED:
        return Step(effects=(_release(machine, f"{command.name} is over"),))
    return _roll_back(view, machine, _why(command), moment)


def _why(command: Disruption) -> str:
    return f"{command.name} is {'being deleted' if command.is_deleting else command.phase}"


def _roll_back(view: View, machine: Machine, why: str, moment: Moment) -> Step[Any]:
    if served := _whom_it_serves(view, machine, moment):
        return Step(effects=(_release(machine, f"{why}, and {served}"),))
    for node in view.nodes_of(machine.provider_id):
        question = roll_call.pods_of(view, node, Method.LIFECYCLE)
        asking = roll_call.step_for(view, question, moment.mono - question.good_s, moment)
        if asking is not None:
            return asking
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.ROLLED_BACK,
        message=f"machine {machine.name} came for nothing and goes: {why}, and nobody is on it",
        evidence={"disruption": machine.replacement_for},
        event="DeprovisioningCancelled",
        is_refusal=False,
    )
    labels = {"reason": COUNTED_AS, "provisioner": machine.provisioner_name}
    facts = (Fact("machines_terminated", labels),)
    delete = delete_as_seen(machine, why=why, facts=facts)
    return Step(effects=(delete,), verdicts=(verdict,))


def _release(machine: Machine, why: str) -> Patch:
    return describe(machine, annotations={names.REPLACEMENT_FOR: None}, why=why)


def _whom_it_serves(view: View, machine: Machine, moment: Moment) -> str:
    """Who would miss it, "" when nobody would."""
    patience = pods.Patience(view.settings.cadence.stuck_terminating_s)
    coming = nomination.expected_on(view, machine, moment)
    for node in view.nodes_of(machine.provider_id):
        if names.DO_NOT_DISRUPT in node.metadata.annotations:
            return f'node {node.name} carries the annotation "{names.DO_NOT_DISRUPT}"'
        if view.unreadable_pods_on(node.name):
            return f"a pod on node {node.name} cannot be read"
        for pod in pods.counted(view.pods_on(node.name), moment, patience):
            return f"pod {pod.namespace}/{pod.name} is on node {node.name}"
        coming = coming or nomination.nominated_for(view, node, moment)
    return "" if coming is None else f"pod {coming.namespace}/{coming.name} is to go there"
