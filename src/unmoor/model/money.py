"""How is money said? Wherever people read an amount: ``0.192 USD/h (catalogue us-east-1 2026-01)``.

The book is the name of the prices that the amount is made of (``model.prices``).

Must not: make prices, or sums of them.
"""

from __future__ import annotations

from math import floor, log10

DIGITS_LEAST = 4
"""So many significant digits are told, and as many decimals: what is small is not told as free."""
UNKNOWN = "unknown"


def usd(amount: float) -> str:
    """Say US dollars, zero or more, without their name: ``0.192``, ``0.00156``, ``12.5``."""
    decimals = DIGITS_LEAST
    if amount > 0:
        decimals = max(decimals, DIGITS_LEAST - 1 - floor(log10(amount)))
    return f"{amount:.{decimals}f}".rstrip("0").rstrip(".")


def rounded_usd(amount: float) -> float:
    """Return what is said, for whoever counts on with it."""
    return float(usd(amount))


def usd_per_h(price: float | None, book: str = "") -> str:
    """Say what something costs in an hour, and whose prices that are; None: nobody knows."""
    said = f"price {UNKNOWN}" if price is None else f"{usd(price)} USD/h"
    return f"{said} ({book})" if book else said
