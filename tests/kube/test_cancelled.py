"""Whoever is told to end does so, also in the moment in which his patience is over anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.kube.raw import Raw
from tests.kube.server import event, node
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.model.kinds import NODES

PATIENCE_S = 0.05
QUICK = ClientSettings(timeout_s=PATIENCE_S, watch_s=PATIENCE_S / 2, watch_grace_s=0.0)
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def watched(api: KubeApi) -> None:
    async for _ in api.watch(NODES, since="1"):
        pass


VERBS: dict[str, Callable[[KubeApi], Coroutine[Any, Any, Any]]] = {
    "get": lambda api: api.get(NODES.ref("a")),
    "list": lambda api: api.list(NODES),
    "patch": lambda api: api.patch(NODES.ref("a"), {}),
    "watch": watched,
}
SAID = {
    "nothing": b"",
    "a head": HEAD,
    "a line": HEAD + b"%x\r\n" % 1000 + event("ADDED", node("a")),
}


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("verb", VERBS)
async def test_a_cancellation_is_never_taken_for_the_end_of_patience(verb: str, said: str) -> None:
    loop = asyncio.get_running_loop()
    has_asked = asyncio.Event()

    def serve(writer: asyncio.StreamWriter, _head: bytes) -> bool:
        writer.write(SAID[said])
        has_asked.set()
        return True

    async with Raw(serve) as raw, raw.api(QUICK) as api:
        while True:
            has_asked.clear()
            too_late_at = loop.time() + PATIENCE_S / 2
            asking = asyncio.create_task(VERBS[verb](api))
            heard = asyncio.create_task(has_asked.wait())
            await asyncio.wait({asking, heard}, return_when=asyncio.FIRST_COMPLETED)
            if heard.done() and loop.time() < too_late_at:
                break
            # On a crowded machine patience may end before the server has heard anything.
            asking.cancel()
            heard.cancel()
            await asyncio.wait({asking, heard})
        over_at = loop.time() + PATIENCE_S
        loop.call_at(over_at, asking.cancel)
        while loop.time() < over_at:
            pass  # Whoever does not yield makes two things happen at once.
        with pytest.raises(asyncio.CancelledError):
            await asking
