"""Whatever bytes come back, an answer comes out or one of the two errors, and soon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kube.raw import Raw, answer, chunked
from tests.kube.server import event, listing, node, status
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import PortError

A = NODES.ref("a")
LIMIT_S = 5.0
QUICK = ClientSettings(timeout_s=0.3, watch_s=0.3, watch_grace_s=0.0, rate_per_s=1e6, burst=10**6)


async def watched(api: KubeApi) -> list[Any]:
    return [told async for told in api.watch(NODES, since="1")]


VERBS: dict[str, Callable[[KubeApi], Any]] = {
    "list": lambda api: api.list(NODES),
    "get": lambda api: api.get(A),
    "patch": lambda api: api.patch(A, {}),
    "delete": lambda api: api.delete(A),
    "watch": watched,
}
WHOLE = [
    answer(listing(node("a"), node("b")) | {"kind": "NodeList"}),
    answer(node("a"), 200, "Content-Type: application/json", "Audit-Id: x"),
    answer(status(409, "Conflict"), 409, "Retry-After: 1"),
    answer(b"moved", 307, "Location: http://127.0.0.1:1/"),
    answer(b"x", 200, "Content-Encoding: gzip"),
    answer(b"", 101, "Upgrade: websocket", "Connection: Upgrade"),
    chunked(event("ADDED", node("a")), event("BOOKMARK", node("")), event("DELETED", node("a"))),
    chunked(json.dumps(listing(node("a"))).encode()),
]
PIECES = [
    b"",
    b"\r\n",
    b"\r\n\r\n",
    b"\x00",
    b"\xff\xfe",
    b"0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Encoding: deflate\r\n",
    b"Set-Cookie: a=\x01;;=\r\n",
    b"Retry-After: 9999999999999999999999\r\n",
    b'"resourceVersion":"-1",',
    b"x" * 9000,
    b"{" * 2000,
]
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 8), st.sampled_from(PIECES)), max_size=3)


def edited(text: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """Some parts of it cut out, and others put in their places."""
    for where, length, piece in edits:
        at = int(where * len(text))
        text = text[:at] + piece + text[at + length :]
    return text


@pytest.mark.parametrize("verb", VERBS)
@given(text=st.sampled_from(WHOLE), edits=EDITS)
def test_nothing_but_the_two_errors_comes_out(
    verb: str, text: bytes, edits: list[tuple[float, int, bytes]]
) -> None:
    def script(writer: asyncio.StreamWriter, _: bytes) -> bool:
        writer.write(edited(text, edits))
        return False

    async def ask() -> None:
        unheard: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, said: unheard.append(said))
        async with Raw(script) as server, server.api(QUICK) as api, asyncio.timeout(LIMIT_S):
            with suppress(PortError):
                await VERBS[verb](api)
        assert unheard == []

    asyncio.run(ask())
