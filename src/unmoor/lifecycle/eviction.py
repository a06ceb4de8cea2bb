"""Whom to ask to go, when to ask again, and what came of it.

Each pod has its own back-off, by UID, so that a successor of the same name starts afresh (spec 5.3
lacks it). It doubles from 100 ms to 10 s, keeps to what the server asked for, and starts again when
a budget over the pod changes for the better (E15).

Pods that come back (R1): a workload that tolerates the cordon may be evicted, and its successor
land on the same node. After some rounds that is reported, and the owner's pods are *passed*, no
longer waited for, as soon as each has been admitted once more.

Must not: decide whose turn it is (``policy.drain``), or assume that an eviction was admitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from unmoor.lifecycle.drain_report import hindrance
from unmoor.lifecycle.effects import AnyEffect, Evict, Publish, say_all
from unmoor.lifecycle.step import Step
from unmoor.model.base import Ref
from unmoor.model.disruption_budget import PodDisruptionBudget
from unmoor.model.kinds import ref_of
from unmoor.model.moment import Moment, doubled_s, earliest
from unmoor.model.node import Node
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.model.wording import counted
from unmoor.policy import pods as standing
from unmoor.policy.drain import Plan, about_budgets, is_exhausted
from unmoor.policy.verdict import Method, Reason, Verdict

ASKED_MAX = 1_000
"""So many pods are asked to go in one step; the rest in the next."""
Budgets: TypeAlias = Mapping[str, tuple[PodDisruptionBudget, ...]]
"""By uid of the pods whose turn it is, the budgets over each (``policy.drain.budgets_over``)."""


class Try(msgspec.Struct, frozen=True):
    """What is known about asking one pod. ``budgets``: as they were when it was last asked."""

    ref: Ref
    owner: str = ""
    asked: int = 0
    not_before: float = 0.0
    budgets: tuple[tuple[str, int], ...] = ()
    is_admitted: bool = False
    round: int = 0
    """How many full rounds its owner had come back before this pod was first asked."""


class Round(msgspec.Struct, frozen=True):
    """How often an owner's pods left this node: ``evicted`` so far, ``each`` at a time."""

    each: int = 0
    evicted: int = 0

    @property
    def done(self) -> int:
        """Full rounds."""
        return self.evicted // max(self.each, 1)


class Memory(msgspec.Struct, frozen=True):
    """Droppable: without it pods are asked at once again, and rounds are counted from the start."""

    tries: dict[str, Try] = {}
    rounds: dict[str, Round] = {}
    node: str = ""
    """The uid of the node that it is about: a successor of the same name starts afresh."""
    cordoned_at: float | None = None
    """Since when the cordon, and the label for load balancers, have been seen in place."""
    begun_at: float = 0.0
    """When this drain was first looked at."""
    terminating: dict[str, float] = {}
    """Since when each pod of the node has been seen terminating (``policy.pods.Patience``)."""
    over_at: float | None = None
    """When the deadline was first seen to have passed: pods are deleted from then on (E12)."""
    detaching_at: float | None = None
    """When the wait for volumes began (T05)."""
    together_at: float = 0.0
    """When pods that keep coming back may be asked again, all at once (R1)."""
    told: dict[Publish, float] = {}
    """When each event was last offered (``telling``)."""


class Known(msgspec.Struct, frozen=True):
    """The memory brought up to date, and what there is to say about it."""

    memory: Memory
    effects: tuple[AnyEffect, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


def remembered(node: Node, memory: Memory | None, moment: Moment) -> Memory:
    """Return what is known of this very node's drain, which may begin now."""
    if memory is not None and memory.node == node.uid:
        return memory
    return Memory(node=node.uid, begun_at=moment.mono)


def observe(
    view: View, node: Node, memory: Memory, moment: Moment, *, method: Method, is_closed: bool
) -> Known:
    """Read the answers to what was asked: admitted evictions are told and counted once.

    ``is_closed``: the cordon, and the label where one is wanted, are in place. ``method``: who
    drains, for what there is to say. ``memory`` is what is ``remembered``.
    """
    terminating = {
        pod.uid: memory.terminating.get(pod.uid, moment.mono)
        for pod in view.pods_on(node.name)
        if pod.is_deleting
    }
    patience = standing.Patience(view.settings.cadence.stuck_terminating_s, terminating)
    live = standing.waited_for(view.pods_on(node.name), moment, patience)
    rounds = _begin_rounds(live, memory.rounds)
    tries: dict[str, Try] = {}
    told: list[Publish] = []
    alive = {pod.uid for pod in live}
    for uid, known in sorted(memory.tries.items()):
        answer = view.answer(Asked.EVICTION, uid)
        if not known.is_admitted and answer is not None and answer.result is True:
            again_at = answer.at.after(view.settings.cadence.admitted_wait_s)
            known = msgspec.structs.replace(  # noqa: PLW2901 - the same try, one fact later
                known, is_admitted=True, not_before=again_at
            )
            told.append(
                Publish(
                    regarding=known.ref,
                    reason="Evicted",
                    message=f"evicted from node {node.name}, which is being drained",
                )
            )
            if known.owner in rounds:
                one = rounds[known.owner]
                rounds[known.owner] = msgspec.structs.replace(one, evicted=one.evicted + 1)
        if uid in alive:
            tries[uid] = known
    # Whoever takes the cordon away lets pods come again: a new one is as young as the first.
    since = moment.mono if memory.cordoned_at is None else memory.cordoned_at
    cordoned_at = since if is_closed else None
    fresh = msgspec.structs.replace(
        memory, tries=tries, rounds=rounds, cordoned_at=cordoned_at, terminating=terminating
    )
    verdicts = _returning(view, node, fresh, live, method)
    return Known(fresh, (*told, *say_all(verdicts)), verdicts)


def _begin_rounds(live: tuple[Pod, ...], rounds: dict[str, Round]) -> dict[str, Round]:
    """A round is as many pods as its owner has had here at once: some come just before a cordon."""
    counts = Counter(_owner_of(pod) for pod in live if not pod.is_deleting)
    begun = {
        owner: msgspec.structs.replace(rounds.get(owner, Round()), each=count)
        for owner, count in counts.items()
        if owner and (owner not in rounds or rounds[owner].each < count)
    }
    return {**rounds, **begun}


def _owner_of(pod: Pod) -> str:
    owner = pod.metadata.controller
    return owner.uid if owner is not None else ""


def is_returning(view: View, memory: Memory, pod: Pod) -> bool:
    """R1: its owner has brought pods back to this node for the set number of rounds."""
    return _round_of(memory, pod) >= view.settings.returning_pods_rounds


def _round_of(memory: Memory, pod: Pod) -> int:
    if (known := memory.tries.get(pod.uid)) is not None:
        return known.round
    rounds = memory.rounds.get(_owner_of(pod))
    return 0 if rounds is None else rounds.done


def returning(view: View, node: Node, memory: Memory) -> frozenset[str]:
    """Return the uids of pods that keep coming back to the node (R1)."""
    return frozenset(pod.uid for pod in view.pods_on(node.name) if is_returning(view, memory, pod))


def passed(view: View, node: Node, memory: Memory, returning: frozenset[str]) -> frozenset[str]:
    """Return the uids of ``returning`` pods that were admitted once more, or terminate (R1)."""
    return frozenset(
        pod.uid
        for pod in view.pods_on(node.name)
        if pod.uid in returning and (pod.is_deleting or _is_admitted(memory, pod))
    )


def _is_admitted(memory: Memory, pod: Pod) -> bool:
    known = memory.tries.get(pod.uid)
    return known is not None and known.is_admitted


def _returning(
    view: View, node: Node, memory: Memory, live: tuple[Pod, ...], method: Method
) -> tuple[Verdict, ...]:
    verdicts = []
    for pod in live:
        if not is_returning(view, memory, pod):
            continue
        owner = pod.metadata.controller
        named = f"{owner.kind} {pod.namespace}/{owner.name}" if owner else pod.name
        rounds = _round_of(memory, pod)
        verdict = hindrance(
            node,
            method,
            Reason.RETURNING_PODS,
            f"pods of {named} came back to this node {counted(rounds, 'time')} although it is "
            "cordoned: they are not waited for once they are evicted again; remove the toleration "
            "of node.kubernetes.io/unschedulable, or run it as a DaemonSet",
            owner=named,
            rounds=rounds,
        )
        if verdict not in verdicts:
            verdicts.append(verdict)
    return tuple(verdicts)


def ask(
    view: View, plan: Plan, budgets_of: Budgets, memory: Memory, moment: Moment
) -> Step[Memory]:
    """Ask those whose back-off is over; the step's memory says when each may be asked again."""
    tries = dict(memory.tries)
    together_at = memory.together_at
    is_due = _is_due_together(view, plan, memory, moment)
    effects: list[AnyEffect] = []
    wakes: list[float] = []
    for pod in plan.turn:
        budgets = _state_of(budgets_of[pod.uid])
        known = tries.get(pod.uid) or _returned(view, pod, memory, budgets, moment)
        if known is not None:
            tries[pod.uid] = known
        is_eased = known is not None and _is_eased(known, budgets)
        if is_returning(view, memory, pod):
            free_at = moment.mono if is_due else memory.together_at
        elif known is None or is_eased:
            free_at = moment.mono
        else:
            free_at = _free_at(view, pod.uid, known)
        if moment.mono < free_at:
            wakes.append(free_at)
            continue
        if len(effects) >= ASKED_MAX:
            wakes.append(moment.mono)
            break
        asked = known.asked if known is not None and not is_eased else 0
        wait_s = _back_off_s(view, asked)
        effects.append(Evict(ref=ref_of(pod), why=f"attempt {asked + 1}"))
        wakes.append(moment.after(wait_s))
        tries[pod.uid] = Try(
            ref=ref_of(pod),
            owner=_owner_of(pod),
            asked=asked + 1,
            not_before=moment.after(wait_s),
            budgets=budgets,
            is_admitted=known is not None and known.is_admitted,
            round=_round_of(memory, pod),
        )
        if is_returning(view, memory, pod):
            together_at = max(together_at, moment.after(_back_off_s(view, tries[pod.uid].round)))
    return Step(
        effects=tuple(effects),
        memory=msgspec.structs.replace(memory, tries=tries, together_at=together_at),
        wake_at=earliest(*wakes),
    )


def _is_due_together(view: View, plan: Plan, memory: Memory, moment: Moment) -> bool:
    """Pods that keep coming back are asked together, or they would never all be passed at once.

    Each round waits longer: a pod that has not started goes the moment it is asked, and its
    successor may be here in the same moment. Once only such pods are left, and no budget holds one,
    they are asked as soon as they come.
    """
    if moment.mono >= memory.together_at:
        return True
    for pod in plan.waiting:
        answer = view.answer(Asked.EVICTION, pod.uid)
        is_refused = answer is not None and answer.problem is not None
        if is_refused or not is_returning(view, memory, pod):
            return False
    return True


def _returned(
    view: View,
    pod: Pod,
    memory: Memory,
    budgets: tuple[tuple[str, int], ...],
    moment: Moment,
) -> Try | None:
    """A successor of a pod that was evicted from this node waits: each round longer."""
    rounds = _round_of(memory, pod)
    if not rounds:
        return None
    return Try(
        ref=ref_of(pod),
        owner=_owner_of(pod),
        not_before=moment.after(_back_off_s(view, rounds)),
        budgets=budgets,
        round=rounds,
    )


def _is_eased(known: Try, budgets: tuple[tuple[str, int], ...]) -> bool:
    """E15: a budget has changed for the better, so the answer may be another one now."""
    if not known.asked or known.is_admitted or budgets == known.budgets:
        return False
    return all(allowed > 0 for _, allowed in budgets)


def _free_at(view: View, uid: str, known: Try) -> float:
    answer = view.answer(Asked.EVICTION, uid)
    if answer is None or answer.problem is None or answer.problem.retry_after_s is None:
        return known.not_before
    return max(known.not_before, answer.at.after(answer.problem.retry_after_s))


def _back_off_s(view: View, asked: int) -> float:
    cadence = view.settings.cadence
    return doubled_s(cadence.eviction_backoff_s, asked, cadence.eviction_backoff_most_s)


def _state_of(budgets: tuple[PodDisruptionBudget, ...]) -> tuple[tuple[str, int], ...]:
    return tuple((one.uid or one.name, one.status.disruptions_allowed) for one in budgets)


def held_back(
    view: View,
    node: Node,
    plan: Plan,
    budgets_of: Budgets,
    asked: Step[Memory],
    method: Method,
) -> tuple[Verdict, ...]:
    """Say which pods the server refuses to evict, by whose word, and what would lift it.

    A refusal is old news once the budget allows: whom this step asks again gets a new answer soon.
    """
    verdicts = []
    again = {effect.ref.uid for effect in asked.effects if isinstance(effect, Evict)}
    for pod in plan.turn:
        answer = view.answer(Asked.EVICTION, pod.uid)
        if answer is None or answer.problem is None:
            continue
        is_full = answer.problem.kind is ProblemKind.TOO_MANY_REQUESTS
        budgets = budgets_of[pod.uid]
        if pod.uid in again and is_full and not _is_held(pod, budgets):
            continue
        verdicts.append(_held(node, pod, answer.problem, budgets, method))
    return tuple(verdicts)


def _is_held(pod: Pod, budgets: tuple[PodDisruptionBudget, ...]) -> bool:
    """As far as the budgets say now: two at once never let a pod go (E01)."""
    return len(budgets) > 1 or any(is_exhausted(budget, pod) for budget in budgets)


def _held(
    node: Node,
    pod: Pod,
    problem: Problem,
    budgets: tuple[PodDisruptionBudget, ...],
    method: Method,
) -> Verdict:
    """On the real node, and on the pod (spec 5.3's pseudo-node is not copied)."""
    if len(budgets) > 1:
        reason, message = Reason.TWO_BUDGETS, about_budgets(pod, budgets)
    elif problem.kind is ProblemKind.TOO_MANY_REQUESTS and _is_held(pod, budgets):
        reason, message = Reason.BUDGET, about_budgets(pod, budgets)
    else:
        reason = Reason.EVICTION_REFUSED
        message = (
            f"the eviction of pod {pod.namespace}/{pod.name} was refused "
            f"({problem.kind}): {problem.message}; it is asked again"
        )
    verdict = hindrance(
        node,
        method,
        reason,
        message,
        pod=f"{pod.namespace}/{pod.name}",
        budgets=", ".join(f"{one.namespace}/{one.name}" for one in budgets),
        code=problem.code,
    )
    return msgspec.structs.replace(verdict, also_on=(ref_of(pod),))
