"""An HTTP proxy that tunnels to one place, whatever it is asked for, and remembers what it was."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Self


class Tunnel:
    """``login``: the Proxy-Authorization it insists on."""

    def __init__(self, port: int, *, login: str = "", tls: ssl.SSLContext | None = None) -> None:
        self._target = port
        self._login = login
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.asked: list[str] = []

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.splitlines()
            headers = dict(line.split(": ", 1) for line in lines if line)
            self.asked.append(first)
            if headers.get("Proxy-Authorization", "") != self._login:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            elif first.startswith("CONNECT "):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._join(reader, writer, b"")
            else:
                await self._join(reader, writer, head.encode())
        writer.close()

    async def _join(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes
    ) -> None:
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers.add(onward_writer)
        onward_writer.write(first)
        await asyncio.gather(_pump(reader, onward_writer), _pump(onward_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.close()
