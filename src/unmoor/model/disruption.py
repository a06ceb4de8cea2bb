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
from unmoor.model.moment import FIRST
from unmoor.model.requirement import NodeSelectorRequirement


class DisruptionPhase(StrEnum):
    """How far a command has come. The last two are final."""

    PENDING = "Pending"
    """Written down, nothing touched that is not also marked with its name."""
    LAUNCHING = "Launching"
    """Its replacements are made, and waited for until they are ready for pods (001:20)."""
    DELETING = "Deleting"
    """Past the last check: the nodes are cordoned and their deletion is asked for."""
    SETTLING = "Settling"
    """The nodes are gone; their pods are not all ready elsewhere yet (R3)."""
    OBSERVED = "Observed"
    """Decided on, and not carried out: so it stays while the same would be decided."""
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


class Replacement(Struct):
    """A machine that is to be ready for pods before a node goes.

    ``name``: of the Machine to be, so that making it twice is making it once. ``requirements``
    without the list of types. ``price_usd_per_hour``: what it was to cost, "" when nobody knew.
    """

    name: str
    provisioner: str = ""
    requirements: tuple[NodeSelectorRequirement, ...] = ()
    instance_types: tuple[str, ...] = ()
    requests: dict[str, str | int | float] = field(default_factory=dict)
    price_usd_per_hour: str = field(default="", name="priceUSDPerHour")
    price_book: str = ""


class DisruptionSpec(Struct):
    """What was decided. Never edited afterwards.

    ``action``: "delete" or "replace". ``summary`` and ``replacement_summary``: nodes and
    replacements, for a person. ``is_observed``: it is recorded, and not carried out.
    ``saving_per_hour``: in USD, "" when unknown. ``moves``: where pods are expected to go,
    ``node/NAME`` or ``machine/NAME`` to ``namespace/name``, as many as one object may name;
    ``moved_pods``: how many there are.
    """

    method: str = ""
    action: str = ""
    reason: str = ""
    is_observed: bool = field(default=False, name="observed")
    summary: str = ""
    nodes: tuple[DisruptedNode, ...] = ()
    replacement_summary: str = ""
    replacements: tuple[Replacement, ...] = ()
    saving_per_hour: str = ""
    moved_pods: int = 0
    moves: dict[str, tuple[str, ...]] = {}
    moved: tuple[MovedOwner, ...] = ()


class LeftOutReason(StrEnum):
    """Why a node was let go again. After all but ``UNFIT`` it is left alone for a while."""

    UNCORDONED = "Uncordoned"
    """A person took it back."""
    WRITE_REFUSED = "WriteRefused"
    """The API server does not let us cordon or delete it."""
    UNFIT = "Unfit"
    """It was no candidate any more when it was looked at again."""
    REPLACEMENT_FAILED = "ReplacementFailed"
    """What was to replace it did not come up, or did not do; its method tries again later."""


class LeftOut(Struct):
    """Why a node was let go again: in a word, and in a sentence for a person."""

    reason: LeftOutReason
    message: str = ""


class DisruptionStatus(Struct):
    """What became of it. ``left_out``: nodes that were let go again, by name.

    ``phase_since``: when the phase began, for the waits that a restart must not begin again.
    ``launched``: replacements that have been there, by name, and their uids: one that is not any
    more is not made again. ``homeless``: pods that were moved and found no place, by the uid of
    their owner.
    """

    phase: DisruptionPhase = DisruptionPhase.PENDING
    phase_since: datetime | None = None
    message: str = ""
    left_out: dict[str, LeftOut] = {}
    launched: dict[str, str] = {}
    homeless: dict[str, str] = {}
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
    def is_observed(self) -> bool:
        """It is recorded alone; where a person has edited it, either word for that is enough."""
        return self.spec.is_observed or self.phase is DisruptionPhase.OBSERVED

    @property
    def is_running(self) -> bool:
        """Neither over nor deleted by a person, whoever may hold what is deleted."""
        return not (self.phase.is_final or self.is_deleting or self.is_observed)

    @property
    def is_standing(self) -> bool:
        """It was not carried out, and the same would still be decided."""
        return self.is_observed and not (self.phase.is_final or self.is_deleting)

    @property
    def order(self) -> tuple[datetime, datetime, str]:
        """Puts commands in the order in which they were, by the server's clock: ours may jump."""
        times = (self.metadata.creation_timestamp, self.status.finished_at)
        made, ended = (one or FIRST for one in times)
        return made, ended, self.name

    @property
    def has_failed(self) -> bool:
        """It was given up because what was to replace its nodes did not come up."""
        reasons = {one.reason for one in self.status.left_out.values()}
        is_over = self.phase is DisruptionPhase.CANCELLED
        return is_over and LeftOutReason.REPLACEMENT_FAILED in reasons

    @property
    def was_withdrawn(self) -> bool:
        """It was given up as a whole, before anything was made or went, and by nobody's wish."""
        reasons = {one.reason for one in self.status.left_out.values()}
        is_over = self.phase is DisruptionPhase.CANCELLED
        return is_over and bool(self.nodes) and reasons <= {LeftOutReason.UNFIT}

    @property
    def nodes(self) -> tuple[DisruptedNode, ...]:
        """The nodes it still acts on."""
        return tuple(n for n in self.spec.nodes if n.name not in self.status.left_out)

    @property
    def action(self) -> str:
        """``<method>/delete`` or ``<method>/replace``, as metrics and reasons have it."""
        return f"{self.spec.method}/{'replace' if self.spec.replacements else 'delete'}"

    @property
    def taken_back(self) -> tuple[str, ...]:
        """Uids of the nodes that a person took back; they are left alone for a while."""
        return self._left_out_for(LeftOutReason.UNCORDONED)

    @property
    def unreplaced(self) -> tuple[str, ...]:
        """Uids of the nodes whose replacement did not come up."""
        return self._left_out_for(LeftOutReason.REPLACEMENT_FAILED)

    @property
    def left_alone(self) -> tuple[str, ...]:
        """Uids of the nodes that are left alone for a while, each for one of these reasons."""
        return self._left_out_for(
            LeftOutReason.UNCORDONED,
            LeftOutReason.WRITE_REFUSED,
            LeftOutReason.REPLACEMENT_FAILED,
        )

    def _left_out_for(self, *reasons: LeftOutReason) -> tuple[str, ...]:
        left_out = self.status.left_out
        return tuple(
            node.uid
            for node in self.spec.nodes
            if node.name in left_out and left_out[node.name].reason in reasons
        )
