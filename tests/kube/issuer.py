"""An OpenID Connect issuer: what a client that refreshes and a server that verifies need of one."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.kube.authority import Authority

CLIENT_ID, CLIENT_SECRET = "unmoor-tests", "client:s3cret"


def now() -> datetime:
    """Who verifies has a real clock, too."""
    return datetime.now(UTC)  # noqa: TID251


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """Gives a new id token for each refresh token that it gave before, once.

    ``lifetime_s``: of the id tokens it gives. ``rotates``: a refresh token is good for one use.
    """

    def __init__(self, directory: Path) -> None:
        self.authority = Authority("issuers")
        identity = self.authority.issue("issuer", x509.IPAddress(ip_address("127.0.0.1")))
        chain = directory / "issuer.pem"
        chain.write_text(identity.certificate + identity.key)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(chain)
        self._key = rsa.generate_private_key(65537, 2048)
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.now = now
        self.lifetime_s = 600
        self.rotates = True
        self.methods = ["client_secret_basic"]
        self.valid = {"refresh-0"}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.override: web.Response | None = None
        self.metadata: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def refreshes(self) -> int:
        """How often somebody came for another token."""
        return len(self.requests)

    def id_token(self, expires_in_s: float, **claims: Any) -> str:
        """A signed token."""
        at = self.now().timestamp()
        payload = {
            "iss": self.url,
            "sub": "ann",
            "aud": CLIENT_ID,
            "iat": int(min(at, at + expires_in_s - 1)),
            "exp": int(at + expires_in_s),
        } | claims
        header = {"alg": "RS256", "kid": "k1", "typ": "JWT"}
        signed = ".".join(encoded(json.dumps(part).encode()) for part in (header, payload))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{encoded(signature)}"

    def user(self, id_token: str = "", **more: str) -> Any:
        """The user of a kubeconfig who logged in here."""
        authority = base64.b64encode(self.authority.certificate.encode()).decode()
        config = {
            "idp-issuer-url": self.url,
            "client-id": CLIENT_ID,
            "client-secret": CLIENT_SECRET,
            "idp-certificate-authority-data": authority,
            "id-token": id_token,
            "refresh-token": "refresh-0",
        } | {key.replace("_", "-"): value for key, value in more.items()}
        return {"auth-provider": {"name": "oidc", "config": config}}

    # --------------------------------------------------------------------------------- the server

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._discovery)
        app.router.add_get("/keys", self._keys)
        app.router.add_post("/token", self._token)
        self._runner = web.AppRunner(app, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._tls).start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @contextmanager
    def in_a_thread(self) -> Iterator[Self]:
        """For tests that have no event loop of their own for it."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result(30)
            yield self
            asyncio.run_coroutine_threadsafe(self.__aexit__(), loop).result(30)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(30)
            loop.close()

    async def _discovery(self, _: web.Request) -> web.Response:
        about = {
            "issuer": self.url,
            "token_endpoint": f"{self.url}/token",
            "authorization_endpoint": f"{self.url}/login",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": self.methods,
        }
        return web.json_response(about | self.metadata)

    async def _keys(self, _: web.Request) -> web.Response:
        public = self._key.public_key().public_numbers()
        numbers = {
            name: encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
            for name, value in (("n", public.n), ("e", public.e))
        }
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1"} | numbers
        return web.json_response({"keys": [key]})

    async def _token(self, request: web.Request) -> web.Response:
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.requests.append((request.headers.get("Authorization", ""), form))
        if self.override is not None:
            return self.override
        token = form.get("refresh_token", "")
        if form.get("grant_type") != "refresh_token" or token not in self.valid:
            problem = {"error": "invalid_grant", "error_description": f"{token} is not known"}
            return web.json_response(problem, status=400)
        answer = {"id_token": self.id_token(self.lifetime_s), "token_type": "Bearer"}
        answer["access_token"] = "not-for-us"
        answer["refresh_token"] = token
        if self.rotates:
            answer["refresh_token"] = f"refresh-{self.refreshes}"
            self.valid = {answer["refresh_token"]}
        return web.json_response(answer)
