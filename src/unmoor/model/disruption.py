"""The command as an object: which nodes go, why, and how far it has come.

Creating a ``Disruption`` (``unmoor.dev/v1alpha1``) is the commit: it is written before the first
effect that depends on it, so a restart finds what was begun. Nodes carry its name in an annotation
that is set in the same patch as the cordon; finished ones stay as the ledger, bounded.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import field

from unmoor.model.base import Object, Struct


class DisruptionPhase(StrEnum):
    """How far a command has come. The last two are final."""

    PENDING = "Pending"
    """Written down, nothing touched that is not also marked with its name."""
    DELETING = "Deleting"
    """Past the last check: the nodes are cordoned and their deletion is asked for."""
    SETTLING = "Settling"
    """The nodes are gone; their pods are not all ready elsewhere yet (R3)."""
    SUCCEEDED = "Succeeded"
    CANCELLED = "Cancelled"

    @property
    def is_final(self) -> bool:
        """Nothing further happens."""
        return self in {self.SUCCEEDED, self.CANCELLED}


class DisruptedNode(Struct):
    """One node of a command, by identity: a re-created node of the same name is another."""

    name: str
    uid: str
    machine: str = ""
    machine_uid: str = field(default="", name="machineUID")


class MovedOwner(Struct):
    """An owner whose pods the command moves, with as many ready ones as it had before (R3)."""

    kind: str
    namespace: str
    name: str
    uid: str
    ready: int = 0


class DisruptionSpec(Struct):
    """What was decided. Never edited afterwards. ``summary``: the nodes, for a person."""

    method: str = ""
    reason: str = ""
    summary: str = ""
    nodes: tuple[DisruptedNode, ...] = ()
    moved: tuple[MovedOwner, ...] = ()


class LeftOutReason(StrEnum):
    """Why a node was let go again. After the first two no command touches it for a while."""

    UNCORDONED = "Uncordoned"
    """A person took it back."""
    WRITE_REFUSED = "WriteRefused"
    """The API server does not let us cordon or delete it."""
    UNFIT = "Unfit"
    """It was no candidate any more when it was looked at again."""


class LeftOut(Struct):
    """Why a node was let go again: in a word, and in a sentence for a person."""

    reason: LeftOutReason
    message: str = ""


class DisruptionStatus(Struct):
    """What became of it. ``left_out``: nodes that were let go again, by name.

    ``phase_since``: when the phase began, for the waits that a restart must not begin again.
    """

    phase: DisruptionPhase = DisruptionPhase.PENDING
    phase_since: datetime | None = None
    message: str = ""
    left_out: dict[str, LeftOut] = {}
    started_at: datetime | None = None
    finished_at: datetime | None = None


class Disruption(Object):
    """``unmoor.dev/v1alpha1`` Disruption, cluster-scoped."""

    spec: DisruptionSpec = DisruptionSpec()
    status: DisruptionStatus = DisruptionStatus()

    @property
    def phase(self) -> DisruptionPhase:
        """How far it has come."""
        return self.status.phase

    @property
    def nodes(self) -> tuple[DisruptedNode, ...]:
        """The nodes it still acts on."""
        return tuple(n for n in self.spec.nodes if n.name not in self.status.left_out)

    @property
    def taken_back(self) -> tuple[str, ...]:
        """Uids of the nodes that a person took back; they are left alone for a while."""
        return self._left_out_for(LeftOutReason.UNCORDONED)

    @property
    def left_alone(self) -> tuple[str, ...]:
        """Uids of the nodes that no command touches for a while, theirs and the unchangeable."""
        return self._left_out_for(LeftOutReason.UNCORDONED, LeftOutReason.WRITE_REFUSED)

    def _left_out_for(self, *reasons: LeftOutReason) -> tuple[str, ...]:
        left_out = self.status.left_out
        return tuple(
            node.uid
            for node in self.spec.nodes
            if node.name in left_out and left_out[node.name].reason in reasons
        )
