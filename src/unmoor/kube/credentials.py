"""What does a request carry to prove who we are, at this moment?

Everything that proves an identity ends some day: a token in a file rotates, a program's answer
expires, an id token wants to be renewed, a certificate is replaced. So the client asks before each
request, and once more when the server has refused what it was given.

Must not: know kubeconfig files or the API server.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Mapping
from typing import Protocol, assert_never

from unmoor.kube import oidc, plugin
from unmoor.kube.access import Config
from unmoor.kube.auth import (
    Anonymous,
    Auth,
    AuthError,
    Basic,
    Exec,
    Oidc,
    Token,
    TokenFile,
    read_token,
)
from unmoor.kube.renewal import Proof, Renewal
from unmoor.kube.rotating import REREAD_AFTER_S, Rotating
from unmoor.kube.secret import Secret
from unmoor.kube.tls import is_pair
from unmoor.runtime.ports import Clock


class Credentials(Protocol):
    """What the client asks before each request."""

    async def proof(self) -> Proof:
        """What the request carries. Raises AuthError."""
        ...

    async def renew(self, rejected: Proof) -> bool:
        """Look again after the server has refused ``rejected``; True when there is another one."""
        ...

    async def close(self) -> None:
        """Give up what is under way."""
        ...


def credentials(
    config: Config, clock: Clock, environ: Mapping[str, str] = os.environ
) -> Credentials:
    """The credentials of a configuration. ``environ``: what a program inherits."""
    bearer = _bearer(config.auth, clock, environ)
    return _WithCertificate(bearer, config, clock) if config.certificate else bearer


def _bearer(auth: Auth, clock: Clock, environ: Mapping[str, str]) -> Credentials:
    match auth:
        case Anonymous():
            return _Fixed("")
        case Token():
            return _Fixed(f"Bearer {auth.token.reveal()}")
        case Basic():
            pair = f"{auth.username}:{auth.password.reveal()}"
            return _Fixed("Basic " + base64.b64encode(pair.encode()).decode())
        case TokenFile():
            return _FromFile(auth, clock)
        case Exec():
            return Renewal(plugin.source(auth, environ, _is_terminal), clock)
        case Oidc():
            issuer = oidc.Issuer(auth, clock)
            return Renewal(issuer.renewed, clock, issuer.first())
        case never:
            assert_never(never)


def _is_terminal() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


class _Fixed:
    """A header that never changes."""

    def __init__(self, header: str) -> None:
        self._proof = Proof(header=Secret(header))

    async def proof(self) -> Proof:
        return self._proof

    async def renew(self, rejected: Proof) -> bool:
        return rejected != self._proof

    async def close(self) -> None:
        pass


class _FromFile:
    """A bearer token from a file; the last good one serves while the file cannot be read."""

    def __init__(self, auth: TokenFile, clock: Clock) -> None:
        self._path = auth.path
        self._clock = clock
        self._proof: Proof | None = None
        self._read_at_s = 0.0

    async def proof(self) -> Proof:
        age_s = self._clock.now().mono - self._read_at_s
        if self._proof is None or age_s >= REREAD_AFTER_S:
            return self._read()
        return self._proof

    async def renew(self, rejected: Proof) -> bool:
        return self._read() != rejected

    async def close(self) -> None:
        pass

    def _read(self) -> Proof:
        self._read_at_s = self._clock.now().mono
        try:
            self._proof = Proof(header=Secret(f"Bearer {read_token(self._path)}"))
        except AuthError:
            if self._proof is None:
                raise
        return self._proof


class _WithCertificate:
    """A client certificate beside what the other credentials give."""

    def __init__(self, bearer: Credentials, config: Config, clock: Clock) -> None:
        files = [path for path in (config.certificate_file, config.key_file) if path]
        # A pair of which only one half has a file cannot rotate.
        self._bearer = bearer
        self._pair = Rotating(
            (config.certificate, config.key.reveal()),
            files if len(files) == 2 else (),  # noqa: PLR2004
            clock,
            lambda texts: is_pair(texts[0], Secret(texts[1])),
        )

    async def proof(self) -> Proof:
        proof = await self._bearer.proof()
        certificate, key = self._pair.texts()
        return Proof(header=proof.header, certificate=certificate, key=Secret(key))

    async def renew(self, rejected: Proof) -> bool:
        self._pair.read()
        await self._bearer.renew(Proof(header=rejected.header))
        return await self.proof() != rejected

    async def close(self) -> None:
        await self._bearer.close()
