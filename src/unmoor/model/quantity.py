"""How much: Kubernetes quantities, read exactly and printed the way people write them.

A quantity becomes an integer number of nano units ("1500m" is 1_500_000_000), so nothing is ever
lost to floating point. As in the API, what is finer than a nano unit is rounded away from zero, and
what exceeds 2^63-1 whole units is capped (API reference: resource.Quantity).

Must not: know what is counted; which unit a resource is kept in is ``resources``.
"""

from __future__ import annotations

import re
from functools import lru_cache

NANO = 10**9
"""Nano units in one whole unit."""
MILLI = 10**6
"""Nano units in one thousandth of a unit."""

QUANTITY_LIMIT = (2**63 - 1) * NANO
"""The largest quantity, in nano units; larger ones are capped (API reference)."""
TEXT_LIMIT_CHARS = 256
"""A longer text is refused before it costs time."""
CACHE_LIMIT_ENTRIES = 8192
"""How many different notations are remembered; a cluster uses a few hundred."""

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NOTATION = re.compile(
    r"(?P<sign>[+-]?)"
    r"(?:(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]*))?|\.(?P<only_part>[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[KMGTPE]i|[numkMGTPE]?))"
)
_EXPONENT_LIMIT = 2 * TEXT_LIMIT_CHARS
"""Beyond this every text we accept is the cap, or the smallest quantity: never more digits."""

_HINT = "write a number with n, u, m, k, M, G, T, P, E or Ki to Ei, as in 500m or 2Gi"


class QuantityError(ValueError):
    """A value that is no quantity: ``value`` as it was given, ``hint`` what to write instead."""

    def __init__(self, value: object, hint: str = _HINT) -> None:
        """Say what was given and what would have been right."""
        self.value = str(value)
        self.hint = hint
        super().__init__(f"{self.value!r} is not a quantity: {hint}")


def parse(value: str | float) -> int:
    """Return the quantity in nano units, exactly. Raises QuantityError naming the value.

    Numbers are taken as JSON writes them, because the API accepts a bare number for a quantity.
    """
    if isinstance(value, str):
        return _parse(value)
    if isinstance(value, bool):
        raise QuantityError(value)
    if isinstance(value, int):
        return _capped(value * NANO)
    return _parse(repr(value))


@lru_cache(maxsize=CACHE_LIMIT_ENTRIES)
def _parse(text: str) -> int:
    if len(text) > TEXT_LIMIT_CHARS:
        raise QuantityError(text[:20] + "...", f"it is longer than {TEXT_LIMIT_CHARS} characters")
    found = _NOTATION.fullmatch(text.strip(" "))
    if found is None:
        raise QuantityError(text)
    part = found["part"] or found["only_part"] or ""
    digits = int((found["whole"] or "") + part)
    ten, two = -len(part) + 9, 0
    if found["exponent"]:
        ten += _bounded_exponent(found["exponent"])
    elif found["suffix"] in _BINARY:
        two = _BINARY[found["suffix"]]
    else:
        ten += _DECIMAL[found["suffix"]]
    amount = _scaled(digits << two, ten)
    return _capped(-amount if found["sign"] == "-" else amount)


def _bounded_exponent(text: str) -> int:
    """Read an exponent; an absurd one is cut to where the result is the cap, or a nano, anyway."""
    return max(min(int(text), _EXPONENT_LIMIT), -_EXPONENT_LIMIT)


def _scaled(digits: int, ten: int) -> int:
    """``digits`` times ten to the power ``ten``, rounded up; ``digits`` is not negative."""
    if ten >= 0:
        factor: int = 10**ten
        return digits * factor
    return _divided_up(digits, 10**-ten)


def _divided_up(amount: int, unit: int) -> int:
    """``amount / unit``, rounded away from zero."""
    return -(-amount // unit) if amount >= 0 else amount // unit


def _capped(nano: int) -> int:
    return max(min(nano, QUANTITY_LIMIT), -QUANTITY_LIMIT)


def milli(nano: int) -> int:
    """Nano units as thousandths, rounded away from zero as the API does for cpu."""
    return _divided_up(nano, MILLI)


def whole(nano: int) -> int:
    """Nano units as whole units, rounded away from zero as the API does for memory."""
    return _divided_up(nano, NANO)


def is_quantity(value: str | float) -> bool:
    """True when the value can be read."""
    try:
        parse(value)
    except QuantityError:
        return False
    return True


def format_decimal(nano: int) -> str:
    """Print nano units with the largest decimal suffix that leaves no fraction: 1500m, 2, 3k."""
    if nano == 0:
        return "0"
    # Every integer is a multiple of one nano unit, so there always is one.
    suffix, unit = next(
        (suffix, 10 ** (ten + 9))
        for suffix, ten in reversed(_DECIMAL.items())
        if nano % 10 ** (ten + 9) == 0
    )
    return f"{nano // unit}{suffix}"


def format_binary(nano: int) -> str:
    """Print nano units with the largest of Ki to Ei that leaves no fraction: 1536Mi, 2Gi, 1000.

    A quantity below one unit, or one that is not whole, is printed in decimal.
    """
    if nano == 0 or nano % NANO:
        return format_decimal(nano)
    units = nano // NANO
    for suffix, two in reversed(_BINARY.items()):
        if units % (1 << two) == 0:
            return f"{units >> two}{suffix}"
    return str(units)


def about_binary(units: int, *, up: bool = False) -> str:
    """Print whole units with the largest of Ki to Ei that leaves something before the point.

    Two places after it are kept: the rest is cut off, or rounded ``up``.
    """
    suffix, two = next(
        ((suffix, two) for suffix, two in reversed(_BINARY.items()) if units >> two), ("", 0)
    )
    hundreds = units * 100
    cut = -(-hundreds >> two) if up else hundreds >> two
    whole_part, part = divmod(cut, 100)
    places = f".{part:02}".rstrip("0").rstrip(".")
    return f"{whole_part}{places}{suffix}"
