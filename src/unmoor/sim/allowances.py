"""What is allowed for when unmoor is held to the rules: what cannot be known, and nothing else.

Must not: judge.
"""

from __future__ import annotations

import msgspec


class Allowances(msgspec.Struct, kw_only=True):
    """What is allowed for in a world. Raised by whoever makes it harder."""

    unseen_s: float
    """A pod bound less than this ago may not be known to a process yet."""
    blind_s: float = 0.0
    """What a process believes of pods may be this old: a watch may hang, and nobody notices."""
    skew_s: float = 0.0
    """How far any process's wall clock has been off. That ends nobody's grace: what is waited for
    is counted on the monotonic clock, too."""
    stuck_s: float = 60.0
    """How long past its grace a pod is waited for."""
    deadline_s: float | None = None
    """The shortest drain deadline that was ever set for all nodes."""
    deadline_least_s: float = 300.0
    """No longer deadline passes sooner than this, whatever the clocks say."""
    respect_s: float = 1800.0
    """How long a workload that was moved is not moved again by a replacement: the shortest time
    that was ever set."""
    rounds: int = 3
    """How often pods of one owner return until they are no longer waited for (R1)."""
