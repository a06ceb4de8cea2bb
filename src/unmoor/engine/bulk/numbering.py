"""Names become numbers: the same content gets the same number, in the order of first sight.

What is to be known of each number is asked for once (``Verdicts``).

Must not: forget.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

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


class Verdicts:
    """A yes or no for each number."""

    def __init__(self, judge: Callable[[int], bool]) -> None:
        """``judge`` is asked once for each number that comes up."""
        self._judge = judge
        self._known: npt.NDArray[np.int8] = np.full(64, -1, dtype=np.int8)

    def one(self, number: int) -> bool:
        """Return the verdict on one number."""
        if number >= len(self._known):
            self._grow(number)
        if self._known[number] < 0:
            self._known[number] = self._judge(number)
        return bool(self._known[number])

    def of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return the verdicts on many numbers."""
        most = int(numbers.max(initial=0))
        if most >= len(self._known):
            self._grow(most)
        found = self._known[numbers]
        if found.min(initial=1) < 0:
            for number in np.unique(numbers[found < 0]).tolist():
                self._known[number] = self._judge(number)
            found = self._known[numbers]
        flags: npt.NDArray[np.bool_] = found == 1
        return flags

    def _grow(self, number: int) -> None:
        more = 2 * number + 2 - len(self._known)
        self._known = np.pad(self._known, (0, more), constant_values=-1)


def longer(array: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """Return the same with zeros behind; many are small, and ``np.pad`` is slow for those."""
    found = np.zeros(length, dtype=np.int64)
    found[: len(array)] = array
    return found
