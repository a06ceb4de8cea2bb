"""How is the embedded API server reached? By HTTPS, with a token, on a port of this machine.

Every answer but a stream is made at once: a request sees the server as it is, and is carried out
whole or not at all. Nothing that a client sends is an error of ours; what cannot be served gets a
Status that says why.

Must not: play anybody, or let time pass.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import ssl
from contextlib import suppress
from typing import Any, Self

import msgspec
import structlog
from aiohttp import web

from unmoor.model.base import JSON
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import ApiError, Clock
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.server import Server
from unmoor.sim.direct import send_bookmarks
from unmoor.sim.http import answers, certificates
from unmoor.sim.http.certificates import Certificates
from unmoor.sim.http.front import After, Front, Gate, open_gate, tell_nobody
from unmoor.sim.http.reviews import User
from unmoor.sim.http.target import segments

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "unmoor",
    "platform": "python",
}
HEALTH = ("healthz", "livez", "readyz")
LINE_LIMIT_BYTES = 64 * 1024
CONTEXT = "unmoor-sim"
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a client asks instead
STOP_S = 0.2
"""Who still waits for an answer when the face stops is cut off after this time."""
IDLE_S = 3600.0
HANDSHAKE_S = 60.0
GOODBYE_S = 5.0
"""How long clients may be silent, take for TLS, and take to end it."""

_log = structlog.get_logger()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how to listen. ``port`` 0: any that is free. ``token`` "": one is made."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    names: tuple[str, ...] = ("localhost", "kubernetes.default.svc")
    """More names that the certificate is good for."""
    pace: float = 1.0
    """Seconds of the event loop in one of the clients', who must not suffer for its speed."""


class HttpFace:
    """A port before a server. Enter it as a context, or call ``start`` and ``stop``.

    ``gate`` is asked before each request about objects; it may raise ApiError, or wait. ``after``
    hears of each write that was carried out or refused.
    """

    def __init__(
        self,
        server: Server,
        *,
        clock: Clock | None = None,
        gate: Gate = open_gate,
        after: After = tell_nobody,
        settings: Settings = Settings(),
    ) -> None:
        """Make the certificates; nothing listens yet. ``clock``: the time of clients."""
        self._server, self._settings = server, settings
        self._clock = clock or SystemClock()
        self.token = settings.token or secrets.token_urlsafe(24)
        self._host = EVERYWHERE.get(settings.host, settings.host)
        names = tuple(dict.fromkeys((settings.host, self._host, *settings.names)))
        self._certificates: Certificates = certificates.make(names, self._clock.now().wall)
        self.port = settings.port
        self._front = Front(server, gate, after, pace=settings.pace)
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self._bookmarks: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where a client on this machine reaches it."""
        host = self._host
        return f"https://[{host}]:{self.port}" if ":" in host else f"https://{host}:{self.port}"

    @property
    def ca_pem(self) -> str:
        """The authority that vouches for it."""
        return self._certificates.ca_pem

    def kubeconfig(self) -> JSON:
        """What a client needs, as a kubeconfig with nothing beside it."""
        cluster = {"server": self.url, "certificate-authority-data": _base64(self.ca_pem)}
        client = self._certificates.client
        by_certificate = {
            "client-certificate-data": _base64(client.certificate),
            "client-key-data": _base64(client.key),
        }
        users = {CONTEXT: {"token": self.token}, f"{CONTEXT}-certificate": by_certificate}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": CONTEXT, "cluster": cluster}],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [
                {"name": name, "context": {"cluster": CONTEXT, "user": name}} for name in users
            ],
            "current-context": CONTEXT,
        }

    async def __aenter__(self) -> Self:
        """Listen."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Listen no more."""
        await self.stop()

    async def start(self) -> None:
        """Listen; raises OSError when the port is taken."""
        pace = self._settings.pace
        app = web.Application()
        app.router.add_route("*", r"/{path:[\s\S]*}", self._answer)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            auto_decompress=False,
            keepalive_timeout=IDLE_S * pace,
            shutdown_timeout=STOP_S,
            max_line_size=LINE_LIMIT_BYTES,
            max_field_size=LINE_LIMIT_BYTES,
        )
        await self._runner.setup()
        protocols: Any = self._runner.server
        self._listener = await asyncio.get_running_loop().create_server(
            protocols,
            self._settings.host,
            self.port,
            ssl=self._certificates.context(),
            ssl_handshake_timeout=HANDSHAKE_S * pace,
            ssl_shutdown_timeout=GOODBYE_S * pace,
        )
        self.port = int(self._listener.sockets[0].getsockname()[1])
        self._bookmarks = asyncio.create_task(send_bookmarks(self._server, self._clock))

    async def stop(self) -> None:
        """End every watch and listen no more."""
        if self._bookmarks is not None:
            self._bookmarks.cancel()
            with suppress(asyncio.CancelledError):
                await self._bookmarks
            self._bookmarks = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    # ----------------------------------------------------------------------------------- answering

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._served(request)
        except ApiError as error:
            return answers.refusal(error)
        except ConnectionError:
            raise
        except Exception:  # noqa: BLE001 - a bug of ours must not look like a cut wire
            _log.exception("request failed", method=request.method, path=request.path)
            text = "the simulated API server failed to answer; this is a bug of it"
            return answers.refusal(status.failure(500, "InternalError", text))

    async def _served(self, request: web.Request) -> web.StreamResponse:
        parts = segments(request.raw_path)
        if parts[0] == "version":
            return answers.response(VERSION)
        if parts[0] in HEALTH:
            return web.Response(text="ok")
        self._authenticate(request)
        return await self._front.answer(request, parts, _user(request))

    def _authenticate(self, request: web.Request) -> None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given, wanted = token.strip().encode(errors="replace"), self.token.encode()
            if hmac.compare_digest(given, wanted):
                return
        elif not scheme and _peer(request):
            return
        raise status.failure(401, "Unauthorized", "Unauthorized")


def _user(request: web.Request) -> User:
    """Whom the client wants to be: the administrator, or whom that one impersonates."""
    name = request.headers.get("Impersonate-User", "")
    if not name:
        return User(certificates.ADMIN)
    groups = request.headers.getall("Impersonate-Group", [])
    return User(name, (*groups, "system:authenticated"))


def _peer(request: web.Request) -> Any:
    """The client's certificate, which our authority has signed; None when it showed none."""
    transport = request.transport
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object") if transport else None
    return tls.getpeercert() if tls is not None else None


def _base64(text: str) -> str:
    import base64  # noqa: PLC0415 - one line, once

    return base64.b64encode(text.encode()).decode()
