"""How does one read a table as it was, while it goes on? By what it held before each later change.

To copy 150,000 entries takes tens of milliseconds, in which nobody else has a turn. A ``Past``
costs nothing when it is made: it looks into the table itself, and into what its changes have
replaced since. A ``Table`` tells its pasts before it changes; a past that nobody keeps is told
nothing more.

A past may be read on another thread than the one that changes the table. Each look into a
dictionary is one step, and their order does the rest: whoever reads looks into the table first and
at what was replaced afterwards, and whoever writes does it the other way round.

Must not: be changed by two threads, or by anything but ``put`` and ``remove``.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Final, Generic, TypeVar
from weakref import ref

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_ABSENT: Final[Any] = object()


class Table(dict[K, V]):
    """A dictionary that can be remembered."""

    __slots__ = ("_latest", "_pasts")

    def __init__(self) -> None:
        """Start empty, with no past."""
        super().__init__()
        self._pasts: list[ref[Past[K, V]]] = []
        self._latest: Past[K, V] | None = None

    def put(self, key: K, value: V) -> None:
        """Have ``value`` there from now on."""
        if self._pasts:
            self._remember(key)
        self[key] = value

    def remove(self, key: K) -> V | None:
        """Have nothing there from now on; return what was there."""
        if self._pasts:
            self._remember(key)
        return self.pop(key, None)

    def past(self) -> Past[K, V]:
        """The table as it is now, for as long as it is kept. Until it changes, all share one."""
        latest = self._latest
        if latest is None:
            latest = self._latest = Past(self)
            self._pasts = [*(one for one in self._pasts if one() is not None), ref(latest)]
        return latest

    def _remember(self, key: K) -> None:
        self._latest = None
        for one in self._pasts:
            past = one()
            if past is not None:
                past.note(key, self.get(key, _ABSENT))


class Past(Mapping[K, V], Generic[K, V]):
    """A table as it was at one moment. To look a key up is cheap, to go through all is a copy."""

    __slots__ = ("__weakref__", "_before", "_table")

    def __init__(self, table: Table[K, V]) -> None:
        """Begin now."""
        self._table = table
        self._before: dict[K, V] = {}

    def since(self, later: Table[K, V] | Past[K, V]) -> Collection[K] | None:
        """Return the keys that may differ in a later state of the same table.

        None when ``later`` is neither the table nor one of its pasts: nobody knows.
        """
        if later is self._table or (isinstance(later, Past) and later.shows(self._table)):
            return self._before.copy().keys()
        return None

    def shows(self, table: Table[K, V]) -> bool:
        """True when it is a past of this table."""
        return self._table is table

    def note(self, key: K, value: V) -> None:
        """Be told what is about to be replaced."""
        self._before.setdefault(key, value)

    def __getitem__(self, key: K) -> V:
        """What was there; raises KeyError."""
        now = self._table.get(key, _ABSENT)
        value: V = self._before.get(key, now)
        if value is _ABSENT:
            raise KeyError(key)
        return value

    def get(self, key: K, default: Any = None) -> Any:
        """What was there, or the default."""
        now = self._table.get(key, _ABSENT)
        value = self._before.get(key, now)
        return default if value is _ABSENT else value

    def __contains__(self, key: object) -> bool:
        """Whether something was there."""
        return self.get(key, _ABSENT) is not _ABSENT  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[K]:
        """Every key, in no particular order."""
        return iter(self.whole())

    def __len__(self) -> int:
        """How many there were."""
        return len(self.whole())

    def keys(self) -> KeysView[K]:
        """Every key."""
        return self.whole().keys()

    def values(self) -> ValuesView[V]:
        """Every value."""
        return self.whole().values()

    def items(self) -> ItemsView[K, V]:
        """Every key with its value."""
        return self.whole().items()

    def whole(self) -> dict[K, V]:
        """All of it as a dictionary, for whoever looks up most of it."""
        whole = dict(self._table)
        for key, value in self._before.copy().items():
            if value is _ABSENT:
                whole.pop(key, None)
            else:
                whole[key] = value
        return whole
