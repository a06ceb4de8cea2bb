"""Is a machine's node what it should be? Checks that only report (spec 6.3).

*Termination*: a deleted machine whose node's pods a budget holds. *NodeShape*: a node that is
clearly smaller than what was launched, or lacks a resource altogether.

Must not: repair anything.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from unmoor.lifecycle.effects import AnyEffect, Fact, say
from unmoor.lifecycle.step import Step
from unmoor.model import resources
from unmoor.model.kinds import ref_of
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.quantity import QuantityError
from unmoor.model.snapshot import View
from unmoor.policy import pods
from unmoor.policy.drain import about_budgets, budgets_over, is_exhausted
from unmoor.policy.ownership import is_our_machine
from unmoor.policy.verdict import Method, Reason, Verdict

LEAST_SHARE = 0.9
"""A node with less of a resource than this share of what was promised is reported."""


class Memory(msgspec.Struct, frozen=True):
    """Droppable: when the machine was last looked at."""

    looked_at: float


class Issue(msgspec.Struct, frozen=True):
    """One thing that is not as it should be. ``check`` is the metric's label."""

    check: str
    message: str


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Look at the machine called ``key``, at most every ten minutes."""
    machine = view.machine(key)
    if machine is None or not is_our_machine(machine, view.identity) or not machine.provider_id:
        return Step()
    pause_s = view.settings.cadence.consistency_scan_s
    if memory is not None and moment.mono < memory.looked_at + pause_s:
        return Step(memory=memory, wake_at=memory.looked_at + pause_s)
    nodes = view.nodes_of(machine.provider_id)
    issues = [
        issue
        for check in CHECKS
        for issue in (check(view, machine, nodes[0], moment) if len(nodes) == 1 else [])
    ]
    verdicts = tuple(_told(machine, issue) for issue in issues)
    effects: list[AnyEffect] = []
    for issue, verdict in zip(issues, verdicts, strict=True):
        facts = (Fact("consistency_errors", {"check": issue.check}),)
        effects += [msgspec.structs.replace(event, facts=facts) for event in say(verdict)]
    return Step(tuple(effects), Memory(moment.mono), verdicts, moment.after(pause_s))


def _told(machine: Machine, issue: Issue) -> Verdict:
    return Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.INCONSISTENT,
        message=issue.message,
        evidence={"check": issue.check},
        event="FailedConsistencyCheck",
        is_warning=True,
    )


def termination(view: View, machine: Machine, node: Node, moment: Moment) -> list[Issue]:
    """T152."""
    if not machine.is_deleting:
        return []
    patience = pods.Patience(view.settings.cadence.stuck_terminating_s)
    for pod in pods.waited_for(view.pods_on(node.name), moment, patience):
        held = tuple(one for one in budgets_over(view, pod) if is_exhausted(one, pod))
        if held:
            return [Issue("Termination", f"cannot drain: {about_budgets(pod, held)}")]
    return []


def node_shape(view: View, machine: Machine, node: Node, moment: Moment) -> list[Issue]:
    """T153."""
    del view, moment
    if machine.is_deleting or not machine.is_initialized:
        return []
    issues = []
    for name in sorted(machine.status.capacity):
        try:
            expected = resources.parse_amount(name, machine.status.capacity[name])
            found = resources.parse_amount(name, node.status.capacity.get(name, 0))
        except QuantityError as error:
            issues.append(Issue("NodeShape", f"resource {name}: {error}"))
            continue
        if expected > 0 and name not in node.status.capacity:
            issues.append(Issue("NodeShape", f"node {node.name} reports no {name}"))
        elif expected > 0 and found < LEAST_SHARE * expected:
            issues.append(
                Issue(
                    "NodeShape",
                    f"node {node.name} has {found / expected:.1%} of the {name} that its machine "
                    f"was launched with ({resources.said(name, found)} of "
                    f"{resources.said(name, expected, up=True)})",
                )
            )
    return issues


CHECKS: tuple[Callable[[View, Machine, Node, Moment], list[Issue]], ...] = (
    termination,
    node_shape,
)
