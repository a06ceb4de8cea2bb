"""``unmoor sim up`` as a process of its own, which every test of it needs."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests import ending
from tests.app.loopback import UNMOOR
from unmoor.app.cluster import connected
from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Api

PATIENCE_S = 60.0
LOOK_S = 0.05


class Up:
    """One cluster that is up: what it said, and its API."""

    def __init__(self, process: asyncio.subprocess.Process, first: JSON, api: Api) -> None:
        self.process, self.first, self.api = process, first, api
        self.said: list[JSON] = []
        self.errors = ""
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.said.append(json.loads(line))

    def texts(self, who: str) -> list[str]:
        return [one["text"] for one in self.said if one.get("who") == who]

    async def all(self, resource: Resource[Any]) -> tuple[JSON, ...]:
        return (await self.api.list(resource.raw())).items

    async def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Exit code, and how long it took."""
        code, took_s = await ending.told(self.process, number)
        await self._reading
        assert self.process.stderr is not None
        self.errors = (await self.process.stderr.read()).decode()
        return code, took_s


async def launched(*args: str, stdin: bytes | None = None) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        UNMOOR,
        "sim",
        "up",
        "--output=json",
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(stdin or b"")
    process.stdin.close()
    return process


async def refused(*args: str) -> str:
    """What a call says that does not come to serve anything."""
    process = await launched(*args)
    _, said = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 1
    return said.decode()


@asynccontextmanager
async def up(kubeconfig: Path, *args: str, stdin: bytes | None = None) -> AsyncIterator[Up]:
    """On a free port; killed at the end if it still runs."""
    process = await launched("--port=0", f"--kubeconfig={kubeconfig}", *args, stdin=stdin)
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
        assert process.stderr is not None
        assert line, (await process.stderr.read()).decode()
        async with connected(str(kubeconfig), "", SystemClock()) as api:
            yield Up(process, json.loads(line), api)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def until(what: str, probe: Callable[[], Awaitable[Any]]) -> Any:
    """Ask until the answer is true."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + PATIENCE_S
    pause_s = LOOK_S
    while not (found := await probe()):
        assert loop.time() < ends_at, f"{what}: not within {PATIENCE_S:g} s"
        await asyncio.sleep(pause_s)
    return found
