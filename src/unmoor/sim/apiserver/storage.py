"""What is stored: raw JSON objects, a version for each write, and the history that watches replay.

Stored objects are immutable by agreement: a write builds new dictionaries and shares what did not
change, so a read hands out the stored object itself and costs nothing. Whoever reads must not
write into what it gets.

Must not: know any kind, or refuse anything; a table keeps what it is given.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from datetime import datetime
from random import Random
from typing import Any, Literal, TypeAlias

from unmoor.model.base import JSON, Key
from unmoor.model.kinds import Resource
from unmoor.model.moment import rfc3339
from unmoor.sim.apiserver.fields.shape import Shape
from unmoor.sim.apiserver.rules import Rules, rules_of
from unmoor.sim.apiserver.schema import Schema

HISTORY_LIMIT_ENTRIES = 4096
"""Writes of one kind that can be replayed at least; twice as many at most."""

ChangeType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5


class Entry:
    """One write. ``old`` is None for a new object; a deleted ``obj`` has the deletion's version."""

    __slots__ = ("obj", "old", "type", "version")

    def __init__(self, version: int, change: ChangeType, obj: JSON, old: JSON | None) -> None:
        """Note what was written."""
        self.version = version
        self.type = change
        self.obj = obj
        self.old = old


class Table:
    """All objects of one kind, and what happened to them lately."""

    __slots__ = (
        "_order",
        "definition",
        "fill",
        "forgotten",
        "history",
        "objects",
        "on_empty",
        "on_write",
        "resource",
        "rules",
        "schema",
        "shape",
        "sleepers",
        "trimmed",
    )

    def __init__(self, resource: Resource[Any]) -> None:
        """Start empty."""
        self.resource = resource
        self.rules: Rules = rules_of(resource)
        self.schema: Schema | None = None
        """For kinds that a CRD defines."""
        self.definition: JSON | None = None
        """The spec of that CRD."""
        self.shape: Shape | None = None
        """Made when somebody asks who owns a field, or is particular about types."""
        self.fill: Callable[[JSON, bool], JSON] | None = None
        """What the server adds to an object, new or not, of a kind that has no row elsewhere."""
        self.on_write: Callable[[Key], None] | None = None
        """Called after each write, of kinds from whose objects something follows."""
        self.on_empty: Callable[[], None] | None = None
        """Called when the last object is gone, of a kind that shall be served no more."""
        self.objects: dict[Key, JSON] = {}
        self.history: list[Entry] = []
        self.trimmed = 0
        """How many entries were dropped from the front of the history, ever."""
        self.forgotten = 0
        """Version of the last dropped entry: a watch from before it cannot be served."""
        self.sleepers: list[Callable[[], None]] = []
        """Called, once each, at the next write."""
        self._order: list[Key] | None = None

    def append(self, entry: Entry) -> None:
        """Add to the history and wake who waits for it."""
        history = self.history
        history.append(entry)
        if len(history) >= 2 * HISTORY_LIMIT_ENTRIES:
            self.forget(len(history) - HISTORY_LIMIT_ENTRIES)
        if self.sleepers:
            self.wake()

    def wake(self) -> None:
        """Wake who waits, in the order in which they fell asleep."""
        sleepers, self.sleepers = self.sleepers, []
        for sleeper in sleepers:
            sleeper()

    def forget(self, count: int) -> None:
        """Drop the oldest entries of the history."""
        if count:
            self.forgotten = self.history[count - 1].version
            self.trimmed += count
            del self.history[:count]

    def position_after(self, version: int) -> int:
        """Where in the whole history a watch from ``version`` begins."""
        return self.trimmed + bisect_right(self.history, version, key=_version_of)

    def sorted_keys(self) -> list[Key]:
        """Keys by namespace and name, the order of every list."""
        if self._order is None:
            self._order = sorted(self.objects)
        return self._order

    def forget_order(self) -> None:
        """Say that a key came or went."""
        self._order = None


def _version_of(entry: Entry) -> int:
    return entry.version


Observer: TypeAlias = Callable[[Resource[Any], Entry], None]


class Store:
    """All tables, under one version counter, one clock and one source of chance."""

    def __init__(
        self, clock: Callable[[], datetime], random: Random, resources: Iterable[Resource[Any]]
    ) -> None:
        """Start empty, with the kinds that are served."""
        self._clock = clock
        self._random = random
        self._last: tuple[datetime | None, str] = (None, "")
        self.version = 1
        self.tables = {resource.kind: Table(resource) for resource in resources}
        self.served = 0
        """Changes whenever another kind is served, or one otherwise."""
        self.observers: list[Observer] = []

    def serve(self, table: Table) -> Table:
        """Serve this kind from now on, or from now on in another way."""
        self.tables[table.resource.kind] = table
        self.served += 1
        return table

    def drop(self, kind: str) -> None:
        """Serve this kind no more."""
        del self.tables[kind]
        self.served += 1

    def wall(self) -> datetime:
        """The wall clock's time."""
        return self._clock()

    def now(self) -> str:
        """The wall clock's time as metadata has it."""
        second = self._clock().replace(microsecond=0)
        last, text = self._last
        if second != last:
            text = rfc3339(second)
            self._last = (second, text)
        return text

    def uid(self) -> str:
        """A new uid, in the form of a random UUID."""
        digits = f"{self._random.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def suffix(self) -> str:
        """The end of a generated name."""
        return "".join(self._random.choices(_SUFFIX_LETTERS, k=SUFFIX_LENGTH))

    def put(self, table: Table, key: Key, new: JSON) -> JSON:
        """Store ``new``, whose metadata must be a dictionary of its own, under the next version."""
        self.version += 1
        new["metadata"]["resourceVersion"] = str(self.version)
        old = table.objects.get(key)
        table.objects[key] = new
        if old is None:
            table.forget_order()
        entry = Entry(self.version, "ADDED" if old is None else "MODIFIED", new, old)
        table.append(entry)
        for observe in self.observers:
            observe(table.resource, entry)
        if table.on_write is not None:
            table.on_write(key)
        return new

    def remove(self, table: Table, key: Key) -> JSON:
        """Forget an object; return its last state, under the version of its deletion."""
        self.version += 1
        old = table.objects.pop(key)
        table.forget_order()
        last = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
        entry = Entry(self.version, "DELETED", last, old)
        table.append(entry)
        for observe in self.observers:
            observe(table.resource, entry)
        if table.on_write is not None:
            table.on_write(key)
        if table.on_empty is not None and not table.objects:
            table.on_empty()
        return last
