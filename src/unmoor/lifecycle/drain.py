"""How a node is emptied: cordon, leave the load balancers, evict tier by tier, drained (001:26-28).

Shared by the termination of our nodes and by ``unmoor drain``, which takes any node, puts no label
on it and ends nothing. The phase is read off the node and its pods; what is remembered is only when
a pod may be asked again and how often pods came back (R1). To lose it costs time.

Whether an eviction was admitted is never assumed: the server's answer is in the view the next time.
A pod that cannot be read holds the drain: nobody knows what kind of pod it is. And whoever acts on
a drain's end has it ``confirmed`` first, since the view may have missed somebody.

Must not: delete a node or end a machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import drain_report as report
from unmoor.lifecycle import eviction, roll_call, telling
from unmoor.lifecycle.effects import AnyEffect, Delete, cordon, say_all
from unmoor.lifecycle.eviction import Memory
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model import names
from unmoor.model.base import Key
from unmoor.model.kinds import ref_of
from unmoor.model.moment import Moment, earliest
from unmoor.model.node import Node
from unmoor.model.snapshot import View
from unmoor.model.wording import NAMED_MAX
from unmoor.policy import drain as policy
from unmoor.policy.drain import Deadline, Plan
from unmoor.policy.pods import Patience
from unmoor.policy.verdict import Method, Reason, Verdict

CUT_MAX = 1_000
"""So many pods get a shorter grace in one step; the rest in the next."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. The default is a person's ``unmoor drain``."""

    method: Method = Method.DRAIN
    leaves_load_balancers: bool = False
    deadline: Deadline = Deadline()


class Cordoning(msgspec.Struct, frozen=True):
    """New pods may still come."""


class LeavingLoadBalancers(msgspec.Struct, frozen=True):
    """Marked for load balancers, which need a while to take it out."""

    until: float


class Evicting(msgspec.Struct, frozen=True):
    """Pods are waited for, ``unreadable`` ones (key, problem) among them."""

    plan: Plan
    unreadable: tuple[tuple[Key, str], ...] = ()


class Settling(msgspec.Struct, frozen=True):
    """Nobody is left, but the cordon is very young."""

    until: float


class Drained(msgspec.Struct, frozen=True):
    """Nobody is waited for, but some may be there, by name.

    ``left``: those whom the deadline cut off; ``passed``: those given up before (T078, R1).
    """

    left: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()


Phase: TypeAlias = Cordoning | LeavingLoadBalancers | Evicting | Settling | Drained


class Progress(msgspec.Struct, frozen=True):
    """A step, and whether the node is drained as of now. ``is_over``: the deadline has passed.

    ``how``: for a node that is drained, who was left behind, in words.
    """

    step: Step[Memory]
    is_drained: bool = False
    is_over: bool = False
    how: str = ""

    @property
    def memory(self) -> Memory:
        """What is known of the drain now: none of its steps forgets."""
        assert self.step.memory is not None
        return self.step.memory


def phase_of(view: View, node: Node, order: Order, memory: Memory, moment: Moment) -> Phase:
    """Read the phase off the world."""
    if not node.is_cordoned or missing_labels(node, order):
        return Cordoning()  # 001: cordon the node to prevent pods from scheduling to it
    cadence = view.settings.cadence
    cordoned_at = memory.cordoned_at if memory.cordoned_at is not None else moment.mono
    returning = eviction.returning(view, node, memory)
    passed = eviction.passed(view, node, memory, returning)
    plan = policy.plan(
        view.pods_on(node.name),
        moment,
        patience=Patience(cadence.stuck_terminating_s, memory.terminating),
        deadline=order.deadline,
        passed=passed,
        returning=returning,
    )
    unreadable = view.unreadable_pods_on(node.name)
    if plan.waiting or unreadable:
        left_s = order.deadline.left_s(moment.wall)
        until = cordoned_at + view.settings.load_balancer_wait_s
        if order.leaves_load_balancers and moment.mono < until and not _presses(plan, left_s):
            return LeavingLoadBalancers(until)
        is_over = left_s is not None and left_s <= -cadence.drain_cut_off_s  # E12
        if is_over and _had_their_chance(view, memory, moment):
            left = (*(pod.key for pod in plan.waiting), *(key for key, _ in unreadable))
            return Drained(tuple("/".join(key) for key in left))
        return Evicting(plan, unreadable)
    if moment.mono < (until := cordoned_at + cadence.cordon_quiet_s):
        return Settling(until)
    given = (pod for pod in view.pods_on(node.name) if pod.uid in passed)
    given_up = dict.fromkeys("/".join(pod.key) for pod in (*plan.stuck, *given))
    return Drained(passed=tuple(given_up))


def _presses(plan: Plan, left_s: float | None) -> bool:
    """A pod needs what is left before the deadline to end in its own time."""
    return left_s is not None and left_s <= max((pod.grace_s for pod in plan.waiting), default=0)


def _had_their_chance(view: View, memory: Memory, moment: Moment) -> bool:
    """E12: all that is left was told to go first, even if nobody was there at the deadline."""
    cut_off_s = view.settings.cadence.drain_cut_off_s
    return memory.over_at is not None and moment.mono >= memory.over_at + cut_off_s


def missing_labels(node: Node, order: Order) -> dict[str, str]:
    """Return what takes a node out of external load balancers; a value of a person's stays."""
    if not order.leaves_load_balancers:
        return {}
    if names.EXCLUDE_FROM_LOAD_BALANCERS in node.metadata.labels:
        return {}
    return {names.EXCLUDE_FROM_LOAD_BALANCERS: names.EXCLUDE_FROM_LOAD_BALANCERS_VALUE}  # T069


def advance(
    view: View, node: Node, order: Order, memory: Memory | None, moment: Moment
) -> Progress:
    """Take one step towards an empty node; what was said a moment ago is not said again."""
    known = eviction.remembered(node, memory, moment)
    least_s = view.settings.cadence.deadline_least_s
    deadline = order.deadline.held_to(least_s, known.begun_at, moment)
    order = msgspec.structs.replace(order, deadline=deadline)
    progress = _look(view, node, order, known, moment)
    effects, told = telling.once(view, progress.step.effects, known.told, moment)
    spoken = msgspec.structs.replace(progress.memory, told=told)
    step = msgspec.structs.replace(progress.step, effects=effects, memory=spoken)
    left_s = deadline.left_s(moment.wall)
    is_over = left_s is not None and left_s <= 0
    return msgspec.structs.replace(progress, step=step, is_over=is_over)


def confirmed(
    view: View, node: Node, method: Method, progress: Progress, moment: Moment
) -> Progress:
    """Return the same, drained only when the API server has just said who is on the node.

    If somebody is there after all, the next look at the view finds them.
    """
    if not progress.is_drained:
        return progress
    asking = _roll_call(view, node, method, progress.memory, moment)
    if asking is None:
        return progress
    # That it is drained is not said before it is so.
    silent = msgspec.structs.replace(progress.step, verdicts=())
    return Progress(join(silent, asking), is_over=progress.is_over)


def _roll_call(
    view: View, node: Node, method: Method, memory: Memory, moment: Moment
) -> Step[Memory] | None:
    """Ask who is on the node, once no pod can be bound to it any more; None when that is known."""
    cordoned_at = moment.mono if memory.cordoned_at is None else memory.cordoned_at
    since = cordoned_at + view.settings.cadence.cordon_quiet_s
    return roll_call.step_for(view, roll_call.pods_of(view, node, method), since, moment)


def _look(view: View, node: Node, order: Order, memory: Memory, moment: Moment) -> Progress:
    is_closed = node.is_cordoned and not missing_labels(node, order)
    known = eviction.observe(view, node, memory, moment, method=order.method, is_closed=is_closed)
    phase = phase_of(view, node, order, known.memory, moment)
    match phase:
        case Cordoning():
            patch = cordon(
                node,
                claim="" if order.method is Method.DRAIN else order.method,
                labels=missing_labels(node, order),
                why=f"{order.method}: no new pods",
            )
            return _progress(Step(effects=(patch,)), known)
        case LeavingLoadBalancers(until):
            wait_s = view.settings.load_balancer_wait_s
            verdict = report.leaving_load_balancers(node, order.method, wait_s)
            return _progress(spoken(verdict, wake_at=until), known)
        case Evicting():
            return _evicting(view, node, order, phase, known, moment)
        case Settling(until):
            verdict = report.young_cordon(node, order.method, view.settings.cadence.cordon_quiet_s)
            return _progress(spoken(verdict, wake_at=until), known)
        case Drained(left, passed):
            return _drained(report.ended(node, order.method, left, passed), known)
        case never:
            assert_never(never)


def _progress(step: Step[Memory], known: eviction.Known) -> Progress:
    whole = Step(
        effects=(*known.effects, *step.effects),
        memory=step.memory if step.memory is not None else known.memory,
        verdicts=(*known.verdicts, *step.verdicts),
        wake_at=step.wake_at,
    )
    return Progress(whole)


def _evicting(
    view: View,
    node: Node,
    order: Order,
    phase: Evicting,
    known: eviction.Known,
    moment: Moment,
) -> Progress:
    memory, plan = known.memory, phase.plan
    left_s = order.deadline.left_s(moment.wall)
    asking: Step[Memory] | None = None
    if memory.over_at is None and left_s is not None and left_s <= 0:
        # Whoever is there without our knowing is to be told to go, too.
        asking = _roll_call(view, node, order.method, memory, moment)
        if asking is None:
            memory = msgspec.structs.replace(memory, over_at=moment.mono)
    budgets = {pod.uid: policy.budgets_over(view, pod) for pod in plan.turn}
    asked = eviction.ask(view, plan, budgets, memory, moment)
    cut = _cut_short(order, plan, moment)
    held = eviction.held_back(view, node, plan, budgets, asked, order.method)
    verdicts = (
        *report.left(node, order.method, plan),
        *report.unreadable(node, order.method, phase.unreadable),
        *report.deadline_problem(node, order.method, order.deadline),
        *(verdict for _, verdict in cut),
        *held,
        *report.stuck(node, order.method, plan),
    )
    step = Step(
        effects=(
            *asked.effects,
            *(delete for delete, _ in cut),
            *say_all(verdicts, report.TOLD_PODS_MAX + NAMED_MAX),
        ),
        memory=asked.memory,
        verdicts=verdicts,
        wake_at=earliest(asked.wake_at, moment.after(view.settings.cadence.drain_poll_s)),
    )
    return _progress(step if asking is None else join(step, asking), known)


def _cut_short(order: Order, plan: Plan, moment: Moment) -> list[tuple[AnyEffect, Verdict]]:
    """E10, E12: with a deadline grace shrinks to what is left, past the budget when it is over."""
    left_s = order.deadline.left_s(moment.wall)
    if left_s is None:
        return []
    shortened_s = policy.shortened_s(left_s)
    cut: list[tuple[AnyEffect, Verdict]] = []
    for pod in (*plan.late, *plan.forced)[:CUT_MAX]:
        past = "" if pod.is_deleting else "; it is deleted past its disruption budget"
        verdict = report.hindrance(
            pod,
            order.method,
            Reason.CUT_OFF,
            f"pod {pod.namespace}/{pod.name} gets {shortened_s} s of its {pod.grace_s} s of "
            f"grace: the drain of its node ends at {order.deadline.at:%H:%M:%S} UTC{past}",
            grace_s=shortened_s,
            asked_s=pod.grace_s,
        )
        why = f"the deadline leaves {shortened_s} s of {pod.grace_s} s"
        cut.append((Delete(ref=ref_of(pod), grace_s=shortened_s, why=why), verdict))
    return cut


def _drained(verdict: Verdict, known: eviction.Known) -> Progress:
    progress = _progress(spoken(verdict), known)
    return msgspec.structs.replace(progress, is_drained=True, how=verdict.message)


def by_person(
    deadline: Deadline = Deadline(),
) -> Callable[[View, str, Memory | None, Moment], Step[Memory]]:
    """Return the step of ``unmoor drain``, by node name: any node; nothing is labelled or ended."""
    order = Order(deadline=deadline)

    def step(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
        node = view.node(key)
        if node is None:
            return Step()
        progress = advance(view, node, order, memory, moment)
        return confirmed(view, node, order.method, progress, moment).step

    return step
