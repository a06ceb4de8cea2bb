"""A server that sends what it is told to, byte for byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, Self

from tests.kube.server import ManualClock
from unmoor.kube.access import Config
from unmoor.kube.client import ClientSettings, KubeApi

Script = Callable[[asyncio.StreamWriter, bytes], bool]
"""Given where to write and the head of a request; True when the connection stays open."""


class Raw:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.heads: list[bytes] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
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
            stays = True
            while stays:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(line.split(b":")[1]) for line in head.split(b"\r\n") if _is_length(line)),
                    0,
                )
                await reader.readexactly(length)
                self.heads.append(head)
                stays = self._script(writer, head)
                await writer.drain()
        writer.close()

    def api(self, settings: ClientSettings = ClientSettings(), **config: Any) -> KubeApi:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        where = Config(server=f"http://127.0.0.1:{port}", **config)
        return KubeApi(where, clock=ManualClock(), random=Random(1), settings=settings)


def _is_length(line: bytes) -> bool:
    return line.lower().startswith(b"content-length:")


def answer(body: Any, code: int = 200, *headers: str) -> bytes:
    """A whole answer."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {code} Some", f"Content-Length: {len(text)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + text


def chunked(*chunks: bytes) -> bytes:
    """A whole answer in chunks."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head + body + b"0\r\n\r\n"
