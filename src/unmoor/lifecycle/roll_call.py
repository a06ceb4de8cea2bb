"""Who is there, by the word of the API server itself?

The view is what watches bring, and a watch may hang: pods that have come since are not in it, nor
are nodes. So before a step that cannot be taken back the server is asked, as of now. What it says
is in the view when the question is answered, and whoever asked decides on the view as always.

Must not: judge what is there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import islice
from math import inf
from typing import Any

import msgspec

from unmoor.lifecycle.effects import Observe
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model.base import Object, Ref
from unmoor.model.kinds import DISRUPTIONS, NODES, ref_of
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.observation import OF_THE_API_SERVER, Asked, Problem
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict

NODES_AT_ONCE_MAX = 1_000
"""So many nodes are asked about in one step; the rest in the next."""


LOOK_FOR_NODES = Observe(asked=Asked.NODES, subject="all", why="is one of them on it?")


class Question(msgspec.Struct, frozen=True):
    """What is asked, about whom, and for whom. ``good_s``: how long an answer is believed."""

    look: Observe
    subject: Object
    method: Method
    good_s: float


def pods_of(view: View, node: Node, method: Method) -> Question:
    """Which pods are on the node?"""
    look = Observe(asked=Asked.PODS, subject=node.name, why="who is on it now?")
    return Question(look, node, method, view.settings.cadence.pods_memory_s)


def node_of(view: View, machine: Machine) -> Question:
    """Is there a node of the name that the machine knows?"""
    ref = NODES.ref(machine.node_name)
    look = Observe(asked=Asked.OBJECT, subject=str(ref), ref=ref, why="is its node gone?")
    return Question(look, machine, Method.LIFECYCLE, view.settings.cadence.absence_memory_s)


def all_nodes(view: View, subject: Object) -> Question:
    """Which nodes are there? One that no watch has brought may be on any machine."""
    return Question(LOOK_FOR_NODES, subject, Method.LIFECYCLE, view.settings.cadence.pods_memory_s)


def pods_of_lost(view: View, machine: Machine) -> Question:
    """Which pods are bound to the node that the machine had?"""
    look = Observe(asked=Asked.PODS, subject=machine.node_name, why="who is still on its node?")
    return Question(look, machine, Method.LIFECYCLE, view.settings.cadence.pods_memory_s)


def is_command_gone(view: View, subject: Object, command: str, moment: Moment) -> Step[Any] | None:
    """Return None when the server has said lately that there is no such command; else a step.

    An old answer says nothing: a new command may bear the name. One that is there needs no step.
    """
    ref = DISRUPTIONS.ref(command)
    answer = view.answer(Asked.OBJECT, str(ref))
    good_s = view.settings.cadence.absence_memory_s
    look = Observe(asked=Asked.OBJECT, subject=str(ref), ref=ref, why="is its disruption gone?")
    if answer is None or moment.mono > answer.at.after(good_s):
        return Step(effects=(look,))
    if answer.problem is None or answer.is_missing:
        return None if answer.is_missing else Step()
    told = unanswered(ref_of(subject), Method.LIFECYCLE, look, answer.problem)
    return Step(verdicts=(told,))


def of_nodes(
    view: View, nodes: Iterable[Node], method: Method, since: float, moment: Moment
) -> Step[Any] | None:
    """Ask about the pods of all these nodes, some at a time: ``step_for`` each.

    They are cordoned, and each is asked about once more when it ends. So an answer stays good here,
    however long it takes to ask about the others.
    """
    if moment.mono < since:
        return Step(wake_at=since)
    questions = (msgspec.structs.replace(pods_of(view, node, method), good_s=inf) for node in nodes)
    steps = (step_for(view, question, since, moment) for question in questions)
    asking = tuple(islice((step for step in steps if step is not None), NODES_AT_ONCE_MAX))
    return functools.reduce(join, asking) if asking else None


def step_for(view: View, question: Question, since: float, moment: Moment) -> Step[Any] | None:
    """Return None when the server has answered lately; else a step that asks it, or waits.

    ``since``: what was on a node before this monotonic time says nothing.
    """
    if moment.mono < since:
        return Step(wake_at=since)
    answer = view.answer(question.look.asked, question.look.subject)
    if answer is None:
        return Step(effects=(question.look,))
    if answer.problem is None or answer.is_missing:
        is_early = isinstance(answer.result, float) and answer.result < since
        is_old = moment.mono > answer.at.after(question.good_s)
        return Step(effects=(question.look,)) if is_early or is_old else None
    again_s = answer.problem.retry_after_s or view.settings.cadence.drain_poll_s
    if moment.mono >= (due := answer.at.after(again_s)):
        return Step(effects=(question.look,))
    verdict = unanswered(ref_of(question.subject), question.method, question.look, answer.problem)
    return spoken(verdict, wake_at=due)


def unanswered(subject: Ref, method: Method, look: Observe, problem: Problem) -> Verdict:
    """Say that nobody could answer a question, so that what depends on it waits."""
    asked = "the API server" if look.asked in OF_THE_API_SERVER else "the cloud"
    return Verdict(
        subject=subject,
        method=method,
        reason=Reason.NOT_CONFIRMED,
        message=(
            f"{asked} was asked about {subject} ({look.why}) and could not say "
            f"({problem.kind}): {problem.message}; nothing goes before it does, it is asked again"
        ),
        evidence={"code": problem.code},
        event="NotConfirmed",
        is_warning=True,
    )
