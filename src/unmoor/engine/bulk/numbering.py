"""Names become numbers: the same content gets the same number, in the order of first sight.

Must not: forget.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Numbering(Generic[T]):
    """Numbers from 0 on."""

    def __init__(self) -> None:
        """Know nothing."""
        self.known: dict[T, int] = {}

    def of(self, content: T) -> int:
        """Return the number of this content, a new one at first sight."""
        return self.known.setdefault(content, len(self.known))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.known)


class Domains(Numbering[str]):
    """The values of one node label. ``room``: arrays by domain are at least this long."""

    def __init__(self, key: str) -> None:
        """Know no value."""
        super().__init__()
        self.key = key
        self.names: list[str] = []
        self.room = 8

    def of(self, content: str) -> int:
        """Return the number of this value."""
        found = self.known.get(content)
        if found is None:
            found = self.known[content] = len(self.names)
            self.names.append(content)
            while found >= self.room:
                self.room *= 2
        return found
