"""A wire from a port of ours to a server: bytes pass, or something happens to the connection.

It carries whatever it is given and knows nothing of TLS or HTTP.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from tests.chaos.troubles import Trouble

PIECE_BYTES = 2**14
PACE_S = 0.01
"""Between two bytes of a trickle."""
BROKEN = (OSError, asyncio.IncompleteReadError)

Fate = Callable[[], Trouble | None]
"""Asked once for each connection."""


class Wire:
    """``port``: where it leads; ``impostor``: where it leads when somebody else answers there."""

    def __init__(self, port: int, fate: Fate = lambda: None, impostor: int = 0) -> None:
        self._target, self._impostor = port, impostor
        self._fate = fate
        self._server: asyncio.Server | None = None
        self._carrying: set[asyncio.Task[None]] = set()
        self.port = 0
        self.peak = 0
        """The most connections at a time."""

    @property
    def connections(self) -> int:
        """How many there are now."""
        return len(self._carrying)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await ended(self._carrying)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._carry(reader, writer))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)
        task.add_done_callback(lambda _: writer.transport.abort())  # even if it never ran
        self.peak = max(self.peak, len(self._carrying))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fate = self._fate()
        try:
            match fate:
                case Trouble("refused"):
                    reset(writer)
                case Trouble("half-open"):
                    await heard_out(reader)
                case Trouble("no TLS"):
                    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                    await heard_out(reader)
                case Trouble("impostor"):
                    await self._join(reader, writer, self._impostor, None)
                case _:
                    await self._join(reader, writer, self._target, fate)
        except BROKEN:
            pass

    async def _join(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        port: int,
        fate: Trouble | None,
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        is_frozen = asyncio.Event()
        ways = {
            asyncio.create_task(_up(reader, far_writer, is_frozen)),
            asyncio.create_task(_down(far_reader, writer, fate, is_frozen)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.transport.abort()
            await ended(ways)


async def _up(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_frozen: asyncio.Event
) -> None:
    with suppress(*BROKEN):
        while piece := await reader.read(PIECE_BYTES):
            if not is_frozen.is_set():
                writer.write(piece)
                await writer.drain()


async def _down(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    fate: Trouble | None,
    is_frozen: asyncio.Event,
) -> None:
    left = fate.after if fate is not None else 0
    with suppress(*BROKEN):
        while piece := await reader.read(PIECE_BYTES):
            if fate is not None and len(piece) > left:
                writer.write(piece[:left])
                await writer.drain()
                piece = await _struck(fate, piece[left:], writer, is_frozen)
                fate = None
            left -= len(piece)
            writer.write(piece)
            await writer.drain()


async def _struck(
    fate: Trouble, piece: bytes, writer: asyncio.StreamWriter, is_frozen: asyncio.Event
) -> bytes:
    """Let it happen; what of ``piece`` is to follow."""
    match fate.what:
        case "cut":
            writer.close()
            raise ConnectionError
        case "reset":
            reset(writer)
            raise ConnectionError
        case "half-closed":
            writer.write_eof()
            await asyncio.Event().wait()
        case "frozen":
            is_frozen.set()
            await asyncio.Event().wait()
        case "garbled":
            return bytes([piece[0] ^ 0x40]) + piece[1:]
        case "trickle":
            await trickle(piece, writer)
        case other:
            raise AssertionError(other)
    return b""


# ----------------------------------------------------------------------------- what others need too


async def trickle(data: bytes, writer: asyncio.StreamWriter, pace_s: float = PACE_S) -> None:
    """A byte at a time, until somebody loses patience."""
    for at in range(len(data)):
        writer.write(data[at : at + 1])
        await writer.drain()
        await asyncio.sleep(pace_s)


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST."""
    plug = writer.get_extra_info("socket")
    if plug is not None:
        with suppress(OSError):
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def heard_out(reader: asyncio.StreamReader) -> None:
    """Read until the other side leaves."""
    with suppress(*BROKEN):
        while await reader.read(PIECE_BYTES):
            pass


async def ended(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel them and wait; whatever but a cancellation ended one is raised."""
    waiting = list(tasks)
    for task in waiting:
        task.cancel()
    for result in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
