"""How is a connection used, and when is it given up? Pools, bodies, lines, and hanging up.

Everything that is read has a limit in bytes; limits of time are the caller's.

Must not: know what is said on it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

import aiohttp

from unmoor.kube.lines import Lines

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

BEGINNING_BYTES = 2**20
"""What is read of an answer that should be short."""
KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_PROBES = 30, 10, 3
"""A watch may be silent for minutes; the kernel notices within one when the other side is gone."""


UNTIMED = aiohttp.ClientTimeout(total=None)
"""No limits of aiohttp's own: where one of them is over in the moment in which a task is cancelled,
aiohttp takes the cancellation for its own, and the task goes on. asyncio's can tell them apart."""


class TooLong(Exception):
    """The other side sends more than an API server would."""


class Pool(aiohttp.TCPConnector):
    """Connections that are kept, but for those on which something came that nobody asked for.

    Some proxies say good-bye to an idle connection (``408``), and broken ones answer twice. Whoever
    used that connection would take it for the answer to the next request.
    """

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (found := await super()._get(key, traces)) is not None:
            if found.protocol is None or not found.protocol.should_close:
                return found
            found.close()
        return None


async def whole(response: aiohttp.ClientResponse, limit_bytes: int, until: float) -> bytes:
    """The body. Raises TooLong, and TimeoutError at ``until`` by the loop's clock."""
    pieces: list[bytes] = []
    size = 0
    async with asyncio.timeout_at(until):
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > limit_bytes:
                raise TooLong(f"the answer is longer than {limit_bytes / 2**20:g} MiB")
            pieces.append(piece)
    return b"".join(pieces)


async def beginning(response: aiohttp.ClientResponse) -> bytes:
    """The body, or so much of a long one that it shows: this is not what was to come."""
    body = b""
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > BEGINNING_BYTES:
            break
    return body


async def lines_of(
    response: aiohttp.ClientResponse, limit_bytes: int, until: float
) -> AsyncIterator[bytes]:
    """The body line by line, as it comes. Raises LineTooLong, and TimeoutError at ``until``."""
    lines = Lines(limit_bytes)
    while True:
        async with asyncio.timeout_at(until):  # not while somebody else has his turn
            piece = await response.content.readany()
        if not piece:
            break
        for line in lines.feed(piece):
            yield line
    if rest := lines.rest():
        yield rest


def hang_up(response: aiohttp.ClientResponse) -> None:
    """Give the connection back, or cut it when there is more on it that nobody will read."""
    if not response.content.at_eof():
        connection = response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()  # a polite TLS good-bye waits for the other side
        response.close()
    response.release()


def probe_often(response: aiohttp.ClientResponse) -> None:
    """Let the kernel look whether the other side of a silent connection is still there."""
    transport = response.connection.transport if response.connection else None
    plug: socket.socket | None = transport.get_extra_info("socket") if transport else None
    if plug is None:
        return
    with suppress(OSError):
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES)
