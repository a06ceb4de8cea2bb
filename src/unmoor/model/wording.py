"""How is a number of things said? ``1 pod``, ``2 pods``.

Some of many names: ``a, b, c and 2 more``.

Must not: know any other grammar.
"""

from __future__ import annotations

NAMED_MAX = 3
"""So many names are given in a sentence; the rest are counted."""


def counted(number: int, what: str) -> str:
    """Say how many; ``what`` is one of them, and more of them end with an s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def named(those: tuple[str, ...]) -> str:
    """Name the first of them."""
    more = len(those) - NAMED_MAX
    return ", ".join(those[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
