"""How far is a command? Read off its object, its nodes and its replacements (001:18-24).

| phase of the object | what is done in it |
|---|---|
| Pending | the nodes are cordoned; after a while all is looked at once more, on fresh state |
| Launching | the replacements are made, and waited for; then all is looked at once more |
| Deleting | past the last look: the nodes are deleted, and waited for |
| Settling | the pods that were moved are waited for (R3) |

A person's word counts in each: who uncordons a node cancels its command, who deletes it is obeyed.
A node that should not go after all is left out; where that changes what was decided on, as it is
looked at once more, the command is cancelled.

Must not: do anything (``command`` does).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import command_report as report
from unmoor.lifecycle import doubtful, on_sale, replacements, roll_call
from unmoor.lifecycle.replacements import Coming, Creating, Failed, Recording
from unmoor.lifecycle.step import Step
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.observation import Asked
from unmoor.model.snapshot import View
from unmoor.policy import holding, methods, settling, stock
from unmoor.policy.command import Candidate, Judged
from unmoor.policy.look import Look
from unmoor.policy.settling import Unsettled
from unmoor.policy.simulation import Simulator
from unmoor.policy.verdict import Reason, Verdict


class Memory(msgspec.Struct, frozen=True):
    """Droppable: since when which phase of which command lasts (``began_at``), however the wall
    clock jumps, and when everything was first seen to be as its last look wants it (``ready_at``);
    how many refusals of a long list have been ``told``; the uids of nodes that are written to, all
    since ``writing_at``; how many observed commands were looked at again (``checked``); and in
    ``simulator`` what the last look has found out.
    """

    name: str = ""
    phase: DisruptionPhase = DisruptionPhase.PENDING
    began_at: float = 0.0
    ready_at: float | None = None
    told: int = 0
    writing: tuple[str, ...] = ()
    writing_at: float = 0.0
    checked: int = 0
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
    """All is as it should be; a scheduler that does not know it yet is waited for, then the API
    asked. ``words``: what is as it should be.
    """

    since: float
    asking: Step[Any]
    words: str


class HeldBack(msgspec.Struct, frozen=True):
    """All is ready, and something that passes forbids it now."""

    verdicts: tuple[Verdict, ...]


class Withdrawn(msgspec.Struct, frozen=True):
    """What was decided on is not right any more."""

    verdict: Verdict


class Deciding(msgspec.Struct, frozen=True):
    """The look was good: the object's phase moves on."""

    to: DisruptionPhase


class Emptied(msgspec.Struct, frozen=True):
    """No node is left in the command, and none of it was deleted."""


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
    """Everything is done. ``message``: what was given up, "" when nothing was. ``homeless``: by
    the uid of their owner, pods that have found no place.
    """

    message: str = ""
    homeless: dict[str, str] = {}


class Ended(msgspec.Struct, frozen=True):
    """Final, nothing further happens."""


Launching: TypeAlias = Creating | Recording | Coming | Failed
Phase: TypeAlias = (
    Uncordoned
    | LeavingOut
    | Marking
    | Confirming
    | HeldBack
    | Withdrawn
    | Launching
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
        case DisruptionPhase.PENDING:
            return _while_pending(view, command, memory, moment)
        case DisruptionPhase.LAUNCHING:
            return _while_launching(view, command, memory, moment)
        case DisruptionPhase.DELETING:
            return _while_deleting(view, command, memory, moment)
        case DisruptionPhase.SETTLING:
            return _while_settling(view, command, memory, moment)
        case DisruptionPhase.SUCCEEDED | DisruptionPhase.CANCELLED | DisruptionPhase.OBSERVED:
            return Ended()
        case never:
            assert_never(never)


def _while_pending(view: View, command: Disruption, memory: Memory, moment: Moment) -> Phase:
    nodes = _present(view, command)
    if taken := tuple(node for node in nodes if _is_taken_back(node, command)):
        return Uncordoned(taken)
    staying = [node for node in nodes if not node.is_deleting]
    judged = [methods.judged_again(view, command, node, moment) for node in staying]
    if refused := _refusals(judged):
        return LeavingOut(refused)  # R30
    if unmarked := _unmarked(staying, command):
        return _unless_refused(view, command, memory, Marking(unmarked), moment)
    if not nodes:
        return Emptied()
    quiet_s = methods.quiet_s(view, command)
    words = "its nodes are cordoned"
    wrong = _last_look(view, command, memory, _candidates(judged), (quiet_s, words), moment)
    if wrong is not None:
        return wrong
    if spent := methods.spent(view, command, _candidates(judged), moment):
        return LeavingOut(spent)
    is_replaced = bool(command.spec.replacements and staying)
    return Deciding(DisruptionPhase.LAUNCHING if is_replaced else DisruptionPhase.DELETING)


def _while_launching(view: View, command: Disruption, memory: Memory, moment: Moment) -> Phase:
    if not command.nodes:
        return Emptied()
    nodes = _present(view, command)
    if taken := tuple(node for node in nodes if _is_taken_back(node, command)):
        return Uncordoned(taken)
    staying = [node for node in nodes if not node.is_deleting]
    if not staying:
        # A person has deleted them all: their pods need what comes all the same.
        return Deciding(DisruptionPhase.DELETING)
    limit_s = view.settings.cadence.replacement_limit_s
    is_late = _is_late(view, memory, moment)
    judged = [methods.judged_again(view, command, node, moment) for node in staying]
    refused = _refusals(judged)
    # A budget that is exhausted now may not be when it matters.
    if lasting := tuple(one for one in refused if is_late or one.reason is not Reason.BUDGET):
        return LeavingOut(lasting)
    if unmarked := _unmarked(staying, command):
        return _unless_refused(view, command, memory, Marking(unmarked), moment)
    state = replacements.state_of(view, command, moment)
    if isinstance(state, Creating | Recording | Coming):
        return replacements.late(view, state, limit_s) if is_late else state
    if isinstance(state, Failed):
        return state
    if refused:
        return HeldBack(refused)
    words = "its replacements are ready"
    wrong = _last_look(view, command, memory, _candidates(judged), (0.0, words), moment)
    return wrong or Deciding(DisruptionPhase.DELETING)


def _last_look(
    view: View,
    command: Disruption,
    memory: Memory,
    nodes: Sequence[Candidate],
    quiet: tuple[float, str],
    moment: Moment,
) -> Confirming | LeavingOut | Withdrawn | None:
    """Ask the API who is there, then look at the command as a whole. None: it is right.

    ``quiet``: how long all must have been as it is, and what that is.
    """
    quiet_s, words = quiet
    since = moment.mono if memory.ready_at is None else memory.ready_at
    method = methods.method_of(command)
    there = [one.node for one in nodes]
    asking = roll_call.of_nodes(view, there, method, since + quiet_s, moment)
    if asking is not None:
        return Confirming(since, asking, words)
    if holding.is_simple(command, nodes):
        return None
    sold = stock.types_of(view)
    if sold is None:
        return Confirming(since, Step(effects=on_sale.asked(view, moment)), words)
    if sold.problem is not None and _is_worth_waiting(view, command, memory, moment):
        again_at = stock.ask_again_at(view, sold)
        asking = Step(effects=on_sale.asked(view, moment), wake_at=again_at)
        return Confirming(since, asking, f"{words}, and the cloud does not say what it sells")
    if sold.problem is not None:
        return Withdrawn(holding.types_unknown(command, sold.problem.message))
    look = Look(view, moment, memory.simulator, doubtful.doubts(view, {}, moment))
    wrong = holding.why_not(look, command, nodes)
    if wrong is None:
        return None
    staying = holding.too_many(look, command, nodes)
    return LeavingOut(staying) if staying else Withdrawn(wrong)


def _is_worth_waiting(view: View, command: Disruption, memory: Memory, moment: Moment) -> bool:
    """What passes soon ends nothing that was paid for."""
    is_paid = command.phase is DisruptionPhase.LAUNCHING
    return is_paid and not _is_late(view, memory, moment)


def _is_late(view: View, memory: Memory, moment: Moment) -> bool:
    """The replacements have had their time."""
    return moment.mono - memory.began_at >= view.settings.cadence.replacement_limit_s


def remembered(command: Disruption, memory: Memory, moment: Moment) -> Memory:
    """Return what is known of this phase of this command, at first only since when it lasts.

    What stands on the object was written by a clock that may have been wrong, so it is read once.
    """
    if (memory.name, memory.phase) == (command.name, command.phase):
        return memory
    since = command.status.phase_since or command.metadata.creation_timestamp
    began_at = moment.mono - moment.since_s(since)
    return Memory(command.name, command.phase, began_at, simulator=memory.simulator)


def _refusals(judged: Sequence[Judged]) -> tuple[Verdict, ...]:
    return tuple(one.verdict for one in judged if one.candidate is None)


def _candidates(judged: Sequence[Judged]) -> tuple[Candidate, ...]:
    return tuple(one.candidate for one in judged if one.candidate is not None)


def _unmarked(nodes: Sequence[Node], command: Disruption) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node.disruption != command.name)


def _while_deleting(view: View, command: Disruption, memory: Memory, moment: Moment) -> Phase:
    if command.unreplaced and not command.nodes:
        return Emptied()
    nodes = _present(view, command)
    if not nodes:
        return Gone()
    staying = tuple(node for node in nodes if not node.is_deleting)
    if taken := tuple(node for node in staying if not node.is_cordoned):
        return Uncordoned(taken)  # all were cordoned when this phase began
    judged = [methods.still_ours(view, command, node) for node in staying]
    if refused := tuple(verdict for verdict in judged if verdict is not None):
        return LeavingOut(refused)
    unasked = tuple(node for node in staying if node.uid not in memory.writing)
    if unasked and (words := replacements.lost(view, command)):
        return LeavingOut(tuple(report.unserved(command, node, words) for node in unasked))  # R18
    return _unless_refused(view, command, memory, Deleting(staying, nodes), moment)


def _unless_refused(
    view: View, command: Disruption, memory: Memory, phase: Marking | Deleting, moment: Moment
) -> Phase:
    """A node that nobody lets us write to is not waited for: others hang on the command."""
    known = writing(phase, memory, moment)
    if moment.mono < known.writing_at + view.settings.cadence.refused_write_limit_s:
        return phase
    answers = ((node, view.answer(Asked.WRITE, node.uid)) for node in phase.new)
    refused = tuple(
        report.unwritable(command, node, answer.problem)
        for node, answer in answers
        if answer is not None and answer.problem and answer.at.mono > known.writing_at
    )
    return LeavingOut(refused) if refused else phase


def writing(phase: Marking | Deleting, memory: Memory, moment: Moment) -> Memory:
    """Since when these very nodes are written to, or have been refused."""
    uids = tuple(node.uid for node in phase.new)
    if memory.writing == uids:
        return memory
    return msgspec.structs.replace(memory, writing=uids, writing_at=moment.mono, ready_at=None)


def _while_settling(view: View, command: Disruption, memory: Memory, moment: Moment) -> Phase:
    left = settling.unsettled(view, command.spec.moved)
    if not left:
        return Over()
    if homeless := {one.owner.uid: one.unplaceable for one in left if one.unplaceable}:
        return Over(f"not waited for: {left[0]}", homeless)
    limit_s = view.settings.cadence.moved_pods_limit_s
    if moment.mono - memory.began_at >= limit_s:
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
