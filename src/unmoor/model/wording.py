"""How is a number of things said? ``1 pod``, ``2 pods``.

Some of many names: ``a, b, c and 2 more``. As many as a sentence bears, however long they are: an
API object may hold a megabyte of them.

Must not: know any other grammar.
"""

from __future__ import annotations

from collections.abc import Iterable

NAMED_MAX = 3
"""So many names are given in a sentence; the rest are counted."""
JOINED_CHARS_MAX = 300
"""So long a list grows in a sentence; what is left of it is counted."""


def counted(number: int, what: str) -> str:
    """Say how many; ``what`` is one of them, and more of them end with an s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def named(those: tuple[str, ...]) -> str:
    """Name the first of them."""
    more = len(those) - NAMED_MAX
    return ", ".join(those[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")


def joined(those: Iterable[str], between: str = ", ") -> str:
    """Join them, and name those only for which there is room: ``a, b and 9,998 more``.

    The first is always named, or as much of it as there is room for.
    """
    listed = list(those)
    text = ""
    for number, one in enumerate(listed):
        longer = f"{text}{between}{one}" if number else one
        if len(longer) > JOINED_CHARS_MAX:
            first = text or f"{one[:JOINED_CHARS_MAX]}..."
            more = len(listed) - max(number, 1)
            return first + (f" and {more:,} more" if more else "")
        text = longer
    return text
