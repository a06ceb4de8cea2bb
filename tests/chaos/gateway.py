"""A proxy that ends TLS, reads HTTP and passes it on, or does something else to it.

Clients know the gateway by ``authority`` and show it the credentials that the server wants. It
keeps connections to the server of its own; no trouble touches those.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Self

from tests.chaos.answers import UNDONE, UNTOLD, Answer
from tests.chaos.call import Call
from tests.chaos.http import LAST_CHUNK, Head, body_of, chunk, read_head
from tests.chaos.streams import BETWEEN, IN_IT, lines
from tests.chaos.troubles import Fate, Trouble
from tests.chaos.wire import BROKEN, ended, heard_out
from unmoor.sim.http import certificates

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "127.0.0.1"


class Gateway:
    """In front of the server at ``port``, which ``authority`` vouches for."""

    def __init__(self, port: int, authority: str, fate: Fate) -> None:
        self._target, self._fate = port, fate
        self._trust = ssl.create_default_context(cadata=authority)
        self._servers: list[asyncio.Server] = []
        self._serving: set[asyncio.Task[None]] = set()
        self._heard: dict[str, Answer] = {}
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._certificates = certificates.make((HOST,), SINCE)

    @property
    def authority(self) -> str:
        return self._certificates.ca_pem

    @property
    def port(self) -> int:
        return int(self._servers[0].sockets[0].getsockname()[1])

    @property
    def impostor(self) -> int:
        """Another port of it, with a certificate that ``authority`` does not vouch for."""
        return int(self._servers[1].sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        for made in (self._certificates, certificates.make((HOST,), SINCE)):
            tls = made.context()
            self._servers.append(await asyncio.start_server(self._accept, HOST, 0, ssl=tls))
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        await ended(self._serving)
        for connection in self._idle:
            connection[1].transport.abort()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        task.add_done_callback(lambda _: writer.transport.abort())  # even if it never ran

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await read_head(reader)) is not None:
                body = b"".join([piece async for piece in body_of(reader, head)])
                if not await self._answered(Call(head, body, reader, writer)):
                    break
        except BROKEN:
            pass

    # -------------------------------------------------------------------------- one request

    async def _answered(self, call: Call) -> bool:
        """True when the connection may be used again."""
        if call.is_watch:
            trouble = self._fate.on_watch(call.path)
        elif call.head.method == "GET":
            trouble = self._fate.on_read(call.path)
        else:
            trouble = self._fate.on_write(call.path)
        what = trouble.what if trouble is not None else ""
        if trouble is not None and trouble.what in UNDONE:
            return await UNDONE[trouble.what](call)
        if call.is_watch:
            return await self._watched(call, trouble)
        async with self._asked(call) as (head, pieces):
            answer = Answer(head, b"".join([piece async for piece in pieces]))
        told = self._exchanged(call, answer, trouble)
        return await UNTOLD[what](call, told)

    def _exchanged(self, call: Call, answer: Answer, trouble: Trouble | None) -> Answer:
        """The answer that is told in its place, and remembered for next time."""
        asked = f"{call.head.method} {call.path}"
        told = answer
        if trouble is not None and trouble.what == "yesterday's":
            told = self._heard.get(asked, answer)
        if trouble is not None and trouble.what == "somebody else's":
            others = [one for other, one in self._heard.items() if not other.endswith(call.path)]
            told = others[-1] if others else answer
        self._heard[asked] = answer
        return told

    async def _watched(self, call: Call, trouble: Trouble | None) -> bool:
        """A watch ends when the server or a trouble ends it, or the client leaves."""
        leaving = asyncio.create_task(heard_out(call.reader))
        call.is_listened_to = True
        telling = asyncio.create_task(self._tell(call, trouble))
        try:
            await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return telling.done() and telling.result()
        finally:
            await _stopped(telling)
            await _stopped(leaving)

    async def _tell(self, call: Call, trouble: Trouble | None) -> bool:
        async with self._asked(call) as (head, pieces):
            if head.code != 200:
                answer = Answer(head, b"".join([piece async for piece in pieces]))
                await call.send(answer.framed())
                return True
            await _begin(call, head, trouble)
            what, after = trouble if trouble is not None else ("", 0)
            arriving = lines(pieces)
            for told in itertools.count():
                is_due = told == after
                if is_due and what in BETWEEN and not await BETWEEN[what](call):
                    return False
                line = await anext(arriving, b"")
                if not line:
                    break
                if not is_due or what not in IN_IT:
                    await call.send(chunk(line) + call.held_back)
                    call.held_back = b""
                elif not await IN_IT[what](call, line):
                    return False
            await call.send(LAST_CHUNK)
            return True

    @contextlib.asynccontextmanager
    async def _asked(self, call: Call) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        """The server's answer to the same request."""
        reader, writer = await self._connected()
        is_read = False

        async def pieces(answer: Head) -> AsyncIterator[bytes]:
            nonlocal is_read
            async for piece in body_of(reader, answer):
                yield piece
            is_read = True

        try:
            head = call.head.changed(connection=None, host=f"{HOST}:{self._target}")
            writer.write(head.encoded() + call.body)
            answer = await read_head(reader)
            if answer is None:
                raise ConnectionError("the server said nothing")
            yield answer, pieces(answer)
        finally:
            if is_read:
                self._idle.append((reader, writer))
            else:
                writer.transport.abort()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.transport.abort()
        return await asyncio.open_connection(HOST, self._target, ssl=self._trust)


async def _begin(call: Call, head: Head, trouble: Trouble | None) -> None:
    what = trouble.what if trouble is not None else ""
    head = head.changed(content_length=None, connection=None, transfer_encoding="chunked")
    if what == "no gzip":
        head = head.changed(content_encoding="gzip")
    if what == "slow head":
        await call.trickle(head.encoded())
    else:
        await call.send(head.encoded())


async def _stopped(task: asyncio.Task[bool] | asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) and not isinstance(error, BROKEN):
        raise error
