"""What does a file say now? Files with credentials are replaced while we run.

They are small and local, so they are simply read again from time to time; a mount or a link that
is swapped goes unnoticed by nothing better. What cannot be read or used then (one of two files
replaced, the other not yet) is passed over, and the last good reading serves on.

Must not: know what is in a file.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

from unmoor.runtime.ports import Clock

REREAD_AFTER_S = 60.0
"""Files are read again when the last reading is older."""


SIZE_LIMIT_BYTES = 2**20
"""A larger file is no credential, and may be a device that never ends."""


def read_small(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file. Raises OSError, also for a large one, and UnicodeDecodeError."""
    with path.open("rb") as file:
        data = file.read(SIZE_LIMIT_BYTES + 1)
    if len(data) > SIZE_LIMIT_BYTES:
        raise OSError(errno.EFBIG, "File too large")
    return data.decode(encoding)


class Rotating:
    """Texts that go together, and the files they came from; without files they stay."""

    def __init__(
        self,
        texts: Sequence[str],
        files: Sequence[Path],
        clock: Clock,
        is_good: Callable[[Sequence[str]], bool],
    ) -> None:
        """``texts``: what was read at first."""
        self._texts = tuple(texts)
        self._files = files
        self._clock = clock
        self._is_good = is_good
        self._read_at_s: float | None = None

    def texts(self) -> tuple[str, ...]:
        """What the files say, or said less than a minute ago."""
        if self._files:
            now_s = self._clock.now().mono
            if self._read_at_s is None:
                self._read_at_s = now_s
            elif now_s - self._read_at_s >= REREAD_AFTER_S:
                self.read()
        return self._texts

    def read(self) -> None:
        """Read them now."""
        if not self._files:
            return
        self._read_at_s = self._clock.now().mono
        try:
            texts = tuple(read_small(path) for path in self._files)
            if texts != self._texts and self._is_good(texts):
                self._texts = texts
        except (OSError, ValueError):
            return
