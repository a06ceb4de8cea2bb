"""Why, and why not: the answer that every decision gives besides what it does.

A refusal is a value, never an exception. Kubernetes events, metrics, log lines and reports are four
renderings of the same verdicts, so a ``Verdict`` carries its evidence as data and knows how to say
itself in one sentence.

Must not: publish anything. Whoever renders decides where and how often.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from unmoor.model.base import Ref


class Method(StrEnum):
    """The ways in which a node goes, in the brief's order (001:15), then the ways of a person."""

    EXPIRATION = "expiration"
    DRIFT = "drift"
    EMPTINESS = "emptiness"
    CONSOLIDATION = "consolidation"
    TERMINATION = "termination"
    """Somebody deleted the node or its machine."""
    DRAIN = "drain"
    """A person named the node: ``unmoor drain``."""
    PROVISIONING = "provisioning"
    """Machines for pods that wait for a node: what makes nodes come, not go."""
    LIFECYCLE = "lifecycle"
    """Launch, registration, initialisation, garbage collection."""


class Reason(StrEnum):
    """Why something is refused, waited for or done. Closed: every value is used and tested.

    What is said with a reason stands where a verdict is made; below it only where those words are
    put together from pieces.
    """

    # A node is no candidate (spec 2.2).
    NOT_OURS = "not-ours"
    NOT_INITIALIZED = "not-initialized"
    BEING_DELETED = "being-deleted"
    IN_DISRUPTION = "in-disruption"
    DO_NOT_DISRUPT = "do-not-disrupt"
    LABEL_MISSING = "label-missing"
    PROVISIONER_MISSING = "provisioner-missing"
    PROVISIONER_INVALID = "provisioner-invalid"
    """Field, value and remedy."""
    NOMINATED = "nominated"
    TAKEN_BACK = "taken-back"
    WRITE_REFUSED = "write-refused"
    """The server refuses to change a node: in its words, and what its command does without it."""
    DO_NOT_EVICT = "do-not-evict"
    NEXT_COMMAND = "next-command"
    BRAKED = "braked"
    """No method acts now: what is wrong with the cluster."""
    PAUSED = "paused"
    """A person has paused the cluster, the provisioner or the node: who, why, until when."""
    OBSERVED = "observed"
    """What would be done with it is recorded and not done, or is recorded already."""
    BUDGET_SPENT = "budget-spent"
    """As many nodes of its provisioner as its budgets allow are going already."""
    AT_LIMIT = "at-limit"
    """As many nodes as a setting allows go at once: which, how many, and how many go."""
    # Emptiness (001:53).
    NOT_CONFIGURED = "not-configured"
    NOT_EMPTY = "not-empty"
    TTL_RUNNING = "ttl-running"
    EMPTY_FOR_TTL = "empty-for-ttl"
    # Expiration and drift.
    NOT_EXPIRED = "not-expired"
    EXPIRED = "expired"
    NOT_DRIFTED = "not-drifted"
    DRIFTED = "drifted"
    TOO_MANY_DRIFTED = "too-many-drifted"
    """A larger share of a provisioner has drifted than is let go at once."""
    BORN_DRIFTED = "born-drifted"
    """What was made in place of a drifted node has drifted in the same way (R54)."""
    MARKED_BY_OTHERS = "marked-by-others"
    """Another controller's value is in the annotation that mirrors ours (R14)."""
    NOTHING_SELECTED = "nothing-selected"
    """A selector of a node template finds nothing, or the cloud does not answer."""
    # Consolidation (001:77-107).
    DO_NOT_CONSOLIDATE = "do-not-consolidate"
    UNDERUTILIZED = "underutilized"
    """A node may go, and what that takes and saves."""
    NO_PLACE = "no-place"
    NEEDS_MACHINES = "needs-machines"
    NOT_CHEAPER = "not-cheaper"
    PRICE_UNKNOWN = "price-unknown"
    SPOT_TO_SPOT = "spot-to-spot"
    NOT_WORTH_IT = "not-worth-it"
    """A replacement would save too little, or move a workload again."""
    WITHDRAWN = "withdrawn"
    """The same was decided and then not right: how often, why at last, when it is tried again."""
    # A command that waits or ends (001:18-24).
    COMMAND_RUNNING = "command-running"
    """A command is under way: its name, and what it waits for."""
    PODS_SETTLING = "pods-settling"
    SETTLING_GIVEN_UP = "settling-given-up"
    """Moved pods that are no longer waited for: which, and why."""
    CANCELLED_BY_UNCORDON = "cancelled-by-uncordon"
    """A person uncordoned nodes of a command, which ends it: which command, which nodes."""
    NO_LONGER_RIGHT = "no-longer-right"
    """A command that is not carried out: what has changed since it was decided."""
    REPLACEMENT_FAILED = "replacement-failed"
    """A replacement that did not come up: which, why, and when it is tried again."""
    ROLLED_BACK = "rolled-back"
    # A drain waits (001:26-32).
    LOAD_BALANCER = "load-balancer"
    PODS_LEFT = "pods-left"
    BUDGET = "budget"
    TWO_BUDGETS = "two-budgets"
    EVICTION_REFUSED = "eviction-refused"
    RETURNING_PODS = "returning-pods"
    STUCK_POD = "stuck-pod"
    UNREADABLE_POD = "unreadable-pod"
    NOT_CONFIRMED = "not-confirmed"
    YOUNG_CORDON = "young-cordon"
    CUT_OFF = "cut-off"
    DRAINED = "drained"
    MACHINE_GONE = "machine-gone"
    MACHINE_DISPUTED = "machine-disputed"
    """The cloud knows no such machine, but its node is alive."""
    MACHINE_UNKNOWN = "machine-unknown"
    VOLUMES_ATTACHED = "volumes-attached"
    TERMINATION_REFUSED = "termination-refused"
    # A machine's life (spec 6).
    INVALID = "invalid"
    INSUFFICIENT_CAPACITY = "insufficient-capacity"
    LAUNCH_FAILED = "launch-failed"
    NEVER_REGISTERED = "never-registered"
    NODE_LOST = "node-lost"
    """A machine's node is gone, and nobody let it go."""
    INSTANCE_MISSING = "instance-missing"
    NO_MACHINE = "no-machine"
    NODES_LEFT = "nodes-left"
    NODE_DOUBTFUL = "node-doubtful"
    """Nobody knows whether a node is the machine's own."""
    CLAIMED_TWICE = "claimed-twice"
    """Two machines stand for one instance."""
    INCONSISTENT = "inconsistent"
    """What the node has, and what its machine promised."""
    # Machines for pending pods (spec 9).
    NOT_PROVISIONABLE = "not-provisionable"
    """Why no node is made for a pod that the scheduler has found no place for."""
    TYPES_UNKNOWN = "types-unknown"
    PROVISIONER_SKIPPED = "provisioner-skipped"
    PLANNED = "planned"
    UNPLACEABLE = "unplaceable"
    """What refuses the pod where it comes closest, and by how much."""
    CREATION_REFUSED = "creation-refused"
    """The server refuses to make machines: in its words, and when it is asked again."""
    PREFERENCE_GIVEN_UP = "preference-given-up"
    MAY_HINDER = "may-hinder-consolidation"
    SETTINGS_INVALID = "settings-invalid"
    """Key, value and remedy."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One gate's answer about one subject.

    ``message`` is a sentence for a person that names object, field, value and, for a refusal, what
    would lift it. ``evidence`` is the same as data, for ``explain`` and JSON. ``event`` is the
    Kubernetes event reason to publish it under, "" for none.
    """

    subject: Ref
    method: Method
    reason: Reason
    message: str
    evidence: dict[str, str | int | float | bool] = {}
    event: str = ""
    is_warning: bool = False
    is_refusal: bool = True
    also_on: tuple[Ref, ...] = ()
    """Further objects whose events should show it (a machine besides its node)."""
