"""Who owns which fields of an object: the entries of ``managedFields``, and how a write moves them.

An update takes over what it changes. An apply owns what it says, drops what it said before and says
no more, and conflicts with others who own what it wants to change.

Must not: know the store, or wait; time is handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from unmoor.model.base import JSON
from unmoor.sim.apiserver.fields.merging import merged, without
from unmoor.sim.apiserver.fields.paths import (
    NOTHING,
    Difference,
    Path,
    Paths,
    from_fields,
    paths_of,
    text_of,
    to_fields,
    with_named,
)
from unmoor.sim.apiserver.fields.shape import Shape

APPLY, UPDATE = "Apply", "Update"
BEFORE_FIRST_APPLY = "before-first-apply"
ANCIENT = "ancient-changes"
UPDATERS_LIMIT = 10
"""Entries of updates that are kept apart; older ones are merged into one."""

_META = ("creationTimestamp", "generation", "managedFields", "name", "namespace")
_UNOWNED: Paths = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {("f:metadata", f"f:{name}") for name in (*_META, "resourceVersion", "selfLink", "uid")}
)

Keeps: TypeAlias = Callable[[Path], bool]
"""Which fields count at the door through which a write comes."""


class Identity(NamedTuple):
    """Whose fields an entry lists."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""

    def __str__(self) -> str:
        """As conflicts name it."""
        text = msgspec.json.encode(self.manager).decode()
        if self.subresource:
            text = f'{text} with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class Owned(NamedTuple):
    """What somebody owns, and since when."""

    paths: Paths
    time: str


Owners: TypeAlias = dict[Identity, Owned]


class Conflict(Exception):
    """An apply wants to change what others own."""

    def __init__(self, found: dict[Identity, Paths]) -> None:
        """Keep who owns what."""
        super().__init__("conflict")
        self.paths = found
        self.found = sorted(
            (str(identity), text_of(path)) for identity, paths in found.items() for path in paths
        )

    @property
    def message(self) -> str:
        """As the real server says it."""
        count = len(self.found)
        if count == 1:
            manager, field = self.found[0]
            return f"Apply failed with 1 conflict: conflict with {manager}: {field}"
        lines: list[str] = []
        for manager in dict.fromkeys(manager for manager, _ in self.found):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {field}" for owner, field in self.found if owner == manager]
        listed = "\n".join(lines)
        return f"Apply failed with {count} conflicts: {listed}"


# --------------------------------------------------------------------------------------- entries


def decode(entries: Any) -> Owners | None:
    """The owners that ``managedFields`` lists; None when it cannot be read."""
    found: Owners = {}
    try:
        for entry in entries or ():
            identity = Identity(
                entry.get("manager", ""),
                entry["operation"],
                entry["apiVersion"],
                entry.get("subresource", ""),
            )
            if entry["operation"] not in {APPLY, UPDATE} or entry["fieldsType"] != "FieldsV1":
                return None
            found[identity] = Owned(from_fields(entry.get("fieldsV1") or {}), entry.get("time", ""))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return found


def encode(owners: Owners, before: list[JSON]) -> list[JSON]:
    """The entries; the very same list as before when they tell of nothing but another time."""
    entries = []
    for identity, owned in sorted(owners.items(), key=_order):
        entry: JSON = {
            "manager": identity.manager,
            "operation": identity.operation,
            "apiVersion": identity.api_version,
        }
        if owned.time:
            entry["time"] = owned.time
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": to_fields(owned.paths)}
        if identity.subresource:
            entry["subresource"] = identity.subresource
        entries.append(entry)
    return before if is_same_but_time(entries, before) else entries


def is_same_but_time(entries: list[JSON], others: list[JSON]) -> bool:
    """True when both say the same, whenever it was said."""
    return _timeless(entries) == _timeless(others)


def _timeless(entries: list[JSON]) -> list[JSON]:
    found = [{name: one for name, one in entry.items() if name != "time"} for entry in entries]
    return sorted(found, key=lambda entry: (entry["operation"], entry["manager"], str(entry)))


def _order(item: tuple[Identity, Owned]) -> tuple[str, ...]:
    identity, owned = item
    return (identity.operation, owned.time, identity.manager, identity.api_version, identity[3])


# ---------------------------------------------------------------------------------------- writes


class Owning:
    """One write, seen from those who own fields: the kind's shape, whose it is, what counts."""

    def __init__(self, shape: Shape, identity: Identity, keeps: Keeps, now: str) -> None:
        """Say who writes, and through which door."""
        self.shape = shape
        self.identity = identity
        self.keeps = keeps
        self.now = now
        self.replicas: Path = ("f:spec", "f:replicas")
        """What the scale door writes."""

    def _counted(self, paths: Paths) -> Paths:
        return frozenset(path for path in paths if path not in _UNOWNED and self.keeps(path))

    def update(self, live: JSON, new: JSON, owners: Owners) -> Owners:
        """The owners after an update made one object of the other."""
        difference = Difference(self.shape, live, new)
        result = _less(owners, difference.written | difference.removed)
        written = self._counted(difference.written)
        mine = result.pop(self.identity, Owned(NOTHING, ""))
        before = owners.get(self.identity)
        kept = before.paths - difference.removed if before is not None else mine.paths
        if kept | written:
            result[self.identity] = Owned(kept | written, self.now)
        return _capped(result)

    def create(self, new: JSON) -> Owners:
        """The owners of an object that was not there."""
        return self.update(self.zero, new, {})

    @property
    def zero(self) -> JSON:
        """An object of which nothing was said: structs that are no pointers are there already."""
        return self.shape.zero if self.shape.name else {}

    def apply(
        self, live: JSON, config: JSON, owners: Owners, *, force: bool
    ) -> tuple[JSON, Owners]:
        """The object and its owners after an apply; raises Conflict.

        Where everything was taken off stands a null, which is for the caller to judge.
        """
        owners = dict(owners)
        if not owners and live:
            first = Identity(BEFORE_FIRST_APPLY, UPDATE, *self.identity[2:])
            owners = Owning(self.shape, first, self.keeps, self.now).create(live)
        last = owners.get(self.identity)
        said = paths_of(self.shape, config)
        mine = self._counted(said)
        # What is never noted as owned, such as the name, is held all the same by who says it.
        owners[self.identity] = Owned(frozenset(filter(self.keeps, said)), self.now)
        new = merged(self.shape, live, config)
        if last is not None and last.paths:
            new = self._pruned(new, last.paths, owners)
        difference = Difference(self.shape, live, new)
        others = {who: owned for who, owned in owners.items() if who != self.identity}
        conflicts = {
            who: common
            for who, owned in others.items()
            if (common := owned.paths & difference.written)
        }
        if conflicts and not force:
            raise Conflict(conflicts)
        result = _less(others, difference.written | difference.removed)
        if mine:
            # Who only says what is there already has said it whenever it was said.
            is_new = bool(difference.written or difference.removed)
            time = self.now if is_new else "" if last is None else last.time
            result[self.identity] = Owned(mine, time)
        return new, result

    def _pruned(self, new: JSON, last: Paths, owners: Owners) -> JSON:
        """Without what this applier said last time, unless somebody owns it now."""
        shape = self.shape
        everything = with_named(shape, paths_of(shape, new))
        rest = without(shape, new, with_named(shape, last)) or {}
        claimed = frozenset().union(*(with_named(shape, one.paths) for one in owners.values()))
        kept = with_named(shape, paths_of(shape, rest))
        rest = without(shape, new, everything - kept - claimed) or {}
        kept = with_named(shape, paths_of(shape, rest))
        found: JSON = without(shape, new, (everything - kept) & with_named(shape, last)) or {}
        return found


def _less(owners: Owners, paths: Paths) -> Owners:
    found = {}
    for identity, owned in owners.items():
        left = owned.paths - paths
        if left:
            found[identity] = owned if len(left) == len(owned.paths) else Owned(left, owned.time)
    return found


def _capped(owners: Owners) -> Owners:
    """Merge the oldest updates into one when there are too many."""
    updates = [item for item in sorted(owners.items(), key=_order) if item[0].operation == UPDATE]
    if len(updates) <= UPDATERS_LIMIT:
        return owners
    result = dict(owners)
    surplus = len(updates) - UPDATERS_LIMIT + 1
    for identity, owned in updates[:surplus]:
        del result[identity]
        ancient = Identity(ANCIENT, UPDATE, *identity[2:])
        before = result.get(ancient, Owned(NOTHING, ""))
        result[ancient] = Owned(before.paths | owned.paths, max(before.time, owned.time))
    return result
