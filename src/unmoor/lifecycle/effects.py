"""Everything that unmoor may do to the world: a closed list of values.

A step returns effects; only the interpreter in ``runtime`` executes them. Effects of one step are
unordered and independent, and any subset may fail: order exists only between steps.
Each carries what makes it safe to repeat: a uid precondition, a resourceVersion where something is
replaced that others may have written, a deterministic name, or an attempt token.

Objects are only ever patched (JSON merge patch) or written through a subresource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, TypeAlias

import msgspec

from unmoor.model import names
from unmoor.model.base import Condition, Key, Object, OwnerReference, Ref
from unmoor.model.instance import LaunchRequest
from unmoor.model.kinds import KINDS, ref_of
from unmoor.model.node import Node
from unmoor.model.observation import Asked
from unmoor.policy.verdict import Verdict


class Fact(msgspec.Struct, frozen=True):
    """Something that becomes true when its effect succeeds; metrics count these.

    ``name`` is the metric's name without the ``karpenter_`` prefix (spec 10.1). ``value`` None:
    what was measured is not there any more, and gauges that have all of these labels go.
    """

    name: str
    labels: dict[str, str] = {}
    value: float | None = 1.0


class Effect(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """``why``: one short clause for the story. ``facts``: counted once the effect has succeeded."""

    why: str = ""
    facts: tuple[Fact, ...] = ()


class Patch(Effect, frozen=True, kw_only=True):
    """Merge ``body`` into an object. The uid in ``ref`` is always checked by the server.

    ``resource_version`` is set where the patch replaces what others may have written as well.
    """

    ref: Ref
    body: dict[str, Any]
    resource_version: str = ""
    subresource: str = ""


class Create(Effect, frozen=True, kw_only=True):
    """Create an object under a name that we chose; "already exists" means done.

    ``owner``: about whom the view remembers whether the server refuses to (``Asked.CREATION``).
    """

    ref: Ref
    body: dict[str, Any]
    owner: Ref | None = None


class Delete(Effect, frozen=True, kw_only=True):
    """Ask for deletion. ``grace_s`` None leaves the pod's own; other kinds have none.

    ``resource_version`` is set where what somebody has written since may be a reason not to.
    """

    ref: Ref
    resource_version: str = ""
    grace_s: int | None = None


class Evict(Effect, frozen=True, kw_only=True):
    """Ask the Eviction API, which holds disruption budgets. The uid is a precondition."""

    ref: Ref


class Launch(Effect, frozen=True, kw_only=True):
    """Create a cloud machine under an attempt token that is already written to ``machine``.

    ``owner``: about whom the view remembers whether there was capacity (``Asked.CAPACITY``).
    """

    machine: Ref
    request: LaunchRequest
    owner: Ref | None = None


class Terminate(Effect, frozen=True, kw_only=True):
    """Tell a cloud machine to go. "There is none" is an answer: nothing is left to tell."""

    provider_id: str
    machine: Ref | None = None


class Observe(Effect, frozen=True, kw_only=True):
    """Put a question to the outside; the answer is in the view next time."""

    asked: Asked
    subject: str
    ref: Ref | None = None
    """With ``Asked.OBJECT``: which object to read from the server itself."""


class Publish(Effect, frozen=True, kw_only=True):
    """Publish a Kubernetes event. Never blocks, may be dropped when there are too many.

    The same words on the same object are not said again within ``cadence.eventDedupe``.
    """

    regarding: Ref
    reason: str
    message: str
    is_warning: bool = False


class Nominate(Effect, frozen=True, kw_only=True):
    """Keep in the view which pods are to go where, so that nobody takes the place away meanwhile.

    ``places``: str of the Ref of a node or machine to pod keys. It is of the droppable kind.
    """

    places: dict[str, tuple[Key, ...]]


class Avoid(Effect, frozen=True, kw_only=True):
    """Keep in the view that machines of a provisioner do not come up in one offering.

    ``subject``: of ``Asked.NO_SHOW``. ``times``: how many in a row. It is of the droppable kind.
    """

    subject: str
    times: int


class Suppose(Effect, frozen=True, kw_only=True):
    """Keep in the view which conditions a machine would have (``Asked.SUPPOSED``), unwritten.

    It is of the droppable kind.
    """

    machine: Ref
    conditions: tuple[Condition, ...]


AnyEffect: TypeAlias = (
    Patch
    | Create
    | Delete
    | Evict
    | Launch
    | Terminate
    | Observe
    | Publish
    | Nominate
    | Avoid
    | Suppose
)


def cordon(
    node: Node,
    *,
    disruption: str = "",
    claim: str = "",
    labels: dict[str, str] | None = None,
    why: str = "",
) -> Patch:
    """Mark a node unschedulable, with the command's name and any labels in the same patch.

    A cordon that is there already is somebody else's and is not claimed (R27). Ours is, by an
    annotation with the command's name, or with ``claim``; with neither it is a person's.
    """
    annotations: dict[str, str] = {}
    if disruption:
        annotations[names.DISRUPTION] = disruption
    if not node.is_cordoned and (disruption or claim):
        annotations[names.CORDONED] = disruption or claim
    metadata: dict[str, Any] = {}
    if annotations:
        metadata["annotations"] = annotations
    if labels:
        metadata["labels"] = labels
    body: dict[str, Any] = {"spec": {"unschedulable": True}}
    if metadata:
        body["metadata"] = metadata
    return patch_as_seen(node, body, why=why)


def uncordon(node: Node, *, was_taken_back: bool = False, why: str = "") -> Patch:
    """Take back what a command's :func:`cordon` did, and only that: a person's stays (R27).

    The cordon is ours when the annotation that claims it names the same command. With
    ``was_taken_back`` a person has removed ours, so that a cordon that is there now is theirs.
    """
    annotations: dict[str, None] = {names.DISRUPTION: None}
    body: dict[str, Any] = {"metadata": {"annotations": annotations}}
    if node.metadata.annotations.get(names.CORDONED) == node.disruption:
        annotations[names.CORDONED] = None
    if node.is_cordoned_by_us and not was_taken_back:
        body["spec"] = {"unschedulable": None}
    return patch_as_seen(node, body, why=why)


def adopt(node: Node, cluster: str, *, why: str = "") -> Patch:
    """Make a node's end ours to make gentle: our name on it, and our finalizer."""
    held = node.metadata.finalizers
    ours = () if names.TERMINATION_FINALIZER in held else (names.TERMINATION_FINALIZER,)
    metadata = {"annotations": {names.MANAGED_BY: cluster}, "finalizers": [*held, *ours]}
    return patch_as_seen(node, {"metadata": metadata}, why=why)


def retire(node: Node, cluster: str, *, why: str = "", facts: tuple[Fact, ...] = ()) -> AnyEffect:
    """Ask for a node's deletion, as long as it is as we saw it: a person may have taken it back.

    Only our finalizer makes that a drain, so it comes first.
    """
    if names.TERMINATION_FINALIZER not in node.metadata.finalizers:
        return adopt(node, cluster, why=why)
    return delete_as_seen(node, why=why, facts=facts)


def patch_as_seen(
    obj: Object,
    body: dict[str, Any],
    *,
    subresource: str = "",
    why: str = "",
    facts: tuple[Fact, ...] = (),
) -> Patch:
    """Merge ``body`` into an object, unless it has changed since this version of it."""
    return Patch(
        ref=ref_of(obj),
        body=body,
        resource_version=obj.metadata.resource_version,
        subresource=subresource,
        why=why,
        facts=facts,
    )


def delete_as_seen(obj: Object, *, why: str = "", facts: tuple[Fact, ...] = ()) -> Delete:
    """Ask for an object's deletion, unless it has changed since this version of it."""
    version = obj.metadata.resource_version
    return Delete(ref=ref_of(obj), resource_version=version, why=why, facts=facts)


def label(obj: Object, labels: dict[str, str], *, why: str = "") -> Patch:
    """Set labels of ours, which nobody else gives another value."""
    return Patch(ref=ref_of(obj), body={"metadata": {"labels": labels}}, why=why)


def describe(
    obj: Object,
    *,
    labels: Mapping[str, str | None] | None = None,
    annotations: Mapping[str, str | None] | None = None,
    why: str = "",
) -> Patch:
    """Set labels and annotations that may have got another value since this version of it.

    None takes one away.
    """
    given = {"labels": labels, "annotations": annotations}
    metadata = {field: values for field, values in given.items() if values}
    return patch_as_seen(obj, {"metadata": metadata}, why=why)


def add_finalizer(obj: Object, finalizer: str, *, why: str = "") -> Patch:
    """Add a finalizer behind those that are there in this version of the object."""
    return _set_finalizers(obj, (*obj.metadata.finalizers, finalizer), why)


def remove_finalizer(obj: Object, finalizer: str, *, why: str = "") -> Patch:
    """Remove one finalizer; everybody else's stay."""
    return _set_finalizers(obj, tuple(f for f in obj.metadata.finalizers if f != finalizer), why)


def _set_finalizers(obj: Object, finalizers: tuple[str, ...], why: str) -> Patch:
    return patch_as_seen(obj, {"metadata": {"finalizers": list(finalizers)}}, why=why)


def owner(obj: Object, *, controller: bool = False) -> OwnerReference:
    """An owner reference that makes foreground deletion wait for the owned object (R4)."""
    ref = ref_of(obj)
    return OwnerReference(
        kind=ref.kind,
        name=ref.name,
        uid=ref.uid,
        api_version=KINDS[ref.kind].api_version,
        controller=controller or None,
        block_owner_deletion=True,
    )


def own(obj: Object, owners: tuple[OwnerReference, ...], *, why: str = "") -> Patch:
    """Replace an object's owner references as they were in this version of it."""
    body = {"metadata": {"ownerReferences": [msgspec.to_builtins(o) for o in owners]}}
    return patch_as_seen(obj, body, why=why)


def set_conditions(
    obj: Object, conditions: tuple[Condition, ...], status: dict[str, Any] | None = None
) -> Patch:
    """Replace the conditions, and merge further ``status`` fields, through the subresource."""
    written = {**(status or {}), "conditions": [msgspec.to_builtins(c) for c in conditions]}
    return patch_as_seen(obj, {"status": written}, subresource="status", why="conditions")


def with_condition(
    conditions: tuple[Condition, ...], new: Condition, now: datetime
) -> tuple[Condition, ...]:
    """Return ``conditions`` with one replaced; its time moves only with its status (R5)."""
    old = next((c for c in conditions if c.type == new.type), None)
    moved = old is None or old.status != new.status or old.last_transition_time is None
    since = now if moved or old is None else old.last_transition_time
    stamped = msgspec.structs.replace(new, last_transition_time=since)
    if old is None:
        return (*conditions, stamped)
    return tuple(stamped if c.type == new.type else c for c in conditions)


def say(verdict: Verdict) -> tuple[Publish, ...]:
    """The events that a verdict asks for: one on its subject and one on each other object."""
    if not verdict.event:
        return ()
    return tuple(
        Publish(
            regarding=ref,
            reason=verdict.event,
            message=verdict.message,
            is_warning=verdict.is_warning,
        )
        for ref in (verdict.subject, *verdict.also_on)
    )


def say_all(verdicts: Iterable[Verdict], most: int | None = None) -> tuple[Publish, ...]:
    """The events that several verdicts ask for: the first ``most`` of those that ask for any."""
    loud = islice((verdict for verdict in verdicts if verdict.event), most)
    return tuple(publish for verdict in loud for publish in say(verdict))
