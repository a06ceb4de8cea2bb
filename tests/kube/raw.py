"""A server that sends what it is told to, byte for byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.kube.listener import Listener
from tests.kube.server import ManualClock
from unmoor.kube.access import Config
from unmoor.kube.client import ClientSettings, KubeApi

Script = Callable[[asyncio.StreamWriter, bytes], bool]
"""Given where to write and the head of a request; True when the connection stays open."""


class Raw(Listener):
    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stays = True
        while stays:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line.split(b":")[1]) for line in head.split(b"\r\n") if _is_length(line)),
                0,
            )
            await reader.readexactly(length)
            stays = self._script(writer, head)
            await writer.drain()

    def api(self, settings: ClientSettings = ClientSettings(), **config: Any) -> KubeApi:
        where = Config(server=self.url, **config)
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
