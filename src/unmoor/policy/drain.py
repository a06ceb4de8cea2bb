"""Whose turn is it to leave, and what holds a pod back?

A drain goes through tiers (R19): workloads, then system-cluster-critical, then system-node-critical
pods. A tier's turn comes when every pod of the one before is gone or stuck; only a pod whose grace
no longer fits before the deadline is asked to go out of turn. Within a tier, with a deadline, the
longest grace comes first.

Must not: ask for anything, count attempts (``lifecycle.drain``), or predict what the server will
say to an eviction: what is said here about a budget is for people.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from unmoor.model import duration, names
from unmoor.model.disruption_budget import PodDisruptionBudget
from unmoor.model.moment import FIRST, Moment, later, utc
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.selector import SelectorError, matches
from unmoor.model.snapshot import View
from unmoor.model.validation import cut
from unmoor.model.wording import counted
from unmoor.policy import pods

TIERS = ("", names.SYSTEM_CLUSTER_CRITICAL, names.SYSTEM_NODE_CRITICAL)
"""By ``priorityClassName``; the number does not matter (spec 5.2). "" is every other pod."""
DEADLINE_SLACK_S = 2.0
"""A pod that ends this much after the deadline ends in time: the API counts whole seconds."""
SHORTEST_GRACE_S = 1


class Deadline(msgspec.Struct, frozen=True):
    """When a drain ends by force. ``problem``: a value that could not be read, and was ignored.

    ``length_s``: how long that is from the node's deletion, by the clock of whoever stamped it.
    ``first``: it does not pass before this time of our own clock.
    """

    at: datetime | None = None
    problem: str = ""
    length_s: float | None = None
    first: datetime = FIRST

    def left_s(self, now: datetime) -> float | None:
        """Seconds until then, negative when it has passed, None when there is none."""
        return None if self.at is None else (max(self.at, self.first) - now).total_seconds()

    def held_to(self, least_s: float, begun_at: float, moment: Moment) -> Deadline:
        """The same, but not before ``least_s`` have gone by since ``begun_at`` (monotonic).

        A shorter one keeps its own length. Pods are forced out by this, so a wall clock that is
        wrong must not make it pass at once.
        """
        if self.at is None or self.length_s is None:
            return self
        first = later(moment.wall, begun_at + min(self.length_s, least_s) - moment.mono)
        return msgspec.structs.replace(self, first=first)


def deadline_of(node: Node, default_s: float | None) -> Deadline:
    """Return the earlier of the setting and the node's own annotation, from its deletion on.

    The annotation is a duration ("10m") or a time (RFC 3339). Off unless someone sets it (R6).
    """
    since = node.metadata.deletion_timestamp
    times = [] if since is None or default_s is None else [later(since, default_s)]
    text = node.metadata.annotations.get(names.DRAIN_DEADLINE, "")
    at, problem = _read(text, since) if text else (None, "")
    first = min([*times, *([at] if at else [])], default=None)
    length_s = None if first is None or since is None else (first - since).total_seconds()
    return Deadline(first, problem, length_s)


def _read(text: str, since: datetime | None) -> tuple[datetime | None, str]:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is not None and at.tzinfo is not None:
        return utc(at), ""
    try:
        after_s = duration.parse(text)
    except duration.DurationError:
        return None, (
            f'annotation {names.DRAIN_DEADLINE} is "{cut(text)}": write a duration such as "10m" '
            'or a time such as "2024-05-01T12:00:00Z"'
        )
    if after_s < 0:
        return None, f'annotation {names.DRAIN_DEADLINE} is "{text}": it must not be negative'
    return (None if since is None else later(since, after_s)), ""


class Plan(msgspec.Struct, frozen=True):
    """One look at a node's pods; each is in at most one of ``turn``, ``late`` and ``forced``."""

    waiting: tuple[Pod, ...] = ()
    """All that must still go, terminating or not, whosever turn it is."""
    turn: tuple[Pod, ...] = ()
    """Whose eviction is to be asked for, in this order."""
    late: tuple[Pod, ...] = ()
    """Terminating, but with a grace that ends after the deadline: it shrinks (E10)."""
    forced: tuple[Pod, ...] = ()
    """Still not terminating at the deadline: deleted past their budget, and reported (E12)."""
    stuck: tuple[Pod, ...] = ()
    """Should be gone by now and are not: no longer waited for (T078)."""


def tier_of(pod: Pod) -> int:
    """Return the place in :data:`TIERS`."""
    name = pod.spec.priority_class_name
    return TIERS.index(name) if name in TIERS else 0


def plan(
    on_node: Iterable[Pod],
    moment: Moment,
    *,
    patience: pods.Patience,
    deadline: Deadline = Deadline(),
    passed: frozenset[str] = frozenset(),
    returning: frozenset[str] = frozenset(),
) -> Plan:
    """Sort a node's pods. ``returning`` (R1): uids of pods that keep coming back, which hold up no
    tier but their own end; ``passed``: those of them that are no longer waited for.
    """
    everyone = tuple(on_node)
    now = moment.wall
    waiting = tuple(
        pod for pod in pods.waited_for(everyone, moment, patience) if pod.uid not in passed
    )
    left_s = deadline.left_s(now)
    staying = [pod for pod in waiting if not pod.is_deleting]
    stuck = pods.stuck(everyone, moment, patience)
    if left_s is not None and left_s <= 0:
        return Plan(waiting, (), _late(waiting, deadline, left_s), tuple(staying), stuck)
    tier = min((tier_of(pod) for pod in waiting if pod.uid not in returning), default=0)
    turn = [
        pod
        for pod in staying
        if tier_of(pod) == tier or pod.uid in returning or _is_urgent(pod, left_s)
    ]
    if left_s is not None:
        turn.sort(key=lambda pod: (-pod.grace_s, pod.key))  # R19: the longest grace first
    return Plan(waiting, tuple(turn), _late(waiting, deadline, left_s), (), stuck)


def _is_urgent(pod: Pod, left_s: float | None) -> bool:
    """E10: what asks for more than is left goes at once, to get all of what is left."""
    return left_s is not None and pod.grace_s >= left_s


def _late(waiting: tuple[Pod, ...], deadline: Deadline, left_s: float | None) -> tuple[Pod, ...]:
    if deadline.at is None or left_s is None:
        return ()
    limit = later(deadline.at, DEADLINE_SLACK_S)
    return tuple(
        pod
        for pod in waiting
        if pod.gone_by is not None and pod.gone_by > limit and _is_shorter(left_s, pod)
    )


def shortened_s(left_s: float) -> int:
    """Return the grace to ask for: 0 would erase the pod object while its containers still run."""
    return max(int(left_s), SHORTEST_GRACE_S)


def _is_shorter(left_s: float, pod: Pod) -> bool:
    """The server only ever shortens."""
    asked_s = pod.metadata.deletion_grace_period_seconds
    return asked_s is None or shortened_s(left_s) < asked_s


def budgets_over(view: View, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
    """Return the disruption budgets that select a pod.

    An empty selector selects all pods of the namespace, none selects nothing (spec 2.3). One that
    cannot be evaluated is counted in: nobody knows that it does not hold the pod.
    """
    return tuple(budget for budget in view.budgets_near(pod) if _selects(budget, pod))


def _selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return matches(budget.spec.selector, pod.metadata.labels)
    except SelectorError:
        return True


def is_exhausted(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """True when the budget would refuse the pod now (spec 2.3, C01)."""
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow" and not pod.is_ready:
        return False
    return budget.status.disruptions_allowed <= 0


def about_budgets(pod: Pod, budgets: tuple[PodDisruptionBudget, ...]) -> str:
    """Say for a person which budget holds a pod, with its numbers and what would lift it."""
    name = f"{pod.namespace}/{pod.name}"
    listed = ", ".join(f"{budget.namespace}/{budget.name}" for budget in budgets)
    if len(budgets) > 1:
        # E01: the Eviction API answers 500 for as long as both are there.
        return (
            f"pod {name} is under {len(budgets)} disruption budgets ({listed}), and the Eviction "
            "API refuses such pods: delete a budget, or narrow its selector"
        )
    status = budgets[0].status
    return (
        f"pod {name} is held by disruption budget {listed}: "
        f"{counted(status.disruptions_allowed, 'disruption')} allowed ({status.current_healthy} of "
        f"{status.expected_pods} pods healthy, {status.desired_healthy} needed); more ready pods "
        "or a wider budget would let it go"
    )
