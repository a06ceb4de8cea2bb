"""HTTP/1.1 as bytes, in as much as a proxy must understand it: heads, bodies, pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

END = b"\r\n\r\n"


@dataclass(frozen=True)
class Head:
    """The first line, and headers with their names in small letters."""

    first: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known == name), "")

    @property
    def method(self) -> str:
        return self.first.split(" ")[0]

    @property
    def target(self) -> str:
        return self.first.split(" ")[1]

    @property
    def code(self) -> int:
        return int(self.first.split(" ")[1])

    def changed(self, **headers: str | None) -> Head:
        """With these headers, with ``_`` for ``-``; None takes one away."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = [(name, value) for name, value in self.headers if name not in names]
        given = [(name, value) for name, value in names.items() if value is not None]
        return Head(self.first, (*kept, *given))

    def encoded(self) -> bytes:
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join(lines).encode("latin-1") + END


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next head, None at the end of the connection."""
    try:
        text = (await reader.readuntil(END)).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return Head(first, tuple((name.lower(), value.strip()) for name, _, value in pairs))


async def body_of(reader: asyncio.StreamReader, head: Head) -> AsyncIterator[bytes]:
    """A body in pieces, as its head frames it; without a frame it lasts to the end."""
    if head.header("transfer-encoding") == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
    elif length := head.header("content-length"):
        left = int(length)
        while left:
            piece = await reader.read(left)
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(piece)
            yield piece
    elif not head.first.startswith("HTTP/"):
        return  # a request without a body
    else:
        while piece := await reader.read(2**14):
            yield piece


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def page(code: int, reason: str, body: bytes, media: str, **headers: str) -> bytes:
    """A whole answer of somebody who is no API server."""
    head = Head(f"HTTP/1.1 {code} {reason}", ())
    length = str(len(body))
    return head.changed(content_type=media, content_length=length, **headers).encoded() + body
