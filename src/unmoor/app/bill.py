"""What do the machines of a rehearsal cost? Sums, and how they are told.

A machine whose price nobody knows is in no sum and never free: a sum says how many it is without.

Must not: know where a price comes from.
"""

from __future__ import annotations

import msgspec

from unmoor.model.money import UNKNOWN, rounded_usd, usd
from unmoor.model.wording import NAMED_MAX, counted

SECONDS_PER_HOUR = 3600.0
NAMES_KEPT = 1_000
"""Machines without a price are all counted, and the first of them named."""


class Sum(msgspec.Struct, frozen=True):
    """What some machines cost together: ``usd``, and those ``unpriced`` of whom nobody knows."""

    usd: float = 0.0
    unpriced: int = 0

    @property
    def known_usd(self) -> float | None:
        """At least this; None when no price is known."""
        return None if self.unpriced and not self.usd else rounded_usd(self.usd)

    def said(self, unit: str) -> str:
        """Say it, and how many machines it is without."""
        if not self.unpriced:
            return f"{usd(self.usd)} {unit}"
        least = f"at least {usd(self.usd)} {unit}" if self.usd else f"an {UNKNOWN} sum"
        return f"{least} ({counted(self.unpriced, 'machine')} without a price)"


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What it came to, at the prices of the book ``prices``.

    Each sum is that of the machines whose price is known: None when it is known of none. How many
    it is without is beside it; ``unpriced`` names the first of them.
    """

    prices: str
    usd_per_h_before: float | None
    unpriced_before: int
    usd_per_h_after: float | None
    unpriced_after: int
    spent_usd: float | None
    unpriced_spent: int
    unpriced: tuple[str, ...]

    def lines(self, since: str, spender: str) -> tuple[str, ...]:
        """Tell it. ``since``: when it cost what it did before; ``spender``: who spent the rest."""
        before = Sum(self.usd_per_h_before or 0.0, self.unpriced_before).said("USD/h")
        after = Sum(self.usd_per_h_after or 0.0, self.unpriced_after).said("USD/h")
        spent = Sum(self.spent_usd or 0.0, self.unpriced_spent).said("USD")
        told = f"the fleet costs {after}, and {since} it cost {before}; {spender} {spent} "
        told += f"(prices: {self.prices})"
        return (told, f"without a price: {self._unpriced}") if self.unpriced else (told,)

    @property
    def _unpriced(self) -> str:
        names = self.unpriced[:NAMED_MAX]
        more = self.unpriced_spent - len(names)
        return ", ".join(names) + (f" and {more:,} more" if more else "")


class Bill:
    """Machines that run, and what was spent."""

    def __init__(self) -> None:
        """Begin with none."""
        self.started: dict[str, tuple[float, float | None]] = {}
        """Since when each machine runs, and its price."""
        self._spent_usd = 0.0
        self._unpriced: list[str] = []
        self._unpriced_spent = 0

    def start(self, machine: str, at_s: float, usd_per_h: float | None) -> None:
        """A machine runs from now on."""
        if machine in self.started:
            return
        self.started[machine] = (at_s, usd_per_h)
        if usd_per_h is None:
            self._leave_out(machine)

    def stop(self, machine: str, at_s: float) -> None:
        """A machine was told to go."""
        since, usd_per_h = self.started.pop(machine, (at_s, None))
        self._spent_usd += (at_s - since) * (usd_per_h or 0.0) / SECONDS_PER_HOUR

    def begin_anew(self, at_s: float) -> None:
        """What was spent until now does not count."""
        running, self.started = self.started, {}
        self._spent_usd, self._unpriced, self._unpriced_spent = 0.0, [], 0
        for machine, (_, usd_per_h) in running.items():
            self.start(machine, at_s, usd_per_h)

    def fleet(self) -> Sum:
        """What all running machines cost in an hour."""
        prices = [price for _, price in self.started.values()]
        known = [price for price in prices if price is not None]
        return Sum(sum(known), len(prices) - len(known))

    def cost(self, prices: str, before: Sum, at_s: float) -> Cost:
        """Draw it up. ``before``: what the fleet cost when there was nothing to save yet."""
        after = self.fleet()
        running = sum((at_s - since) * (price or 0.0) for since, price in self.started.values())
        spent = Sum(self._spent_usd + running / SECONDS_PER_HOUR, self._unpriced_spent)
        return Cost(
            prices=prices,
            usd_per_h_before=before.known_usd,
            unpriced_before=before.unpriced,
            usd_per_h_after=after.known_usd,
            unpriced_after=after.unpriced,
            spent_usd=spent.known_usd,
            unpriced_spent=spent.unpriced,
            unpriced=tuple(self._unpriced),
        )

    def _leave_out(self, machine: str) -> None:
        self._unpriced_spent += 1
        if len(self._unpriced) < NAMES_KEPT:
            self._unpriced.append(machine)
