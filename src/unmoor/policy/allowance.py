"""Which of these nodes may go now, with those of their provisioner that are going already?

A look is about nodes that go, or about those whose going is only observed, never about both.

A provisioner's budgets count its nodes that are up; those that are deleted, are in a command, or
are not ready use them up, whoever made them so (spec 4.3).

Must not: order nodes, or read budgets (``budgets``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from unmoor.model.kinds import NODES
from unmoor.model.node import Node
from unmoor.model.snapshot import View
from unmoor.policy import budgets, observing
from unmoor.policy.command import Candidate, Found, Judged, refused
from unmoor.policy.look import Look
from unmoor.policy.ownership import is_ours
from unmoor.policy.verdict import Reason, Verdict


class _Census(msgspec.Struct):
    """Of each provisioner: how many nodes it has up, and how many of them are going."""

    nodes: Counter[str]
    going: Counter[str]


def within(
    look: Look,
    found: Found,
    ordered: Sequence[Candidate],
    reason: str,
    besides: Iterable[Candidate] = (),
) -> tuple[Found, tuple[Candidate, ...]]:
    """Return those of ``ordered`` that budgets let go, the first first; the others with a verdict.

    ``reason``: what it is for, as budgets name it. ``besides``: who may go in the same command.
    """
    others = {
        one.node.uid: verdict
        for one in ordered
        if (verdict := _is_for_another_look(look, found, one)) is not None
    }
    if others:
        found = _with(found, others)
        ordered = tuple(one for one in ordered if one.node.uid not in others)
    if not any(budgets.is_limited(one.provisioner) for one in ordered):
        return found, tuple(ordered)
    census = _census(look)
    census.going.update(one.provisioner.name for one in besides)
    left: dict[str, int | None] = {}
    why: dict[str, str] = {}
    kept, held = [], {}
    for one in ordered:
        name = one.provisioner.name
        if name not in left:
            answer = budgets.allowed(one.provisioner, reason, census.nodes[name], look.moment.wall)
            left[name], why[name] = _remaining(answer.most, census.going[name]), answer.why
        most = left[name]
        if most is not None and most <= 0:
            message = f"{why[name]}, and {census.going[name]} are; others of it come first"
            held[one.node.uid] = refused(one, found.method, Reason.BUDGET_SPENT, message)
            continue
        left[name] = None if most is None else most - 1
        kept.append(one)
    return _with(found, held), tuple(kept)


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


def _remaining(most: int | None, going: int) -> int | None:
    return None if most is None else max(most - going, 0)


def _census(look: Look) -> _Census:
    view, found = look.view, _Census(Counter(), Counter())
    for node in _ours(view):
        owner = node.provisioner_name
        found.nodes[owner] += 1
        machine = view.machine_of(node)
        is_going = node.is_deleting or (machine is not None and machine.is_deleting)
        is_going = is_going or node.name in look.gone
        if is_going or node.disruption or not node.is_ready:
            found.going[owner] += 1
    return found


def _ours(view: View) -> Iterable[Node]:
    return (
        node for node in view.all(NODES).values() if node.is_initialized and is_ours(view, node)
    )
