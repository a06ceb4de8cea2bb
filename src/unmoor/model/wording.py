"""How is a number of things said? ``1 pod``, ``2 pods``.

Must not: know any other grammar.
"""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Say how many; ``what`` is one of them, and more of them end with an s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
