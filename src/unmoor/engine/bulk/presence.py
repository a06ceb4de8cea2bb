"""Where may machines to come lie that count for a spread constraint, be it as a place to fill?

Asked for all machines at once, when somebody wants to know. Most never do: whoever finds an empty
domain that may be had knows that none is emptier.

Must not: count pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from unmoor.engine.bulk.numbering import Domains, Verdicts
from unmoor.engine.bulk.shapes import Flags
from unmoor.engine.scene import Started, Template
from unmoor.model import names

if TYPE_CHECKING:
    from unmoor.engine.bulk.fleet import Fleet, Machine

_EPOCH = 2**40
"""More than what can change in one simulation."""


class Presence:
    """The machines that count for one constraint."""

    def __init__(
        self,
        domains: Domains,
        needed: Iterable[Domains],
        suits_base: Callable[[Template | Started], bool] | None,
        suits_shape: Callable[[int], bool] | None,
        suits_domain: Callable[[str], bool],
    ) -> None:
        """``needed``: labels that a machine must have, known to the fleet.

        ``suits_base``, ``suits_shape``: whether such a machine counts; None where all do.
        ``suits_domain``: whether one that may lie there does.
        """
        self._in_domain = Verdicts(lambda number: suits_domain(domains.names[number]))
        self._domains = domains
        self._needed = tuple(one for one in needed if one.key != names.HOSTNAME)
        self._suits_base = suits_base
        self._by_base: Verdicts | None = None
        self._by_shape = None if suits_shape is None else Verdicts(suits_shape)
        self._fleet: Fleet
        self._epoch = 0
        self._kept: tuple[int, Flags] = (-1, np.zeros(0, dtype=bool))

    def begin(self, fleet: Fleet) -> None:
        """Look at the machines of another simulation."""
        self._fleet = fleet
        self._epoch = fleet.times * _EPOCH
        suits = self._suits_base
        if suits is not None and self._by_base is None:
            self._by_base = Verdicts(lambda number: suits(fleet.known_bases[number]))

    @property
    def is_choosy(self) -> bool:
        """True when what else a machine may become decides, too."""
        return self._by_shape is not None

    @property
    def version(self) -> int:
        """It changes whenever an answer may have."""
        fleet = self._fleet
        found = self._epoch + len(fleet)
        for one in self._needed:
            found += fleet.changes[one.key]
        return found if self._by_shape is None else found + fleet.reshaped

    def has(self, machine: Machine) -> bool:
        """Return whether a machine counts."""
        return (
            all(machine.where[one.key] for one in self._needed)
            and (self._by_base is None or self._by_base.one(self._fleet.base_of(machine)))
            and (self._by_shape is None or self._by_shape.one(machine.shape.number))
        )

    def lying(self) -> Flags:
        """Return the domains in which a machine that counts may lie."""
        version = self.version + self._domains.room
        if self._kept[0] != version:
            self._kept = (version, self._look())
        return self._kept[1]

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return how many machines that count may lie in each domain."""
        fleet, counting = self._fleet, self._counting()
        if self._domains.key == names.HOSTNAME:
            return np.bincount(fleet.hosts[: len(fleet)][counting], minlength=self._domains.room)
        where = fleet.where(self._domains)
        found = np.zeros(self._domains.room, dtype=np.int64)
        found[: where.shape[1]] = np.count_nonzero(where[counting], axis=0)
        lying = np.flatnonzero(found)
        found[lying[~self._in_domain.of(lying)]] = 0
        return found

    def _look(self) -> Flags:
        return np.asarray(self.numbers() > 0)

    def _counting(self) -> Flags:
        fleet, count = self._fleet, len(self._fleet)
        found: Flags = np.ones(count, dtype=bool)
        found[fleet.gone] = False
        for one in self._needed:
            found &= np.any(fleet.where(one), axis=1)
        if self._by_base is not None:
            found &= self._by_base.of(fleet.bases[:count])
        if self._by_shape is not None:
            found &= self._by_shape.of(fleet.shapes[:count])
        return found
