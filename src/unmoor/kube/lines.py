"""Where does one watch event end and the next begin? At each newline, however long the line.

Must not: know what is in a line.
"""

from __future__ import annotations

from collections.abc import Iterator

LINE_LIMIT_BYTES = 64 * 2**20
"""The API server refuses objects of a few MB; beyond this the other side is not one."""


class LineTooLong(Exception):
    """The other side sends and sends, and no newline comes."""


class Lines:
    """Splits a stream that arrives in pieces. Pieces of a long line are joined once, at its end."""

    def __init__(self, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        """Nothing has come yet."""
        self._limit_bytes = limit_bytes
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that are complete with ``chunk``; empty ones are left out."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = b"".join((*self._pieces, end)).strip() if self._pieces else end.strip()
            self._pieces.clear()
            self._size = 0
            if line:
                yield line
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
            if self._size > self._limit_bytes:
                raise LineTooLong(f"a line is longer than {self._limit_bytes / 2**20:g} MiB")

    def rest(self) -> bytes:
        """What came after the last newline."""
        return b"".join(self._pieces).strip()
