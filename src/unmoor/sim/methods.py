"""When may a node go by a method, and when must it be gone? One row for each method.

This is what the checkers hold unmoor to, so it is said a second time, in plain code on raw objects.
A method that has no row is a breach, and every command of it.

Must not: import policy or lifecycle.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec

from unmoor.model.base import JSON
from unmoor.sim import truth as true
from unmoor.sim.truth import Truth

EMPTY_PATIENCE_S = 120.0
"""An empty node is gone this long after its TTL."""
STUCK_S = 60.0
"""A terminating pod counts until this long after it should be gone."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A method as the checkers see it."""

    asks: Callable[[JSON], bool]
    """The Provisioner lets its nodes go by it (R6)."""
    takes_pods: bool
    """A node may be deleted with workload pods on it; they are evicted then."""
    overdue: Callable[[Truth, JSON, JSON], str]
    """Why a node of a Provisioner that asks for it should have gone by now, "" when it may stay.

    Nodes that are not up yet, going already or protected are not asked about.
    """
    budget: str = ""
    """As what its nodes use up budgets; "": as what they are, empty or not."""
    is_for_the_bill: bool = False
    """It must save something, and moves nobody again so soon for that."""


def method_of(command: JSON) -> str:
    """The method of a Disruption."""
    return str(command["spec"].get("method", ""))


def takes_pods(command: JSON) -> bool:
    """A node of this command may go with its pods."""
    row = METHODS.get(method_of(command))
    return row is not None and row.takes_pods


def is_for_the_bill(command: JSON) -> bool:
    """Its method is about money alone."""
    row = METHODS.get(method_of(command))
    return row is not None and row.is_for_the_bill


# Emptiness.


def _has_ttl(provisioner: JSON) -> bool:
    return provisioner["spec"].get("ttlSecondsAfterEmpty") is not None


def _is_empty_for_too_long(truth: Truth, node: JSON, provisioner: JSON) -> str:
    ttl_s = provisioner["spec"]["ttlSecondsAfterEmpty"]
    if any(_counts(truth, pod) for pod in truth.pods_on(true.name(node))):
        return ""
    # Since a pod of it last came or went, or since it is there.
    there_s = (truth.now() - true.created_at(node)).total_seconds()
    left_s = truth.time_s() - truth.occupied_at.get(true.name(node), 0.0)
    is_late = min(there_s, left_s) > ttl_s + EMPTY_PATIENCE_S
    return f"it is empty for longer than {ttl_s} s" if is_late else ""


def _counts(truth: Truth, pod: JSON) -> bool:
    if not true.is_workload(pod):
        return False
    if not true.is_deleting(pod):
        return True
    return truth.now() < true.deleted_at(pod) + timedelta(seconds=STUCK_S)


# Consolidation: what it costs and saves is for others to say (``engine``, tests/policy).


def _is_consolidated(provisioner: JSON) -> bool:
    return bool((provisioner["spec"].get("consolidation") or {}).get("enabled"))


def _never(_truth: Truth, _node: JSON, _provisioner: JSON) -> str:
    return ""


# Expiration. Those with pods take their turn, and as long as their pods need.


def _has_lifetime(provisioner: JSON) -> bool:
    return provisioner["spec"].get("ttlSecondsUntilExpired") is not None


def _is_too_old(truth: Truth, node: JSON, provisioner: JSON) -> str:
    ttl_s = provisioner["spec"]["ttlSecondsUntilExpired"]
    if any(_counts(truth, pod) for pod in truth.pods_on(true.name(node))):
        return ""
    there_s = (truth.now() - true.created_at(node)).total_seconds()
    left_s = truth.time_s() - truth.occupied_at.get(true.name(node), 0.0)
    is_late = min(there_s - ttl_s, left_s) > EMPTY_PATIENCE_S
    return f"it is empty and older than {ttl_s} s" if is_late else ""


# Drift: it is on unless the gate is shut (R15); what differs is for others to say (tests/policy).


def _may_drift(_provisioner: JSON) -> bool:
    return True


METHODS: dict[str, Row] = {
    "expiration": Row(asks=_has_lifetime, takes_pods=True, overdue=_is_too_old, budget="Expired"),
    "drift": Row(asks=_may_drift, takes_pods=True, overdue=_never, budget="Drifted"),
    "emptiness": Row(
        asks=_has_ttl, takes_pods=False, overdue=_is_empty_for_too_long, budget="Empty"
    ),
    "consolidation": Row(
        asks=_is_consolidated, takes_pods=True, overdue=_never, is_for_the_bill=True
    ),
}
"""By the name that a Disruption has in ``spec.method``."""
