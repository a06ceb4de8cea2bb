"""What have worlds met? A rule that nothing has come near to says nothing.

Counted are commands of each method, how far they came, and what befell them. What is expected
follows from the methods' rows and from what can be drawn, so that neither grows unnoticed.

Must not: judge what unmoor did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unmoor.sim.draws import KINDS_OF_FAULTS
from unmoor.sim.methods import METHODS

DELETING = ("Pending", "Deleting", "Settling", "Succeeded", "Cancelled")
"""How far a command that only deletes can come, in this order."""
REPLACING = ("Pending", "Launching", "Deleting", "Settling", "Succeeded", "Cancelled")


def expected() -> list[str]:
    """Return everything that enough worlds must meet."""
    found: list[str] = []
    for method, row in METHODS.items():
        found += [f"{method}/delete {phase}" for phase in DELETING]
        found += [f"{method}/replace {phase}" for phase in REPLACING if row.takes_pods]
    return [*found, *KINDS_OF_FAULTS]


def never_met(met: Mapping[str, int]) -> list[str]:
    """Return what is expected and was not met."""
    return [what for what in expected() if not met.get(what)]


def lines(met: Mapping[str, int]) -> Iterator[str]:
    """Say it for people: a line for each kind of command, one for the faults."""
    said: dict[str, list[str]] = {}
    for what in expected():
        kind, _, phase = (
            what.partition(" ") if what not in KINDS_OF_FAULTS else ("faults", "", what)
        )
        said.setdefault(kind, []).append(f"{phase} {met.get(what, 0):,}")
    yield from (f"{kind}: {', '.join(counts)}" for kind, counts in said.items())
