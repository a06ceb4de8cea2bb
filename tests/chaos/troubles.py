"""What can happen between a client and a server, by name, and which of it happens when.

Same seed, same troubles: each request of a kind, and each connection, draws the next card of a deck
of its own, so neither the order of requests nor their speed matters, and every trouble comes up
before one comes up twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple, Protocol


class Trouble(NamedTuple):
    """``after``: so much passes unharmed before: bytes on the wire, lines of a watch."""

    what: str
    after: int = 0


WIRE = (
    "refused",  # reset as soon as it is accepted
    "half-open",  # accepted, and never a byte
    "no TLS",  # somebody else listens there
    "impostor",  # a certificate that nobody vouches for
    "cut",
    "reset",
    "half-closed",  # nothing comes any more, not even a good-bye, and everything is still taken
    "frozen",  # open, but nothing passes any more, either way
    "garbled",  # a bit flips
    "trickle",  # a byte at a time
)
"""To a connection; nobody here knows what it carries."""

NOT_DONE = (
    "no answer: closed",
    "no answer: reset",
    "400 that quotes",
    "502 page",
    "503 page",
    "504 page",
    "429",
    "401",
    "302",
    "login page",
    "empty object",
    "no answer",
    "503 that hangs",
    "429 until later",
)
"""To a request that does not reach the server. What only patience ends comes last."""

NOT_TOLD = (
    "lost: silence",
    "says too much",
    "never ends",
    "bad chunk",
    "slow head",
    "slow body",
    "lost: closed",
    "lost: reset",
    "lost: 502 page",
    "cut short",
    "cut short: reset",
    "says too little",
    "no last chunk",
    "no gzip",
    "garbage",
    "zipped",
    "100 first",
    "HTTP/1.0",
    "twice",
    "somebody else's",
    "yesterday's",
    "closes behind",
    "speaks unasked",
)
"""To the answer of a request that has reached the server. What only patience ends comes first."""

READ = ("410", *NOT_DONE, *NOT_TOLD)
WRITTEN = (*NOT_DONE, *NOT_TOLD)

IN_A_LINE = (
    "slow line",
    "ends in a line",
    "cut in a line",
    "reset in a line",
    "garbled line",
    "line twice",
    "late line",
    "line again later",
)
"""To a line of a watch."""

BEFORE_A_LINE = (
    "silence",
    "slow head",
    "bad chunk",
    "line without end",
    "no gzip",
    "ends",
    "cut",
    "reset",
    "page in the middle",
    "expired",
    "server error",
)
"""To a watch, after some lines."""

WATCHED = ("410", *NOT_DONE, *BEFORE_A_LINE, *IN_A_LINE)
"""To a watch."""

_LINES_MOST = 4
_BYTES_MOST = 12_000
"""A handshake takes some two thousand; then come answers."""


class Deck:
    """Troubles in a seeded order, with as many turns on which nothing happens."""

    def __init__(self, name: str, troubles: Sequence[str], after_most: int, calm: int = 1) -> None:
        self._dice = Random(name)
        self._troubles = troubles
        self._after_most = after_most
        self._calm = calm
        self._cards = self._deal()

    def draw(self) -> Trouble | None:
        return next(self._cards)

    def _deal(self) -> Iterator[Trouble | None]:
        while True:
            cards = [*self._troubles, *[""] * (self._calm * len(self._troubles))]
            self._dice.shuffle(cards)
            for card in cards:
                after = self._dice.randint(0, self._after_most)
                yield Trouble(card, after) if card else None


class Fate(Protocol):
    """What happens to each connection and request; asked once for each."""

    def on_connection(self) -> Trouble | None: ...
    def on_read(self, path: str) -> Trouble | None: ...
    def on_write(self, path: str) -> Trouble | None: ...
    def on_watch(self, path: str) -> Trouble | None: ...


class Weather:
    """Troubles until it is calm. ``struck`` counts them."""

    def __init__(self, seed: int | str) -> None:
        self._seed = seed
        self._decks: dict[str, Deck] = {}
        self._news = asyncio.Event()
        self.is_calm = False
        self.struck: Counter[str] = Counter()

    async def strikes(self, times: int, within_s: float) -> None:
        """Wait until so many more troubles have come."""
        wanted = self.struck.total() + times
        async with asyncio.timeout(within_s):
            while self.struck.total() < wanted:
                self._news.clear()
                await self._news.wait()

    def on_connection(self) -> Trouble | None:
        return self._draw("wire", WIRE, _BYTES_MOST, calm=3)

    def on_read(self, path: str) -> Trouble | None:
        return self._draw(f"read {path}", READ, 0)

    def on_write(self, path: str) -> Trouble | None:
        return self._draw(f"write {path}", WRITTEN, 0)

    def on_watch(self, path: str) -> Trouble | None:
        return self._draw(f"watch {path}", WATCHED, _LINES_MOST)

    def _draw(
        self, what: str, troubles: Sequence[str], after_most: int, calm: int = 1
    ) -> Trouble | None:
        if self.is_calm:
            return None
        if what not in self._decks:
            name = f"{self._seed}/{what}"
            self._decks[what] = Deck(name, troubles, after_most, calm)
        drawn = self._decks[what].draw()
        if drawn is not None:
            self.struck[f"{what.partition(' ')[0]}: {drawn.what}"] += 1
            self._news.set()
        return drawn


class Once:
    """One trouble, the first time that it can happen there; else it is calm.

    ``where``: "wire", "read", "write" or "watch".
    """

    def __init__(self, where: str, trouble: Trouble) -> None:
        self._where, self.trouble = where, trouble
        self.has_struck = False
        self.when_struck: Callable[[], None] = lambda: None

    def on_connection(self) -> Trouble | None:
        return self._strike("wire")

    def on_read(self, _path: str) -> Trouble | None:
        return self._strike("read")

    def on_write(self, _path: str) -> Trouble | None:
        return self._strike("write")

    def on_watch(self, _path: str) -> Trouble | None:
        return self._strike("watch")

    def _strike(self, where: str) -> Trouble | None:
        if self.has_struck or where != self._where:
            return None
        self.has_struck = True
        self.when_struck()
        return self.trouble
