"""Raw JSON to an API server and back, many requests at once, and watches.

Not our client: what vouches for us should not lean on us.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Final, Self

import aiohttp

from tests import controlplane
from tests.controlplane import ControlPlane
from unmoor.model.base import JSON

AT_ONCE: Final = 12
LINE_LIMIT_BYTES: Final = 2**22
MERGE: Final = {"Content-Type": "application/merge-patch+json"}


class Refused(RuntimeError):
    """The API server did not do it; its own words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Rest:
    """The API server of a control plane, as its admin. Enter it as a context."""

    def __init__(self, plane: ControlPlane) -> None:
        self._url = plane.url
        self._trust = ssl.create_default_context(cafile=plane.ca_file)
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            self._url,
            headers={"Authorization": f"Bearer {controlplane.ADMIN_TOKEN}"},
            connector=aiohttp.TCPConnector(ssl=self._trust, limit=0),
            read_bufsize=LINE_LIMIT_BYTES,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def get(self, path: str) -> JSON:
        return await self._ask("GET", path, None)

    async def post(self, path: str, body: JSON) -> JSON:
        return await self._ask("POST", path, body)

    async def put(self, path: str, body: JSON) -> JSON:
        return await self._ask("PUT", path, body)

    async def patch(self, path: str, body: JSON) -> JSON:
        """A merge patch."""
        return await self._ask("PATCH", path, body, MERGE)

    async def delete(self, path: str, *, grace_s: int = 0) -> JSON:
        """One object, or a whole collection."""
        return await self._ask("DELETE", path, {"gracePeriodSeconds": grace_s})

    async def watch(self, path: str, since: str) -> AsyncIterator[JSON]:
        """The changes after ``since``, until the caller has seen enough."""
        query = {"watch": "true", "resourceVersion": since}
        async with self._session.get(path, params=query) as response:
            await _check(response)
            async for line in response.content:
                yield json.loads(line)

    async def _ask(
        self, method: str, path: str, body: JSON | None, headers: Mapping[str, str] = {}
    ) -> JSON:
        async with (
            self._at_once,
            self._session.request(method, path, json=body, headers=headers) as response,
        ):
            await _check(response)
            answer: JSON = await response.json()
            return answer


async def _check(response: aiohttp.ClientResponse) -> None:
    if not response.ok:
        raise Refused(response.status, (await response.text())[:1000])
