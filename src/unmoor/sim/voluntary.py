"""The rules about what commands may do to pods, budgets and bills: one small module each.

Must not: judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.past import Past
from unmoor.sim.priced import Priced
from unmoor.sim.protected import Protected
from unmoor.sim.respected import Respected
from unmoor.sim.spent import Spent


class Rule(Protocol):
    """One rule with its memory."""

    name: str

    def broken(self, entry: Entry, who: str) -> Iterator[str]:
        """Say what is wrong about a write of unmoor, before it is noted."""

    def note(self, entry: Entry, who: str) -> None:
        """Remember a write. ``who``: "" for everybody but unmoor."""


def rules(known: Past) -> tuple[Rule, ...]:
    """All of them, for one world."""
    return (Protected(known), Spent(known), Respected(known), Priced(known))
