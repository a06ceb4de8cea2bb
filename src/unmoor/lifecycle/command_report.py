"""What does a command say: what it waits for, whom it takes, and how it ended otherwise than meant?

What it waits for is told on the Disruption itself, in words that stay the same while it waits.

Must not: decide anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unmoor.lifecycle.effects import Publish
from unmoor.model.base import Ref
from unmoor.model.disruption import DisruptedNode, Disruption, LeftOut, LeftOutReason
from unmoor.model.kinds import ref_of
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.observation import Problem
from unmoor.model.validation import cut
from unmoor.model.wording import counted, named
from unmoor.policy import methods
from unmoor.policy.settling import Unsettled
from unmoor.policy.verdict import Reason, Verdict


def running(command: Disruption, message: str) -> Verdict:
    """Say where a command is."""
    return _about(command, Reason.COMMAND_RUNNING, message, "DeprovisioningWaiting")


def settling(command: Disruption, owners: Sequence[Unsettled]) -> Verdict:
    """Say whose pods are waited for."""
    message = f"waits for moved pods: {owners[0]}"
    return _about(command, Reason.PODS_SETTLING, message, "DeprovisioningWaiting")


def launching(command: Disruption, machines: Sequence[Machine]) -> Verdict:
    """Say which replacements are waited for."""
    message = f"waits for {counted(len(machines), 'replacement')}: {machines[0].name}"
    return _about(command, Reason.COMMAND_RUNNING, message, "DeprovisioningWaiting")


def replacement_failed(command: Disruption, why: Mapping[str, str]) -> Verdict:
    """Say which replacements did not come up, and why; the first of them in words."""
    first = min(why)
    more = f" and {len(why) - 1} more" if len(why) > 1 else ""
    message = (
        f"nothing goes, as its replacement {first}{more} did not come up: {why[first]}; the nodes "
        "are let go, and it is tried again later"
    )
    event = "ReplacementFailed"
    return _about(command, Reason.REPLACEMENT_FAILED, message, event, is_warning=True)


def unreplaced(verdict: Verdict) -> LeftOut:
    """Write down why a node stays although machines were made in its stead."""
    return LeftOut(reason=LeftOutReason.REPLACEMENT_FAILED, message=cut(verdict.message))


def unsettled(command: Disruption, message: str) -> Verdict:
    """Say whose pods are not waited for any longer."""
    event = "DeprovisioningUnsettled"
    return _about(command, Reason.SETTLING_GIVEN_UP, message, event, is_warning=True)


def cancelled(command: Disruption, nodes: tuple[Node, ...]) -> Verdict:
    """Say that a person ended it, on the node by which they did."""
    return Verdict(
        subject=ref_of(nodes[0]),
        method=methods.method_of(command),
        reason=Reason.CANCELLED_BY_UNCORDON,
        message=f"{command.name} is cancelled: {uncordoned(nodes)}",
        evidence={"disruption": command.name},
        event="DeprovisioningCancelled",
    )


def uncordoned(nodes: tuple[Node, ...]) -> str:
    """What a person did."""
    return f"a person uncordoned {named(tuple(node.name for node in nodes))}"


def taken_back(node: Node) -> LeftOut:
    """Write down that a person wants this node to stay."""
    return LeftOut(reason=LeftOutReason.UNCORDONED, message=uncordoned((node,)))


def left_out(verdict: Verdict) -> LeftOut:
    """Write down why a command goes on without a node."""
    return LeftOut(
        reason=_LEFT_OUT.get(verdict.reason, LeftOutReason.UNFIT), message=verdict.message
    )


_LEFT_OUT = {
    Reason.WRITE_REFUSED: LeftOutReason.WRITE_REFUSED,
    Reason.REPLACEMENT_FAILED: LeftOutReason.REPLACEMENT_FAILED,
}
"""After these it is left alone for a while."""


def unwritable(command: Disruption, node: Node, problem: Problem) -> Verdict:
    """Say in whose words a node is left out that the server does not let us change."""
    words = cut(problem.message)
    return Verdict(
        subject=ref_of(node),
        method=methods.method_of(command),
        reason=Reason.WRITE_REFUSED,
        message=(
            f"the API server refuses to change it ({problem.kind}): {words}; {command.name} goes "
            "on without it; look at admission webhooks, policies, and our rights"
        ),
        evidence={"disruption": command.name, "code": problem.code},
        event="WriteRefused",
        is_warning=True,
    )


def unserved(command: Disruption, node: Node, words: str) -> Verdict:
    """Say that a node stays after all, as what came in its stead is lost."""
    return Verdict(
        subject=ref_of(node),
        method=methods.method_of(command),
        reason=Reason.REPLACEMENT_FAILED,
        message=f"{command.name} goes on without it: {words}",
        evidence={"disruption": command.name},
        event="DeprovisioningCancelled",
    )


def going(node: Node, identity: DisruptedNode, command: Disruption) -> list[Publish]:
    """Say on a node, and on its machine, that it goes now, and why."""
    message = f"deprovisioning by {command.spec.method}: {command.spec.reason} ({command.name})"
    about = [ref_of(node)]
    if identity.machine:
        about.append(Ref("Machine", identity.machine, uid=identity.machine_uid))
    return [
        Publish(regarding=ref, reason="DeprovisioningTerminating", message=message) for ref in about
    ]


def _about(
    command: Disruption, reason: Reason, message: str, event: str, *, is_warning: bool = False
) -> Verdict:
    return Verdict(
        subject=ref_of(command),
        method=methods.method_of(command),
        reason=reason,
        message=f"{command.name}: {message}",
        evidence={"phase": command.phase, "nodes": len(command.nodes)},
        event=event,
        is_warning=is_warning,
    )
