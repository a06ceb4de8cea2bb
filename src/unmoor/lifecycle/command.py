"""How a command is carried out, from its object to its end (001:18-24).

The ``Disruption`` exists before anything else happens, so a restart finds what was begun. In
order: each node is cordoned, with the command's name in the same patch; after a short while each is
looked at again on fresh state, and whichever should not go after all is left out, first in the
object and then on the node; the API server itself is asked which pods are on the others, as a watch
may have missed one, and whether the command as a whole is still right. Then its replacements are
made, if it has any, and waited for, and all is looked at once more. Then the phase says that the
nodes go, and only then are they deleted. It is over when they are gone and the pods that it moved
are ready again (R3).

A node that the server refuses to change is left out, too, after a while: others wait for its
command. Where a replacement does not come up, nothing goes (001:21). What is left of a command that
was cancelled, marks on nodes and machines that came for nothing, is taken back by ``ledger``.

Must not: choose nodes (``policy``), or drain them (``termination``).
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from unmoor.lifecycle import command_report as report
from unmoor.lifecycle import replacements
from unmoor.lifecycle.command_phases import (
    Confirming,
    Deciding,
    Deleting,
    Emptied,
    Ended,
    Gone,
    HeldBack,
    Launching,
    LeavingOut,
    Marking,
    Memory,
    Over,
    Phase,
    Settling,
    Uncordoned,
    Withdrawn,
    phase_of,
    remembered,
    writing,
)
from unmoor.lifecycle.effects import (
    AnyEffect,
    Fact,
    Patch,
    cordon,
    patch_as_seen,
    retire,
    say,
    say_all,
    uncordon,
)
from unmoor.lifecycle.replacements import Coming, Creating, Failed, Recording
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model.disruption import Disruption, DisruptionPhase, LeftOut
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Verdict

TOLD_MAX = 20
"""So many nodes that are left out become events at once; the object names all."""
NODES_AT_ONCE_MAX = 1_000
"""So many nodes are written to in one step; the rest in the next, for each write wakes us again.

A command of ours names no more, but a person may have written one.
"""


_FIELDS = {"left_out": "leftOut", "launched": "launched", "homeless": "homeless"}


def _left_behind(view: View, command: Disruption) -> tuple[Node, ...]:
    """Nodes that were left out and still bear the mark."""
    return tuple(
        node
        for node in view.nodes_in(command.name)
        if node.name in command.status.left_out and not node.is_deleting
    )


def advance(view: View, command: Disruption, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Take one step of a running command, and let go of what was left out of it."""
    if command.is_observed or view.identity.is_observing:
        return Step(memory=memory)
    known = remembered(command, memory or Memory(), moment)
    phase = phase_of(view, command, known, moment)
    dropped = _left_behind(view, command)[:NODES_AT_ONCE_MAX]
    # The others are as they should be, however many are left out.
    ready_at = known.ready_at if isinstance(phase, LeavingOut) else None
    letting_go = Step[Memory](
        effects=tuple(_let_go(node, command) for node in dropped),
        memory=msgspec.structs.replace(known, ready_at=ready_at, writing=()),
    )
    return join(letting_go, _advance(view, command, phase, known, moment))


def _advance(
    view: View, command: Disruption, phase: Phase, memory: Memory, moment: Moment
) -> Step[Memory]:
    match phase:
        case Marking(nodes):
            marks = tuple(_mark(node, command) for node in nodes[:NODES_AT_ONCE_MAX])
            return Step(effects=marks, memory=writing(phase, memory, moment))
        case Confirming(since, asking, words):
            waiting = spoken(report.running(command, words))
            known = msgspec.structs.replace(memory, ready_at=since, writing=())
            return join(join(waiting, Step(memory=known)), asking)
        case Creating() | Recording() | Coming() | Failed() | HeldBack():
            return _launch(view, command, phase, moment)
        case Deciding() | Emptied() | Gone() | Ended():
            return _turn(command, phase, moment)
        case Uncordoned() | LeavingOut() | Withdrawn() | Over():
            return _end_or_shrink(command, phase, moment)
        case Deleting():
            known = writing(phase, memory, moment)
            return join(Step(memory=known), _delete(view, command, phase, moment))
        case Settling(owners):
            again = moment.after(view.settings.cadence.drain_poll_s)
            return spoken(report.settling(command, owners), wake_at=again)
        case never:
            assert_never(never)


def _launch(
    view: View, command: Disruption, phase: Launching | HeldBack, moment: Moment
) -> Step[Memory]:
    """001: pre-spin the replacements, and wait for them to become ready."""
    again = moment.after(replacements.poll_s(view, command, moment))
    match phase:
        case Creating(new):
            return replacements.create(view, command, new)
        case Recording(seen):
            launched = {one.name: one.uid for one in seen}
            patch = _write(command, command.phase, moment, launched=launched)
            return Step(effects=(patch, *replacements.told_of_launch(command, seen)))
        case Coming(machines):
            verdict = report.launching(command, machines)
            told = Step[Memory](effects=replacements.told_of_wait(command, machines))
            return join(spoken(verdict, wake_at=again), told)
        case HeldBack(verdicts):
            waits = report.running(command, f"its replacements are ready: {verdicts[0].message}")
            return spoken(waits, wake_at=again)
        case Failed(why):
            return _fail(view, command, why, moment)
        case never:
            assert_never(never)


def _turn(
    command: Disruption, phase: Deciding | Emptied | Gone | Ended, moment: Moment
) -> Step[Memory]:
    """The object's phase moves on."""
    match phase:
        case Deciding(to):
            is_up = command.phase is DisruptionPhase.LAUNCHING
            facts = (replacements.waited(command, moment),) if is_up else ()
            return Step(effects=(_write(command, to, moment, facts=facts),))
        case Emptied():
            message = command.status.message or "no node was left in it"
            patch = _write(command, DisruptionPhase.CANCELLED, moment, message=message)
            return Step(effects=(patch,))
        case Gone():
            return Step(effects=(_write(command, DisruptionPhase.SETTLING, moment),))
        case Ended():
            return Step()
        case never:
            assert_never(never)


def _end_or_shrink(
    command: Disruption, phase: Uncordoned | LeavingOut | Withdrawn | Over, moment: Moment
) -> Step[Memory]:
    match phase:
        case Uncordoned(nodes):
            return _cancel(command, nodes, moment)
        case LeavingOut(verdicts):
            # In the object first: what is not there may still bear the mark.
            left_out = {one.subject.name: report.left_out(one) for one in verdicts}
            patch = _write(command, command.phase, moment, left_out=left_out)
            return Step(effects=(patch, *say_all(verdicts[:TOLD_MAX])), verdicts=verdicts)
        case Withdrawn(verdict):
            # Where machines have come already, the same is not tried again at once.
            is_paid = command.phase is DisruptionPhase.LAUNCHING
            patch = _write(
                command,
                DisruptionPhase.CANCELLED,
                moment,
                message=verdict.message,
                left_out=_all_out(command, verdict) if is_paid else {},
            )
            return Step(effects=(patch, *say(verdict)), verdicts=(verdict,))
        case Over():
            return _succeed(command, phase, moment)
        case never:
            assert_never(never)


def _all_out(command: Disruption, verdict: Verdict) -> dict[str, LeftOut]:
    """None of its nodes goes; their method leaves them alone for a while."""
    return {node.name: report.unreplaced(verdict) for node in command.nodes}


def _fail(view: View, command: Disruption, why: dict[str, str], moment: Moment) -> Step[Memory]:
    """001: un-cordon the nodes, and restart."""
    verdict = report.replacement_failed(command, why)
    patch = _write(
        command,
        DisruptionPhase.CANCELLED,
        moment,
        message=verdict.message,
        left_out=_all_out(command, verdict),
        facts=(replacements.waited(command, moment), replacements.counted(command, len(why))),
    )
    again = moment.after(view.settings.cadence.deprovisioning_again_s)
    return Step(effects=(patch, *say(verdict)), verdicts=(verdict,), wake_at=again)


def _write(
    command: Disruption,
    phase: DisruptionPhase,
    moment: Moment,
    *,
    message: str = "",
    facts: tuple[Fact, ...] = (),
    **more: dict[str, Any],
) -> Patch:
    """Write the status; the phase's beginning moves only with the phase.

    ``more``: what is added to ``left_out``, ``launched`` or ``homeless``.
    """
    status: dict[str, Any] = {"phase": phase}
    if phase is not command.phase:
        status["phaseSince"] = moment.wall
    if command.status.started_at is None:
        status["startedAt"] = moment.wall
    if phase.is_final:
        status["finishedAt"] = moment.wall
    if message:
        status["message"] = message
    status |= {_FIELDS[name]: added for name, added in more.items() if added}
    body, why = {"status": msgspec.to_builtins(status)}, message or f"phase {phase}"
    return patch_as_seen(command, body, subresource="status", why=why, facts=facts)


def _mark(node: Node, command: Disruption) -> Patch:
    """001: cordon the nodes; the command's name in the same patch (R2)."""
    return cordon(node, disruption=command.name, why=f"{command.spec.method}: {command.name}")


def _let_go(node: Node, command: Disruption) -> Patch:
    return uncordon(node, why=f"{command.name} goes on without it")


def _cancel(command: Disruption, nodes: tuple[Node, ...], moment: Moment) -> Step[Memory]:
    """A person's uncordon in the middle ends the command; deletions asked for go on."""
    verdict = report.cancelled(command, nodes)
    patch = _write(
        command,
        DisruptionPhase.CANCELLED,
        moment,
        message=report.uncordoned(nodes),
        left_out={node.name: report.taken_back(node) for node in nodes},
    )
    return Step(effects=(patch, *say(verdict)), verdicts=(verdict,))


def _delete(
    view: View,
    command: Disruption,
    phase: Deleting,
    moment: Moment,
) -> Step[Memory]:
    """001: delete the nodes and wait for the termination controller."""
    by_name = {one.name: one for one in command.spec.nodes}
    effects: list[AnyEffect] = []
    for node in phase.new[:NODES_AT_ONCE_MAX]:
        effects.append(_deletion(node, view.identity.cluster, command))
        effects += report.going(node, by_name[node.name], command)
    verdict = report.running(
        command, f"nodes are still there ({len(phase.left)}): {phase.left[0].name}"
    )
    again = moment.after(view.settings.cadence.drain_poll_s)
    return join(spoken(verdict, wake_at=again), Step(effects=tuple(effects)))


def _deletion(node: Node, cluster: str, command: Disruption) -> AnyEffect:
    labels = {"reason": command.action, "provisioner": node.provisioner_name}
    facts = (Fact("machines_terminated", labels),)
    return retire(node, cluster, why=f"{command.name}: {command.spec.reason}", facts=facts)


def _succeed(command: Disruption, over: Over, moment: Moment) -> Step[Memory]:
    done, words = DisruptionPhase.SUCCEEDED, over.message
    patch = _write(command, done, moment, message=words, homeless=over.homeless)
    if not words:
        return Step(effects=(patch,))
    verdict = report.unsettled(command, words)
    return Step(effects=(patch, *say(verdict)), verdicts=(verdict,))
