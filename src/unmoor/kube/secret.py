"""How does a secret stay one? It is wrapped as soon as it is read.

Must not: know what the secret is for.
"""

from __future__ import annotations


class Secret:
    """A text that nobody sees by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Wrap a secret as soon as it is read."""
        self._text = text

    def reveal(self) -> str:
        """The secret itself; only where it goes to its addressee."""
        return self._text

    def __bool__(self) -> bool:
        """There is one."""
        return bool(self._text)

    def __repr__(self) -> str:
        """What logs and errors show."""
        return "<secret>"

    def __eq__(self, other: object) -> bool:
        """Two secrets are equal when their texts are."""
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        """Equal secrets have equal hashes."""
        return hash(self._text)
