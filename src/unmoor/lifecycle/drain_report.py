"""What does a drain say while it waits: who is left, who holds it up, and what would help?

Must not: decide anything.
"""

from __future__ import annotations

from unmoor.model.base import Key, Object
from unmoor.model.kinds import ref_of
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.wording import counted, named
from unmoor.policy.drain import Deadline, Plan
from unmoor.policy.pods import about_unreadable
from unmoor.policy.verdict import Method, Reason, Verdict

TOLD_PODS_MAX = 5
"""So many held pods get an event each in one step."""


def hindrance(
    subject: Object, method: Method, reason: Reason, message: str, **evidence: str | float
) -> Verdict:
    """Say what a drain waits for, or has to do without: a warning for a person."""
    return Verdict(
        subject=ref_of(subject),
        method=method,
        reason=reason,
        message=message,
        evidence={**evidence},
        event="FailedDraining",
        is_warning=True,
    )


def leaving_load_balancers(node: Node, method: Method, wait_s: float) -> Verdict:
    """Say when evictions begin: words that stay the same while it waits."""
    return Verdict(
        subject=ref_of(node),
        method=method,
        reason=Reason.LOAD_BALANCER,
        message=(
            f"node {node.name}: evictions begin when load balancers have had {wait_s:g} s to take "
            "it out (unmoor.loadBalancerWait)"
        ),
        evidence={"wait_s": wait_s},
        event="AwaitingLoadBalancers",
    )


def left(node: Node, method: Method, plan: Plan) -> list[Verdict]:
    """Everything that is waited for is reported (spec 5.1 step 3)."""
    count = len(plan.waiting)
    if not count:
        return []
    those = named(tuple("/".join(pod.key) for pod in plan.waiting))
    verdict = hindrance(
        node,
        method,
        Reason.PODS_LEFT,
        f"{counted(count, 'pod')} still to go: {those}",
        pods=count,
        terminating=sum(pod.is_deleting for pod in plan.waiting),
        asked_now=len(plan.turn),
    )
    return [verdict]


def unreadable(node: Node, method: Method, pods: tuple[tuple[Key, str], ...]) -> list[Verdict]:
    """Name the pods (key, problem) that nobody can make out, and what to do about them."""
    return [
        hindrance(
            node,
            method,
            Reason.UNREADABLE_POD,
            about_unreadable(key, problem),
            pod="/".join(key),
        )
        for key, problem in pods[:TOLD_PODS_MAX]
    ]


def stuck(node: Node, method: Method, plan: Plan) -> list[Verdict]:
    """Name the pods that are not waited for any longer (T078)."""
    return [
        hindrance(
            node,
            method,
            Reason.STUCK_POD,
            about_stuck(pod),
            pod=f"{pod.namespace}/{pod.name}",
        )
        for pod in plan.stuck[:TOLD_PODS_MAX]
    ]


def about_stuck(pod: Pod) -> str:
    """Say for a person which pod should be gone, and where to look."""
    return (
        f"pod {pod.namespace}/{pod.name} should have been gone at {pod.gone_by:%H:%M:%S} UTC and "
        "is not waited for any longer: look at its finalizers, and whether the node still answers"
    )


def young_cordon(node: Node, method: Method, quiet_s: float) -> Verdict:
    """Say why a node without pods is not drained yet."""
    return Verdict(
        subject=ref_of(node),
        method=method,
        reason=Reason.YOUNG_CORDON,
        message=(
            f"no pod is waited for on node {node.name}, which is drained once its cordon is "
            f"{quiet_s:g} s old: pods that were bound just before it may still appear"
        ),
        evidence={"quiet_s": quiet_s},
        event="AwaitingScheduler",
    )


def ended(node: Node, method: Method, left: tuple[str, ...], passed: tuple[str, ...]) -> Verdict:
    """Say how the drain ended, and which pods are there all the same.

    ``left``: at the deadline; ``passed``: given up before it.
    """
    if not left:
        but = (
            f", but for {counted(len(passed), 'pod')} given up before: {named(passed)}"
            if passed
            else ""
        )
        return Verdict(
            subject=ref_of(node),
            method=method,
            reason=Reason.DRAINED,
            message=f"node {node.name} is drained{but}",
            is_refusal=False,
        )
    return hindrance(
        node,
        method,
        Reason.CUT_OFF,
        f"the drain of node {node.name} was cut off at its deadline: "
        f"{counted(len(left), 'pod')} still there: {named(left)}",
        pods=len(left),
    )


def deadline_problem(node: Node, method: Method, deadline: Deadline) -> list[Verdict]:
    """Say what is wrong with a deadline that could not be read."""
    if not deadline.problem:
        return []
    message = f"node {node.name}: {deadline.problem}; it is ignored"
    return [hindrance(node, method, Reason.INVALID, message)]
