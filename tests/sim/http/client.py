"""A client that can say anything, right or wrong, and shows the answer as it is."""

from __future__ import annotations

import io
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp
from yarl import URL

from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.http import HttpFace

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
MAPS = "/api/v1/namespaces/default/configmaps"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class Answer:
    code: int
    headers: Mapping[str, str]
    warnings: list[str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def reason(self) -> str:
        assert self.body["kind"] == "Status", self.raw
        assert self.body["code"] == self.code
        return str(self.body.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.body["message"])


class Client:
    """Speaks to one face as its administrator."""

    def __init__(self, face: HttpFace, session: aiohttp.ClientSession) -> None:
        self.face, self.session = face, session

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """``body``: bytes go as they are, anything else as JSON."""
        given = {"Authorization": f"Bearer {self.face.token}", **(headers or {})}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None and "Content-Type" not in given:
            given["Content-Type"] = "application/json"
        url = URL(self.face.url + path, encoded=True)
        sent = None if data is None else io.BytesIO(data)
        async with self.session.request(method, url, data=sent, headers=given) as response:
            raw = await response.read()
            warnings = response.headers.getall("Warning", [])
            return Answer(response.status, response.headers, list(warnings), raw)

    async def get(self, path: str, accept: str = "application/json") -> Answer:
        return await self.send("GET", path, headers={"Accept": accept})

    async def create(self, path: str, kind: str, name: str, **parts: Any) -> Answer:
        meta = {"name": name, **parts.pop("metadata", {})}
        group = path.split("/")[2:4] if path.startswith("/apis/") else ["v1"]
        body = {"apiVersion": "/".join(group), "kind": kind, "metadata": meta, **parts}
        answer = await self.send("POST", path, body)
        assert answer.code == 201, answer.raw
        return answer

    @asynccontextmanager
    async def watch(
        self, path: str, accept: str = "application/json"
    ) -> AsyncIterator[AsyncIterator[Any]]:
        """The events of a watch, decoded."""
        headers = {"Authorization": f"Bearer {self.face.token}", "Accept": accept}
        url = URL(self.face.url + path, encoded=True)
        async with self.session.get(url, headers=headers) as response:
            assert response.status == 200, await response.read()

            async def events() -> AsyncIterator[Any]:
                async for line in response.content:
                    yield json.loads(line)

            yield events()


@asynccontextmanager
async def opened(server: Server | None = None, **options: Any) -> AsyncIterator[Client]:
    """A face before a server whose time stands still, and a client that trusts it."""
    server = server or Server(lambda: NOW, seed=1, manners=FAITHFUL)
    async with HttpFace(server, **options) as face:
        trust = ssl.create_default_context(cadata=face.ca_pem)
        connector = aiohttp.TCPConnector(ssl=trust)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
            yield Client(face, session)
