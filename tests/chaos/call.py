"""One request on its way through the gateway, and the client that waits for the answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tests.chaos import wire
from tests.chaos.http import Head


@dataclass
class Call:
    """``is_listened_to``: somebody waits for the client to leave, and ends all then.

    ``held_back``: what is to be told after the next line of a watch.
    """

    head: Head
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_listened_to: bool = False
    held_back: bytes = b""

    @property
    def path(self) -> str:
        return self.head.target.partition("?")[0]

    @property
    def is_watch(self) -> bool:
        return "watch=true" in self.head.target.partition("?")[2].split("&")

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def trickle(self, data: bytes) -> None:
        await wire.trickle(data, self.writer)

    async def flood(self, piece: bytes) -> None:
        """The same again and again, until the client has had enough."""
        while True:
            await self.send(piece)
            await asyncio.sleep(0)  # Or the news that it has left would never get through.

    async def until_it_leaves(self) -> None:
        if self.is_listened_to:
            await asyncio.Event().wait()
        await wire.heard_out(self.reader)

    def reset(self) -> None:
        wire.reset(self.writer)
