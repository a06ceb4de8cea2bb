"""What every API object of ours is made of: the frozen struct and the metadata.

Structs hold only the fields that unmoor reads, under the API's own names, and are never written
back whole (a PUT of half an object would erase the other half). ``gc=False`` keeps 150,000 pods
out of the cyclic collector; that is safe because an API object never refers to itself.

Fields with initialisms (``providerID``, ``podIP``) need an explicit name, or they would silently
decode to their default: ``tests/model/test_wire_names.py`` compares every field with the API.

Must not: know any particular kind.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias, TypeVar, dataclass_transform

import msgspec

JSON: TypeAlias = dict[str, Any]
"""One API object as the server speaks it. Only adapters and the simulator touch these."""


def without_nulls(value: Any) -> Any:
    """The same without null members, which mean "nothing there": servers do send them."""
    match value:
        case dict():
            return {k: without_nulls(v) for k, v in value.items() if v is not None}
        case list():
            return [without_nulls(v) for v in value if v is not None]
        case _:
            return value


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Struct(
    msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True
):
    """A part of an API object: immutable, camelCase on the wire, defaults left out."""


class OwnerReference(Struct):
    """Who an object belongs to (API reference: metav1.OwnerReference)."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct):
    """The metadata that unmoor reads (API reference: metav1.ObjectMeta)."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def is_deleting(self) -> bool:
        """True from the moment the server has accepted a deletion."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object, or None."""
        for owner in self.owner_references:  # A loop: this is asked of every pod, all the time.
            if owner.controller:
                return owner
        return None

    def is_owned_by(self, uid: str) -> bool:
        """True when the object with this uid is one of the owners."""
        return any(owner.uid == uid for owner in self.owner_references)


class ConditionState(Struct):
    """What a condition says, without since when: so those of nearly all pods are the same."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""

    @property
    def is_true(self) -> bool:
        """True only for the literal status "True"."""
        return self.status == "True"


class Condition(ConditionState):
    """One observation about an object; at most one for each type (metav1.Condition)."""

    last_transition_time: datetime | None = None


C = TypeVar("C", bound=ConditionState)


def condition_of(conditions: tuple[C, ...], kind: str) -> C | None:
    """Return the condition of one type, or None when nobody has reported it."""
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


class Object(Struct):
    """What every API object has. Subclasses add spec and status."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        """The object's name, unique in its namespace."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The object's namespace, "" for cluster-scoped kinds."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """The identity that a re-created object of the same name does not share."""
        return self.metadata.uid

    @property
    def key(self) -> Key:
        """(namespace, name): where the object is found in a snapshot."""
        return (self.metadata.namespace, self.metadata.name)

    @property
    def is_deleting(self) -> bool:
        """True from the moment the server has accepted a deletion."""
        return self.metadata.deletion_timestamp is not None


Key: TypeAlias = tuple[str, str]
"""(namespace, name)."""


class Ref(msgspec.Struct, frozen=True, order=True, gc=False):
    """Which object: enough to find it, and with ``uid`` enough to be sure it is still the same.

    ``kind`` is the kind's name in :data:`unmoor.model.kinds.KINDS`. An empty ``uid`` means
    "whoever bears the name", which no effect of ours may use on an existing object.
    """

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""

    @property
    def key(self) -> Key:
        """(namespace, name)."""
        return (self.namespace, self.name)

    def __str__(self) -> str:
        """``node/a`` or ``pod/shop/cart-0``, as a person would name it."""
        parts = (self.kind.lower(), self.namespace, self.name)
        return "/".join(part for part in parts if part)
