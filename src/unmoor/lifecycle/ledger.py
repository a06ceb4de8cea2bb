"""What is left of commands: marks without a running command, and too many finished ones.

A mark whose Disruption is final, or does not exist, is taken back, and with it the cordon that came
with it. A person's cordon stays (R27), one that a person set after taking ours away as well. What
becomes of machines that came for a command is told in ``replacement_end``. Before
a Disruption counts as missing, the server itself is asked: our picture of it may be older than that
of the node.

Must not: touch the marks of a running command.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unmoor.lifecycle import replacement_end, roll_call
from unmoor.lifecycle.effects import AnyEffect, Delete, say_all, uncordon
from unmoor.lifecycle.step import Step, join
from unmoor.model.disruption import Disruption
from unmoor.model.kinds import DISRUPTIONS, NODES, ref_of
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict

DELETED_MAX = 100
"""So many finished commands are deleted in one step; the rest in the next."""
TOLD_MAX = 20
"""So many marks that nobody could say anything about become events in one step."""
MARKS_MAX = 1_000
"""So many marks are looked into, or taken back, in one step; the rest in the next."""


def tidy(view: View, moment: Moment) -> Step[Any]:
    """Take back marks that nobody stands for, and shorten the ledger."""
    if view.identity.is_observing:
        return Step(effects=tuple(_shortened(one for one in beyond(view) if one.spec.is_observed)))
    effects: list[AnyEffect] = []
    verdicts: list[Verdict] = []
    for node in _marked(view):
        step = _of_mark(view, node, moment)
        if len(effects) + len(step.effects) > MARKS_MAX:
            break  # each of these changes a node or asks a question: either wakes us again
        effects += step.effects
        verdicts += step.verdicts
    effects += _shortened(beyond(view))
    effects += say_all(verdicts, TOLD_MAX)
    marks = Step[Any](effects=tuple(effects), verdicts=tuple(verdicts))
    return join(marks, replacement_end.tidy(view, moment))


def _shortened(old: Iterable[Disruption]) -> list[Delete]:
    return [Delete(ref=ref_of(one), why="the ledger is full") for one in old]


def _marked(view: View) -> list[Node]:
    return [node for node in view.sorted(NODES) if node.disruption and not node.is_deleting]


def _of_mark(view: View, node: Node, moment: Moment) -> Step[Any]:
    command = view.disruption(node.disruption)
    if command is not None:
        if command.is_running:
            return Step()
        was_taken_back = node.uid in command.taken_back
        why = f"{command.name} is {'being deleted' if command.is_deleting else command.phase}"
        return _roll_back(node, why, was_taken_back=was_taken_back)
    asking = roll_call.is_command_gone(view, node, node.disruption, moment)
    return _roll_back(node, f"{node.disruption} does not exist") if asking is None else asking


def _roll_back(node: Node, why: str, *, was_taken_back: bool = False) -> Step[Any]:
    verdict = Verdict(
        subject=ref_of(node),
        method=Method.LIFECYCLE,
        reason=Reason.ROLLED_BACK,
        message=f"node {node.name} is let go again: {why}",
        evidence={"disruption": node.disruption},
        is_refusal=False,
    )
    patch = uncordon(node, was_taken_back=was_taken_back, why=why)
    return Step(effects=(patch,), verdicts=(verdict,))


def beyond(view: View) -> list[Disruption]:
    """Return the finished commands that are too many, oldest first, some at a time.

    Those that were only observed do not push out the others.
    """
    finished = [one for one in view.sorted(DISRUPTIONS) if one.phase.is_final]
    # What a machine came of it for is known only as long as it is there.
    borne = {one.replacement_for for one in replacement_end.bearing(view)}
    finished = [one for one in finished if not one.is_deleting and one.name not in borne]
    finished.sort(key=lambda one: one.order)
    found: list[Disruption] = []
    for is_observed in (False, True):
        alike = [one for one in finished if one.spec.is_observed is is_observed]
        found += alike[: max(len(alike) - view.settings.kept_disruptions, 0)]
    return found[:DELETED_MAX]
