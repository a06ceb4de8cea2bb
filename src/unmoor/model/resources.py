"""What a pod asks for and what a node has: sums of named amounts that can be compared.

Amounts are integers, cpu in thousandths of a core and everything else in whole base units (bytes,
pods, devices), rounded up as the API does. They stay within :data:`AMOUNT_LIMIT`, so that the
engine may put them into 64-bit arrays: two cpu requests of 2^62 must never wrap around to "fits"
(case N22). A request at the limit fits nowhere, because nobody knows how large it really is.

Must not: know pods or nodes, or keep a reference to what it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from unmoor.model import quantity

Resources: TypeAlias = Mapping[str, int]
"""Amounts by resource name: cpu in milli-cores, the rest in whole units. Missing means 0."""
Quantities: TypeAlias = Mapping[str, str | float]
"""The same as the API writes it: quantities by resource name."""

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

AMOUNT_LIMIT = 2**62 - 1
"""The largest amount in either direction: the sum and difference of any two are 64-bit integers."""

MILLI_CORES = 1000
"""Of cpu, in one core."""
DIGITS_SAID_MAX = 4
"""A number with more digits is not read, but skipped."""
_IN_BYTES = (MEMORY, EPHEMERAL_STORAGE, "storage")
_HUGE_PAGES = "hugepages-"


def parse_amount(name: str, value: str | float) -> int:
    """Return one amount in the unit of its resource. Raises QuantityError naming the value."""
    nano = quantity.parse(value)
    return _bounded(quantity.milli(nano) if name == CPU else quantity.whole(nano))


def parse_resources(quantities: Quantities) -> dict[str, int]:
    """Return all amounts of a ResourceList. Raises QuantityError naming resource and value."""
    amounts = {}
    for name, value in quantities.items():
        try:
            amounts[name] = parse_amount(name, value)
        except quantity.QuantityError as error:
            raise quantity.QuantityError(value, f"resource {name}; {error.hint}") from error
    return amounts


def add(*parts: Resources) -> dict[str, int]:
    """Return the sum; a resource that only one part names is in it. Bounded by AMOUNT_LIMIT."""
    return total(parts)


def total(parts: Iterable[Resources]) -> dict[str, int]:
    """Return the sum of any number of parts, exact until the end, then bounded."""
    return {name: _bounded(amount) for name, amount in exact_total(parts).items()}


def exact_total(parts: Iterable[Resources]) -> dict[str, int]:
    """Return the same before it is bounded: from this, parts can be taken away again."""
    amounts: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            amounts[name] = amounts.get(name, 0) + amount
    return amounts


def subtract(whole: Resources, part: Resources) -> dict[str, int]:
    """Return ``whole - part``; an overcommitted node has less than nothing left."""
    amounts = dict(whole)
    for name, amount in part.items():
        amounts[name] = amounts.get(name, 0) - amount
    return {name: _bounded(amount) for name, amount in amounts.items()}


def bounded(amounts: Resources) -> Resources:
    """Return the amounts as far as they can be counted; the same object where all can."""
    if all(-AMOUNT_LIMIT <= amount <= AMOUNT_LIMIT for amount in amounts.values()):
        return amounts
    return {name: _bounded(amount) for name, amount in amounts.items()}


def largest(*parts: Resources) -> dict[str, int]:
    """Return the largest amount of each resource (init containers against containers)."""
    amounts: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            amounts[name] = max(amounts.get(name, amount), amount)
    return amounts


def lacking(request: Resources, free: Resources) -> dict[str, int]:
    """Return by how much each resource is short, {} when the request fits.

    A request of zero always fits. A negative free amount refuses every request, also for other
    resources, because such a node is overcommitted (spec 9.5).
    """
    short = {name: -amount for name, amount in free.items() if amount < 0}
    for name, amount in request.items():
        available = free.get(name, 0)
        if amount > 0 and (amount > available or amount >= AMOUNT_LIMIT):
            short[name] = max(amount - available, 1)
    return short


def fits(request: Resources, free: Resources) -> bool:
    """True when ``free`` has room for ``request`` in every resource (see :func:`lacking`)."""
    return not lacking(request, free)


def exceeds(used: Resources, limits: Resources) -> tuple[str, ...]:
    """Return the resources of which more is used than allowed, sorted; equal is allowed (T371).

    A resource without a limit is not limited.
    """
    return tuple(sorted(name for name, limit in limits.items() if used.get(name, 0) > limit))


def render(amounts: Resources) -> dict[str, str]:
    """Return the amounts as quantities, sorted by name: ``{"cpu": "1500m", "memory": "2Gi"}``."""
    return {name: render_amount(name, amounts[name]) for name in sorted(amounts)}


def render_amount(name: str, amount: int) -> str:
    """Return one amount as people write it: cores, bytes in Ki to Ei, else a plain number."""
    if name == CPU:
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if is_in_bytes(name):
        return quantity.format_binary(amount * quantity.NANO)
    return str(amount)


def said(name: str, amount: int, *, up: bool = False) -> str:
    """Return one amount for a sentence: ``382.97``, ``900m``, ``14.79Gi`` in place of 15155Mi.

    Bytes that take more than DIGITS_SAID_MAX digits are rounded, down or ``up``: what there is,
    down, and what is used or asked for, up, so that nothing sounds as if it fitted.
    """
    exact = render_amount(name, amount)
    if name == CPU:
        cores, rest = divmod(amount, MILLI_CORES)
        return f"{cores}.{rest:03}".rstrip("0") if cores > 0 and rest else exact
    if amount < 0 or not is_in_bytes(name) or len(exact.rstrip("KMGTPEi")) <= DIGITS_SAID_MAX:
        return exact
    return quantity.about_binary(amount, up=up)


def is_in_bytes(name: str) -> bool:
    """True for memory, disks and huge pages."""
    return name in _IN_BYTES or name.startswith(_HUGE_PAGES)


def _bounded(amount: int) -> int:
    return max(min(amount, AMOUNT_LIMIT), -AMOUNT_LIMIT)
