"""What a method proposes: a command, or why not, node by node.

One command at a time: a node that could go as well, but is not in it, waits for the next one and
says so.

Must not: know any method.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from unmoor.engine.plan import NewMachine, Plan
from unmoor.model.disruption import DisruptedNode
from unmoor.model.kinds import ref_of
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Provisioner
from unmoor.policy.verdict import Method, Reason, Verdict

NODES_MAX = 1_000
"""So many nodes go in one command; the rest in the next. One object must name them all."""
NAMED_NODES_MAX = 2
"""So many nodes are named in a command's summary; the rest are counted."""


class Candidate(msgspec.Struct, frozen=True):
    """A node that may go, with all that a method looks at. ``pods``: those that count."""

    node: Node
    machine: Machine
    provisioner: Provisioner
    pods: tuple[Pod, ...] = ()

    @property
    def identity(self) -> DisruptedNode:
        """Node and machine by name and uid, as a command names them."""
        return DisruptedNode(
            name=self.node.name,
            uid=self.node.uid,
            machine=self.machine.name,
            machine_uid=self.machine.uid,
        )


class Judged(msgspec.Struct, frozen=True):
    """One method's look at one node. ``candidate`` None: the verdict says why it stays."""

    verdict: Verdict
    candidate: Candidate | None = None


class Found(msgspec.Struct, frozen=True):
    """One method's look at all nodes, in the order of their names."""

    method: Method
    judged: tuple[Judged, ...]

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The nodes that the method wants and nothing blocks."""
        return tuple(one.candidate for one in self.judged if one.candidate is not None)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that go together.

    ``plan``: where their pods go, and the machines that come first. ``saving_usd_per_h``: what is
    paid less afterwards, None when a price is unknown or nobody asked.
    """

    method: Method
    reason: str
    nodes: tuple[DisruptedNode, ...]
    plan: Plan = Plan()
    saving_usd_per_h: float | None = None

    @property
    def action(self) -> str:
        """``<method>/delete`` or ``/replace``, as metrics and reasons have it (spec 3.0)."""
        return f"{self.method}/{'replace' if self.replacements else 'delete'}"

    @property
    def replacements(self) -> tuple[NewMachine, ...]:
        """The machines that are to be up before a node of it goes (001:20)."""
        return self.plan.machines

    @property
    def summary(self) -> str:
        """Its nodes as a table cell: ``kubectl`` shows only the first item of a list."""
        named = ", ".join(node.name for node in self.nodes[:NAMED_NODES_MAX])
        more = len(self.nodes) - NAMED_NODES_MAX
        return f"{named} and {more} more" if more > 0 else named


class Proposal(msgspec.Struct, frozen=True):
    """``command`` None: nothing to do.

    ``eligible``: how many nodes each method that was asked has found (10.1).
    """

    command: Command | None = None
    verdicts: tuple[Verdict, ...] = ()
    eligible: dict[Method, int] = {}


def proposal(
    found: Found,
    chosen: Iterable[Candidate],
    reason: str,
    plan: Plan = Plan(),
    saving_usd_per_h: float | None = None,
) -> Proposal:
    """Propose that ``chosen``, some of those that were found, go together.

    ``plan`` and ``saving_usd_per_h``: of the command.
    """
    nodes = tuple(candidate.identity for candidate in chosen)[:NODES_MAX]
    eligible = {found.method: len(found.candidates)}
    if not nodes:
        return Proposal(verdicts=tuple(one.verdict for one in found.judged), eligible=eligible)
    command = Command(
        method=found.method,
        reason=reason,
        nodes=nodes,
        plan=plan,
        saving_usd_per_h=saving_usd_per_h,
    )
    going = {node.uid for node in nodes}
    verdicts = (
        one.verdict
        if one.candidate is None or one.candidate.node.uid in going
        else _waits(one.candidate, command)
        for one in found.judged
    )
    return Proposal(command, tuple(verdicts), eligible)


def refused(
    candidate: Candidate, method: Method, reason: Reason, message: str, **evidence: float
) -> Verdict:
    """Say why a method does not want a node."""
    return Verdict(
        subject=ref_of(candidate.node),
        method=method,
        reason=reason,
        message=message,
        evidence={**evidence},
    )


def wanted(
    candidate: Candidate, method: Method, reason: Reason, message: str, **evidence: float
) -> Verdict:
    """Say why a method wants a node to go."""
    verdict = refused(candidate, method, reason, message, **evidence)
    return msgspec.structs.replace(verdict, is_refusal=False)


def _waits(candidate: Candidate, command: Command) -> Verdict:
    name = candidate.node.name
    message = f"node {name} waits until the command that takes {command.summary} is over"
    return refused(candidate, command.method, Reason.NEXT_COMMAND, message)
