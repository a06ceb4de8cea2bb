"""Which of these nodes may go now, with those of their provisioner that are going already?

A look is about nodes that go, or about those whose going is only observed, never about both.

A provisioner's budgets count its nodes that are up; those that are deleted, are in a command, or
are not ready use them up, whoever made them so (spec 4.3). The limits that the settings set count
nodes alone, those of the command with those that are deleted or in a command already.

Must not: order nodes, or read budgets (``budgets``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from unmoor.model.disruption import Disruption
from unmoor.model.kinds import NODES
from unmoor.model.node import Node
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.model.wording import counted
from unmoor.policy import budgets, observing
from unmoor.policy.budgets import Allowed
from unmoor.policy.command import Candidate, Found, Judged, refused
from unmoor.policy.look import Look
from unmoor.policy.ownership import is_ours
from unmoor.policy.verdict import Method, Reason, Verdict

OF_ALL = "unmoor.nodesGoingMost"
OF_ONE = "unmoor.nodesGoingMostPerProvisioner"


class _Census(msgspec.Struct):
    """Of each provisioner: how many nodes it has up, how many use up budgets, how many leave."""

    nodes: Counter[str]
    going: Counter[str]
    leaving: Counter[str]


def within(
    look: Look,
    found: Found,
    ordered: Sequence[Candidate],
    reason: str,
    besides: Iterable[Candidate] = (),
) -> tuple[Found, tuple[Candidate, ...]]:
    """Return those of ``ordered`` that may go together, the first first; the others with a verdict.

    ``reason``: what it is for, as budgets name it. ``besides``: who may go in the same command.
    """
    found, mine = _of_this_look(look, found, ordered)
    if not _is_limited(look, mine):
        return found, mine
    room = _Room(look, besides)
    kept, held = [], {}
    for one in mine:
        if why := room.why_not(one, reason):
            held[one.node.uid] = _refused(one, found, *why)
        else:
            room.take(one)
            kept.append(one)
    return _with(found, held), tuple(kept)


def alone(
    look: Look, found: Found, ordered: Sequence[Candidate], reasons: Callable[[Candidate], str]
) -> tuple[Found, tuple[Candidate, ...]]:
    """Return those of ``ordered`` that may go by themselves; the others with a verdict.

    So one that cannot go stands in no other's way. ``reasons``: what it is for, of each.
    """
    found, mine = _of_this_look(look, found, ordered)
    if not _is_limited(look, mine):
        return found, mine
    room = _Room(look)
    held = {
        one.node.uid: _refused(one, found, *why)
        for one in mine
        if (why := room.why_not(one, reasons(one))) is not None
    }
    return _with(found, held), tuple(one for one in mine if one.node.uid not in held)


def spent(
    look: Look,
    command: Disruption,
    nodes: Sequence[Candidate],
    method: Method,
    reasons: Callable[[Candidate], str],
) -> tuple[Verdict, ...]:
    """Return which nodes of a command may not go any more, as less may go than when it was made."""
    if not _is_limited(look, nodes):
        return ()
    room, held = _Room(look, running=command.name), []
    for one in nodes:
        if why := room.why_not(one, reasons(one)):
            held.append(refused(one, method, *why))
        else:
            room.take(one)
    return tuple(held)


class _Room:
    """How many more may go, as it is used up."""

    def __init__(self, look: Look, besides: Iterable[Candidate] = (), *, running: str = "") -> None:
        self._look = look
        self._census = _census(look, running)
        self._answers: dict[tuple[str, str], Allowed] = {}
        for one in besides:
            self.take(one)

    def why_not(self, one: Candidate, reason: str) -> tuple[Reason, str] | None:
        """Why it may not go now, None when it may."""
        settings, name = self._look.view.settings, one.provisioner.name
        counts = self._census
        answer = self._allowed(one.provisioner, reason)
        if answer.most is not None and counts.going[name] >= answer.most:
            words = f"{answer.why}, and {counts.going[name]} are; others of it come first"
            return Reason.BUDGET_SPENT, words
        limits = (
            (settings.nodes_going_most_of_one, counts.leaving[name], f" of {name}", OF_ONE),
            (settings.nodes_going_most, counts.leaving.total(), "", OF_ALL),
        )
        for most, leaving, whose, key in limits:
            if most is not None and leaving >= most:
                words = f"{key} lets {counted(most, 'node')}{whose} go at once, and {leaving} go"
                return Reason.AT_LIMIT, f"{words}; others come first"
        return None

    def take(self, one: Candidate) -> None:
        """It goes as well."""
        self._census.going[one.provisioner.name] += 1
        self._census.leaving[one.provisioner.name] += 1

    def _allowed(self, provisioner: Provisioner, reason: str) -> Allowed:
        key = (provisioner.name, reason)
        if key not in self._answers:
            nodes, now = self._census.nodes[provisioner.name], self._look.moment.wall
            self._answers[key] = budgets.allowed(provisioner, reason, nodes, now)
        return self._answers[key]


def _is_limited(look: Look, ordered: Iterable[Candidate]) -> bool:
    settings = look.view.settings
    if (settings.nodes_going_most, settings.nodes_going_most_of_one) != (None, None):
        return True
    return any(budgets.is_limited(one.provisioner) for one in ordered)


def _refused(one: Candidate, found: Found, reason: Reason, message: str) -> Verdict:
    return refused(one, found.method, reason, message)


def _of_this_look(
    look: Look, found: Found, ordered: Sequence[Candidate]
) -> tuple[Found, tuple[Candidate, ...]]:
    others = {
        one.node.uid: verdict
        for one in ordered
        if (verdict := _is_for_another_look(look, found, one)) is not None
    }
    mine = tuple(one for one in ordered if one.node.uid not in others)
    return _with(found, others) if others else found, mine


def _is_for_another_look(look: Look, found: Found, one: Candidate) -> Verdict | None:
    """Why this look is not about a node, None when it is."""
    if look.is_observing and one.node.name in look.gone:
        message = f"node {one.node.name} would be gone by now: that is recorded already"
        return refused(one, found.method, Reason.OBSERVED, message)
    words = observing.why(look.view, found.method, one.provisioner)
    if bool(words) is look.is_observing:
        return None
    message = f"node {one.node.name} is only observed: {words}" if words else "it is not observed"
    return refused(one, found.method, Reason.OBSERVED, message)


def _with(found: Found, held: Mapping[str, Verdict]) -> Found:
    """The same, with these nodes held back, by uid."""
    judged = tuple(
        Judged(held[one.candidate.node.uid])
        if one.candidate is not None and one.candidate.node.uid in held
        else one
        for one in found.judged
    )
    return Found(found.method, judged)


def _census(look: Look, running: str = "") -> _Census:
    """``running``: what goes by this command is not counted."""
    view, found = look.view, _Census(Counter(), Counter(), Counter())
    for node in _ours(view):
        owner = node.provisioner_name
        found.nodes[owner] += 1
        machine = view.machine_of(node)
        is_going = node.is_deleting or (machine is not None and machine.is_deleting)
        is_going = is_going or node.name in look.gone or bool(node.disruption)
        is_its_own = bool(running) and node.disruption == running
        if is_going and not is_its_own:
            found.leaving[owner] += 1
        if (is_going or not node.is_ready) and not is_its_own:
            found.going[owner] += 1
    return found


def _ours(view: View) -> Iterable[Node]:
    return (
        node for node in view.all(NODES).values() if node.is_initialized and is_ours(view, node)
    )
