"""What a method proposes: a command, or why not, node by node.

Must not: know any method.
"""

from __future__ import annotations

import msgspec

from unmoor.model.disruption import DisruptedNode, MovedOwner
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Provisioner
from unmoor.policy.verdict import Method, Verdict


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


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that go together. ``moved``: whose pods must be ready again afterwards (R3)."""

    method: Method
    reason: str
    nodes: tuple[DisruptedNode, ...]
    moved: tuple[MovedOwner, ...] = ()

    @property
    def action(self) -> str:
        """``<method>/delete``, as metrics and reasons have it (spec 3.0)."""
        return f"{self.method}/delete"


class Proposal(msgspec.Struct, frozen=True):
    """``command`` None: nothing to do. ``eligible``: how many nodes the method found (10.1)."""

    command: Command | None = None
    verdicts: tuple[Verdict, ...] = ()
    eligible: int = 0
