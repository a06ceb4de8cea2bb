"""Which pods count, may block, are evicted, are waited for? One table (spec 2.4, as ruled).

| pod | counts | may block | evicted | waited for | ruling |
|---|---|---|---|---|---|
| static (mirror), DaemonSet-owned | no | no | no | no | 001:28 as R1 |
| Succeeded or Failed | no | no | no | no | 001:28, 001:205 |
| terminating | yes | no | no | yes | R5 |
| terminating, stuck | no | no | no | no | R5, spec 5.2 |
| any other, naked and do-not-evict ones too | yes | yes | yes | yes | R1, R7, R17 |

A pod that tolerates the unschedulable taint is an ordinary one (R1).

Must not: look at budgets or annotations; whether a pod that may block does block is ``drain``'s and
``candidates``' question.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

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


def standing_of(pod: Pod, now: datetime, stuck_after_s: float) -> Standing:
    """Return the row of the table for one pod."""
    if pod.is_static:
        return STATIC  # 001: static pods are ignored
    if pod.is_daemon:
        return DAEMON  # R1, against the letter of 001:28
    if pod.is_terminal:
        return TERMINAL
    if pod.is_stuck(now, stuck_after_s):
        return STUCK  # T078
    return TERMINATING if pod.is_deleting else ORDINARY


def counted(pods: Iterable[Pod], now: datetime, stuck_after_s: float) -> tuple[Pod, ...]:
    """Return the pods that make a node not empty (001:53 as R5)."""
    return tuple(pod for pod in pods if standing_of(pod, now, stuck_after_s).counts)


def blocking(pods: Iterable[Pod], now: datetime, stuck_after_s: float) -> tuple[Pod, ...]:
    """Return the pods whose budget or annotation may hold back a voluntary method (spec 2.3)."""
    return tuple(pod for pod in pods if standing_of(pod, now, stuck_after_s).may_block)


def waited_for(pods: Iterable[Pod], now: datetime, stuck_after_s: float) -> tuple[Pod, ...]:
    """Return the pods that must be gone before a node is drained (001:28)."""
    return tuple(pod for pod in pods if standing_of(pod, now, stuck_after_s).is_waited_for)


def stuck(pods: Iterable[Pod], now: datetime, stuck_after_s: float) -> tuple[Pod, ...]:
    """Return the pods that should be gone and are not: no longer waited for, but reported."""
    return tuple(pod for pod in pods if standing_of(pod, now, stuck_after_s) is STUCK)
