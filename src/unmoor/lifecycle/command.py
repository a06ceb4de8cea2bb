"""How a command is carried out, from its object to its end (001:18-24).

The ``Disruption`` exists before anything else happens, so a restart finds what was begun. In
order: each node is cordoned, with the command's name in the same patch; after a short while each is
looked at again on fresh state, and whichever should not go after all is left out, first in the
object and then on the node; the API server itself is asked which pods are on the others, as a watch
may have missed one; then the phase says that they go, and only then are nodes deleted. It is over
when the nodes are gone and the pods that it moved are ready again (R3).

A node that the server refuses to change is left out, too, after a while: others wait for its
command. A person's word counts: who uncordons a node cancels its command, who deletes it is obeyed.

Must not: choose nodes (``policy``), or drain them (``termination``).
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import command_report as report
from unmoor.lifecycle import roll_call
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
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model.disruption import Disruption, DisruptionPhase, LeftOut
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.observation import Asked
from unmoor.model.snapshot import View
from unmoor.policy import methods, settling
from unmoor.policy.settling import Unsettled
from unmoor.policy.simulation import Simulator
from unmoor.policy.verdict import Verdict

TOLD_MAX = 20
"""So many nodes that are left out become events at once; the object names all."""
NODES_AT_ONCE_MAX = 1_000
"""So many nodes are written to in one step; the rest in the next, for each write wakes us again.

A command of ours names no more, but a person may have written one.
"""


class Memory(msgspec.Struct, frozen=True):
    """Droppable: when all nodes of which command were first seen cordoned; how many refusals of a
    long list have been ``told``; the uids of nodes that are written to, all since ``writing_at``;
    and in ``simulator`` what the last look has found out.
    """

    name: str = ""
    cordoned_at: float | None = None
    told: int = 0
    writing: tuple[str, ...] = ()
    writing_at: float = 0.0
    simulator: Simulator = msgspec.field(default_factory=Simulator)


class Uncordoned(msgspec.Struct, frozen=True):
    """A person has taken nodes back."""

    nodes: tuple[Node, ...]


class LeavingOut(msgspec.Struct, frozen=True):
    """Nodes that should not go after all, with the reason."""

    verdicts: tuple[Verdict, ...]


class Marking(msgspec.Struct, frozen=True):
    """Nodes without the mark."""

    new: tuple[Node, ...]


class Confirming(msgspec.Struct, frozen=True):
    """All are cordoned; a scheduler that does not know it yet is waited for, then the API asked."""

    since: float
    asking: Step[Any]


class Deciding(msgspec.Struct, frozen=True):
    """The last look was good: what follows cannot be taken back."""


class Emptied(msgspec.Struct, frozen=True):
    """No node is left in the command before any was deleted."""


class Deleting(msgspec.Struct, frozen=True):
    """Nodes whose deletion is to be asked for (``new``), and all that are not gone."""

    new: tuple[Node, ...]
    left: tuple[Node, ...]


class Gone(msgspec.Struct, frozen=True):
    """All nodes are gone."""


class Settling(msgspec.Struct, frozen=True):
    """Pods that were moved are not ready again yet."""

    owners: tuple[Unsettled, ...]


class Over(msgspec.Struct, frozen=True):
    """Everything is done. ``message``: what was given up, "" when nothing was."""

    message: str = ""


class Ended(msgspec.Struct, frozen=True):
    """Final, nothing further happens."""


Phase: TypeAlias = (
    Uncordoned
    | LeavingOut
    | Marking
    | Confirming
    | Deciding
    | Emptied
    | Deleting
    | Gone
    | Settling
    | Over
    | Ended
)


def phase_of(view: View, command: Disruption, memory: Memory, moment: Moment) -> Phase:
    """Read the phase off the object and its nodes."""
    match command.phase:
        case DisruptionPhase.PENDING | DisruptionPhase.LAUNCHING:
            return _before_deleting(view, command, memory, moment)
        case DisruptionPhase.DELETING:
            return _while_deleting(view, command, memory, moment)
        case DisruptionPhase.SETTLING:
            return _while_settling(view, command, moment)
        case DisruptionPhase.SUCCEEDED | DisruptionPhase.CANCELLED:
            return Ended()
        case never:
            assert_never(never)


def _before_deleting(view: View, command: Disruption, memory: Memory, moment: Moment) -> Phase:
    nodes = _present(view, command)
    if taken := tuple(node for node in nodes if _is_taken_back(node, command)):
        return Uncordoned(taken)
    staying = [node for node in nodes if not node.is_deleting]
    judged = [methods.still_holds(view, command, node, moment) for node in staying]
    if refused := tuple(verdict for verdict in judged if verdict is not None):
        return LeavingOut(refused)  # R30
    if unmarked := tuple(node for node in staying if node.disruption != command.name):
        return _unless_refused(view, command, memory, Marking(unmarked), moment)
    if not nodes:
        return Emptied()
    known_at = memory.cordoned_at if memory.name == command.name else None
    since = moment.mono if known_at is None else known_at
    method, until = methods.method_of(command), since + view.settings.cadence.cordon_quiet_s
    asking = roll_call.of_nodes(view, staying, method, until, moment)
    return Deciding() if asking is None else Confirming(since, asking)


def _while_deleting(view: View, command: Disruption, memory: Memory, moment: Moment) -> Phase:
    nodes = _present(view, command)
    if not nodes:
        return Gone()
    staying = tuple(node for node in nodes if not node.is_deleting)
    if taken := tuple(node for node in staying if not node.is_cordoned):
        return Uncordoned(taken)  # all were cordoned when this phase began
    judged = [methods.still_ours(view, command, node) for node in staying]
    if refused := tuple(verdict for verdict in judged if verdict is not None):
        return LeavingOut(refused)
    return _unless_refused(view, command, memory, Deleting(staying, nodes), moment)


def _unless_refused(
    view: View, command: Disruption, memory: Memory, phase: Marking | Deleting, moment: Moment
) -> Phase:
    """A node that nobody lets us write to is not waited for: others hang on the command."""
    known = _writing(command, phase, memory, moment)
    if moment.mono < known.writing_at + view.settings.cadence.refused_write_limit_s:
        return phase
    answers = ((node, view.answer(Asked.WRITE, node.uid)) for node in phase.new)
    refused = tuple(
        report.unwritable(command, node, answer.problem)
        for node, answer in answers
        if answer is not None and answer.problem and answer.at.mono > known.writing_at
    )
    return LeavingOut(refused) if refused else phase


def _writing(
    command: Disruption, phase: Marking | Deleting, memory: Memory, moment: Moment
) -> Memory:
    """Since when these very nodes are written to, or have been refused."""
    uids = tuple(node.uid for node in phase.new)
    if (memory.name, memory.writing) == (command.name, uids):
        return memory
    return Memory(
        name=command.name, writing=uids, writing_at=moment.mono, simulator=memory.simulator
    )


def _while_settling(view: View, command: Disruption, moment: Moment) -> Phase:
    left = settling.unsettled(view, command.spec.moved)
    if not left:
        return Over()
    if any(one.unplaceable for one in left):
        return Over(f"not waited for: {left[0]}")
    limit_s = view.settings.cadence.moved_pods_limit_s
    since = command.status.phase_since or command.metadata.creation_timestamp
    if moment.since_s(since) >= limit_s:
        return Over(f"not waited for any longer after {limit_s:g} s: {left[0]}")
    return Settling(left)


def _present(view: View, command: Disruption) -> tuple[Node, ...]:
    """The command's nodes that still exist; one of the same name but another uid is another."""
    found = ((view.node(one.name), one) for one in command.nodes)
    return tuple(node for node, one in found if node is not None and node.uid == one.uid)


def _is_taken_back(node: Node, command: Disruption) -> bool:
    """The mark came with the cordon; the mark alone means that a person took the cordon away."""
    is_marked = node.disruption == command.name
    return is_marked and not node.is_cordoned and not node.is_deleting


def _left_behind(view: View, command: Disruption) -> tuple[Node, ...]:
    """Nodes that were left out and still bear the mark."""
    return tuple(
        node
        for node in view.nodes_in(command.name)
        if node.name in command.status.left_out and not node.is_deleting
    )


def advance(view: View, command: Disruption, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Take one step of a running command, and let go of what was left out of it."""
    known = memory or Memory()
    phase = phase_of(view, command, known, moment)
    dropped = _left_behind(view, command)[:NODES_AT_ONCE_MAX]
    letting_go = Step[Memory](effects=tuple(_let_go(node, command) for node in dropped))
    return join(letting_go, _advance(view, command, phase, known, moment))


def _advance(
    view: View, command: Disruption, phase: Phase, memory: Memory, moment: Moment
) -> Step[Memory]:
    match phase:
        case Marking(nodes):
            marks = tuple(_mark(node, command) for node in nodes[:NODES_AT_ONCE_MAX])
            return Step(effects=marks, memory=_writing(command, phase, memory, moment))
        case Confirming(since, asking):
            waiting = spoken(report.running(command, "its nodes are cordoned"))
            known = Memory(command.name, since, simulator=memory.simulator)
            return join(join(waiting, Step(memory=known)), asking)
        case Deciding() | Emptied() | Gone() | Ended():
            return _turn(command, phase, moment)
        case Uncordoned() | LeavingOut() | Over():
            return _end_or_shrink(command, phase, moment)
        case Deleting():
            known = _writing(command, phase, memory, moment)
            return join(Step(memory=known), _delete(view, command, phase, moment))
        case Settling(owners):
            again = moment.after(view.settings.cadence.drain_poll_s)
            return spoken(report.settling(command, owners), wake_at=again)
        case never:
            assert_never(never)


def _turn(
    command: Disruption, phase: Deciding | Emptied | Gone | Ended, moment: Moment
) -> Step[Memory]:
    """The object's phase moves on."""
    match phase:
        case Deciding():
            return Step(effects=(_write(command, DisruptionPhase.DELETING, moment),))
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
    command: Disruption, phase: Uncordoned | LeavingOut | Over, moment: Moment
) -> Step[Memory]:
    match phase:
        case Uncordoned(nodes):
            return _cancel(command, nodes, moment)
        case LeavingOut(verdicts):
            # In the object first: what is not there may still bear the mark.
            left_out = {one.subject.name: report.left_out(one) for one in verdicts}
            patch = _write(command, command.phase, moment, left_out=left_out)
            return Step(effects=(patch, *say_all(verdicts[:TOLD_MAX])), verdicts=verdicts)
        case Over(message):
            return _succeed(command, message, moment)
        case never:
            assert_never(never)


def _write(
    command: Disruption,
    phase: DisruptionPhase,
    moment: Moment,
    *,
    message: str = "",
    left_out: dict[str, LeftOut] | None = None,
) -> Patch:
    """Write the status; the phase's beginning moves only with the phase."""
    status: dict[str, Any] = {"phase": phase}
    if phase is not command.phase:
        status["phaseSince"] = moment.wall
    if command.status.started_at is None:
        status["startedAt"] = moment.wall
    if phase.is_final:
        status["finishedAt"] = moment.wall
    if message:
        status["message"] = message
    if left_out:
        status["leftOut"] = left_out
    body = {"status": msgspec.to_builtins(status)}
    return patch_as_seen(command, body, subresource="status", why=message or f"phase {phase}")


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


def _succeed(command: Disruption, message: str, moment: Moment) -> Step[Memory]:
    patch = _write(command, DisruptionPhase.SUCCEEDED, moment, message=message)
    if not message:
        return Step(effects=(patch,))
    verdict = report.unsettled(command, message)
    return Step(effects=(patch, *say(verdict)), verdicts=(verdict,))
