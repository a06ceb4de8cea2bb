"""An HTTP proxy that tunnels to one place, whatever it is asked for, and remembers what it was."""

from __future__ import annotations

import asyncio
import ssl

from tests.kube.listener import Listener, pump


class Tunnel(Listener):
    """``login``: the Proxy-Authorization it insists on."""

    def __init__(self, port: int, *, login: str = "", tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self._target = port
        self._login = login
        self.asked: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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

    async def _join(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes
    ) -> None:
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self.writers.add(onward_writer)
        onward_writer.write(first)
        await asyncio.gather(pump(reader, onward_writer), pump(onward_reader, writer))
