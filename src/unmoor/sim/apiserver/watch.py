"""What a watcher is told: the history from a version on, narrowed to what it asked for.

A watch holds a position in its table's history and reads on from there whenever it is asked, so a
write costs the same however many are watching. An object that leaves the selection is told as
deleted, one that enters it as added (as the real server does).

Must not: wait. Whoever waits gives ``when_ready`` something to call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from unmoor.model.base import JSON
from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.selection import Selection
from unmoor.sim.apiserver.storage import ChangeType, Entry, Table

Told = tuple[ChangeType, JSON]


class Watch:
    """One watcher's place in the history of one kind."""

    __slots__ = (
        "_bookmark_due",
        "_error",
        "_initial",
        "_position",
        "_selection",
        "_table",
        "is_open",
        "seen",
    )

    def __init__(
        self, table: Table, selection: Selection, since: int, initial: Iterable[JSON] = ()
    ) -> None:
        """Begin after ``since``; ``initial`` objects are told first, as added."""
        if since < table.forgotten:
            raise status.expired(f"too old resource version: {since} ({table.forgotten})")
        self._table = table
        self._selection = selection
        self._position = table.position_after(since)
        self._initial = list(initial)[::-1]
        self._bookmark_due = False
        self._error: ApiError | None = None
        self.is_open = True
        self.seen = since
        """Everything up to this version has been told."""

    @property
    def kind(self) -> str:
        """The kind that is watched."""
        return self._table.resource.kind

    def next(self) -> Told | None:
        """The next thing to tell, None when there is none now. Raises what ended the watch."""
        if self._initial:
            return "ADDED", self._initial.pop()
        if not self.is_open:
            if self._error is not None:
                raise self._error
            return None
        table = self._table
        offset = self._position - table.trimmed
        if offset < 0:  # It slept too long; the real server cuts such a watch, too.
            self.is_open = False
            return None
        history = table.history
        while offset < len(history):
            entry = history[offset]
            offset += 1
            self._position += 1
            self.seen = entry.version
            told = (entry.type, entry.obj) if self._selection.is_all else self._narrowed(entry)
            if told is not None:
                return told
        return None

    def _narrowed(self, entry: Entry) -> Told | None:
        matches = self._selection.matches
        was_in = entry.old is not None and matches(entry.old)
        if entry.type == "DELETED":
            return ("DELETED", entry.obj) if was_in else None
        if matches(entry.obj):
            return ("MODIFIED" if was_in else "ADDED"), entry.obj
        if not was_in or entry.old is None:
            return None
        meta = {**entry.old["metadata"], "resourceVersion": str(entry.version)}
        return "DELETED", {**entry.old, "metadata": meta}

    def take_bookmark(self) -> bool:
        """True once after each request for a bookmark; ``seen`` is what it says."""
        due, self._bookmark_due = self._bookmark_due, False
        return due

    def request_bookmark(self, version: int) -> None:
        """Ask for a bookmark, of ``version`` when the watcher has seen everything before it."""
        if self.is_open and self._position == self._table.trimmed + len(self._table.history):
            self.seen = version
        self._bookmark_due = True

    def when_ready(self, call: Callable[[], None]) -> None:
        """Call once, at the next write to this kind, bookmark, or end of the watch."""
        self._table.sleepers.append(call)

    def close(self, error: ApiError | None = None) -> None:
        """End it, with an error or as the server does from time to time."""
        self.is_open = False
        self._error = error
        self._table.wake()
