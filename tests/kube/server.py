"""A server that does as it is told, however wrong, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Self

from aiohttp import web

from unmoor.kube.access import Config
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.model.moment import Moment

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

START = datetime(2026, 1, 1, tzinfo=UTC)
IMPATIENT = ClientSettings(timeout_s=0.1, watch_s=0.1, watch_grace_s=0.0)


class ManualClock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self.naps: list[float] = []

    def now(self) -> Moment:
        return Moment(wall=START + timedelta(seconds=self.elapsed_s), mono=self.elapsed_s)

    async def sleep(self, delay_s: float) -> None:
        self.naps.append(delay_s)
        self.elapsed_s += delay_s
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: Any


class Server:
    """Each request gets the next of ``answers``, or the ``otherwise`` that stays."""

    def __init__(self, *answers: Handler, tls: ssl.SSLContext | None = None) -> None:
        self.answers = deque(answers)
        self.otherwise: Handler = says(500, b"the test has no answer left")
        self.seen: list[Seen] = []
        self.port = 0
        self._tls = tls
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; again on the same port after a stop."""
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # Who still waits for an answer then is cut off; 0 would mean to wait for ever.
        self._runner = web.AppRunner(app, shutdown_timeout=0.01)
        await self._runner.setup()
        site = web.TCPSite(
            self._runner, "127.0.0.1", self.port, ssl_context=self._tls, reuse_address=True
        )
        await site.start()
        self.port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Cut every connection and listen no more."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.read()
        self.seen.append(
            Seen(
                method=request.method,
                path=request.path,
                query=dict(request.query),
                headers=request.headers,
                body=json.loads(text) if text else None,
            )
        )
        answer = self.answers.popleft() if self.answers else self.otherwise
        return await answer(request)

    def api(
        self,
        *,
        clock: ManualClock | None = None,
        settings: ClientSettings = ClientSettings(),
        path: str = "",
        **config: Any,
    ) -> KubeApi:
        """A client of this server."""
        return KubeApi(
            Config(server=self.url + path, **config),
            clock=clock or ManualClock(),
            random=Random(1),
            settings=settings,
        )


# ---------------------------------------------------------------------------------------- answers


def says(
    code: int,
    body: bytes | Mapping[str, Any] = b"",
    *,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Handler:
    """A whole answer."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=code, body=text, content_type=content_type, headers=headers)

    return answer


def status(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    """A Status as the API server writes it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": code,
    }


def refuses(code: int, reason: str, message: str = "no", **details: Any) -> Handler:
    """An answer with a Status."""
    return says(code, status(code, reason, message, **details))


def sends(*chunks: bytes, then: str = "end", length: int | None = None, code: int = 200) -> Handler:
    """A body in pieces; ``then`` it ends, is cut ("cut"), or goes silent ("hang")."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=code, headers={"Content-Type": "application/json"})
        if length is not None:
            response.content_length = length
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)  # so that pieces arrive as such
        if then == "hang":
            await _forever()
        if then == "cut":
            _cut(request)
        return response

    return answer


def cuts() -> Handler:
    """No answer: the connection is reset."""

    async def answer(request: web.Request) -> web.StreamResponse:
        _cut(request)
        return web.Response()

    return answer


def hangs() -> Handler:
    """No answer, ever."""

    async def answer(_: web.Request) -> web.StreamResponse:
        await _forever()
        return web.Response()

    return answer


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


async def _forever() -> None:
    await asyncio.Event().wait()


# ---------------------------------------------------------------------------------------- objects


def node(name: str, version: str = "1", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": version,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": spec,
        "status": {},
    }


def listing(*items: Any, version: str = "9", **meta: Any) -> dict[str, Any]:
    return {
        "kind": "List",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": version, **meta},
        "items": list(items),
    }


def event(kind: str, obj: Any) -> bytes:
    """One line of a watch."""
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"
