"""Which pods count, may block, are evicted, are waited for? One table (spec 2.4, as ruled).

| pod | counts | may block | evicted | waited for | ruling |
|---|---|---|---|---|---|
| static (mirror), DaemonSet-owned | no | no | no | no | 001:28 as R1 |
| Succeeded or Failed | no | no | no | no | 001:28, 001:205 |
| terminating | yes | no | no | yes | R5 |
| terminating, stuck | no | no | no | no | R5, spec 5.2 |
| any other, naked and do-not-evict ones too | yes | yes | yes | yes | R1, R7, R17 |

A pod that tolerates the unschedulable taint is an ordinary one (R1).

Stuck is a matter of two clocks. The server's stamp says when a pod should be gone, and a wall clock
that is wrong reads it wrongly. So whoever ends something by it remembers since when each pod has
been seen terminating, and its whole grace must have gone by on the monotonic clock as well.

Must not: look at budgets or annotations; whether a pod that may block does block is ``drain``'s and
``candidates``' question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from unmoor.model.base import Key
from unmoor.model.moment import Moment
from unmoor.model.pod import Pod


class Standing(msgspec.Struct, frozen=True):
    """What a pod means for its node. ``why`` is the row of the table."""

    counts: bool
    """It makes the node not empty, and a command must find it a place."""
    may_block: bool
    """Its budget or its annotation may hold back a voluntary method."""
    is_evicted: bool
    """A drain asks for its eviction."""
    is_waited_for: bool
    """A drain is not over while it is there."""
    why: str


STATIC = Standing(False, False, False, False, "static")
DAEMON = Standing(False, False, False, False, "owned by a DaemonSet")
TERMINAL = Standing(False, False, False, False, "finished")
STUCK = Standing(False, False, False, False, "terminating and stuck")
TERMINATING = Standing(True, False, False, True, "terminating")
ORDINARY = Standing(True, True, True, True, "an ordinary pod")


def about_unreadable(key: Key, problem: str) -> str:
    """Say for a person which pod is taken to be there, why, and what to do about it."""
    return (
        f"pod {'/'.join(key)} cannot be read: {problem}; it is taken for one that must stay: write "
        'the field as "kubectl explain pod --recursive" has it, or delete the pod'
    )


class Patience(msgspec.Struct, frozen=True):
    """When a terminating pod is stuck: ``after_s`` seconds past its grace, on both clocks.

    ``seen``: since when, on the monotonic clock, pods (by uid) have been seen terminating; who is
    not in it begins now. None: the wall clock alone is asked, enough where nothing ends by it.
    """

    after_s: float
    seen: Mapping[str, float] | None = None

    def is_over(self, pod: Pod, moment: Moment) -> bool:
        """True when the pod should have been gone for so long."""
        if not pod.is_stuck(moment.wall, self.after_s):
            return False
        if self.seen is None:
            return True
        seen_at = self.seen.get(pod.uid, moment.mono)
        return moment.mono > seen_at + pod.longest_grace_s + self.after_s


def standing_of(pod: Pod, moment: Moment, patience: Patience) -> Standing:
    """Return the row of the table for one pod."""
    if pod.is_static:
        return STATIC  # 001: static pods are ignored
    if pod.is_daemon:
        return DAEMON  # R1, against the letter of 001:28
    if pod.is_terminal:
        return TERMINAL
    if not pod.is_deleting:
        return ORDINARY
    return STUCK if patience.is_over(pod, moment) else TERMINATING  # T078


def counted(pods: Iterable[Pod], moment: Moment, patience: Patience) -> tuple[Pod, ...]:
    """Return the pods that make a node not empty (001:53 as R5)."""
    return tuple(pod for pod in pods if standing_of(pod, moment, patience).counts)


def blocking(pods: Iterable[Pod], moment: Moment, patience: Patience) -> tuple[Pod, ...]:
    """Return the pods whose budget or annotation may hold back a voluntary method (spec 2.3)."""
    return tuple(pod for pod in pods if standing_of(pod, moment, patience).may_block)


def evicted(pods: Iterable[Pod], moment: Moment, patience: Patience) -> tuple[Pod, ...]:
    """Return the pods that a drain will ask to go (001:28)."""
    return tuple(pod for pod in pods if standing_of(pod, moment, patience).is_evicted)


def waited_for(pods: Iterable[Pod], moment: Moment, patience: Patience) -> tuple[Pod, ...]:
    """Return the pods that must be gone before a node is drained (001:28)."""
    return tuple(pod for pod in pods if standing_of(pod, moment, patience).is_waited_for)


def stuck(pods: Iterable[Pod], moment: Moment, patience: Patience) -> tuple[Pod, ...]:
    """Return the pods that should be gone and are not: no longer waited for, but reported."""
    return tuple(pod for pod in pods if standing_of(pod, moment, patience) is STUCK)
