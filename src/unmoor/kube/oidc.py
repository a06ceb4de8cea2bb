"""How is an id token renewed? Its issuer gives another one for the refresh token.

An issuer may give a new refresh token with it and take the old one back. Therefore the new ones
are written to where the old ones stand, as kubectl does, and looked for there before we ask:
kubectl may have been first.

Must not: decide when to renew.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote_plus, urlsplit

import aiohttp
import msgspec
import structlog

from unmoor.kube import token_store
from unmoor.kube.auth import AuthError, Oidc, is_token
from unmoor.kube.connection import UNTIMED, beginning
from unmoor.kube.refusal import ConfigError
from unmoor.kube.renewal import Grant, Proof
from unmoor.kube.rotating import Rotating
from unmoor.kube.secret import Secret
from unmoor.kube.tls import is_authority, trusting
from unmoor.runtime.ports import Clock

TIMEOUT_S = 30.0
_AGAIN = "log in again with the tool that wrote the tokens"

_log = structlog.get_logger()


class _Claims(msgspec.Struct, frozen=True):
    exp: float


class _Metadata(msgspec.Struct, frozen=True):
    token_endpoint: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Tokens(msgspec.Struct, frozen=True):
    id_token: str = ""
    refresh_token: str = ""


class _Problem(msgspec.Struct, frozen=True):
    error: str = ""


def expiry_of(token: Secret) -> datetime | None:
    """When an id token expires; None when it is none."""
    parts = token.reveal().split(".")
    if len(parts) != 3:  # noqa: PLR2004
        return None
    padded = parts[1] + "=" * (-len(parts[1]) % 4)
    try:
        claims = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Claims)
        return datetime.fromtimestamp(claims.exp, UTC)
    except (msgspec.DecodeError, binascii.Error, ValueError, OverflowError, OSError):
        return None


class Issuer:
    """The tokens of one user, and their renewal."""

    def __init__(self, auth: Oidc, clock: Clock) -> None:
        """Nothing is asked yet."""
        self._auth = auth
        self._clock = clock
        self._id_token = auth.id_token
        self._refresh_token = auth.refresh_token
        self._seen = auth.id_token, auth.refresh_token  # what the file said when we last looked
        self._authority = Rotating(
            [auth.authority],
            [auth.authority_file] if auth.authority_file else [],
            clock,
            lambda texts: is_authority(texts[0]),
        )

    def first(self) -> Grant | None:
        """What there is without asking."""
        return _grant(self._id_token) if self._id_token else None

    async def renewed(self) -> Grant:
        """Another id token. Raises AuthError."""
        if (grant := self._found()) is not None:
            return grant
        if not self._refresh_token:
            raise self._failure("id-token has expired, and there is no refresh-token", _AGAIN)
        tokens = await self._asked()
        if not is_token(tokens.id_token) or (grant := _grant(Secret(tokens.id_token))) is None:
            raise self._failure(
                f"{self._auth.issuer} renewed no id token",
                "log in with the scope openid, or use an exec plugin for this issuer",
            )
        self._keep(tokens)
        return grant

    # ------------------------------------------------------------------------------------ the file

    def _found(self) -> Grant | None:
        """What somebody else has renewed meanwhile."""
        if self._auth.file is None:
            return None
        found = token_store.read(self._auth.file, self._auth.user)
        tokens = Secret(found.get("id-token", "")), Secret(found.get("refresh-token", ""))
        if not any(tokens) or tokens == self._seen:
            return None  # perhaps ours are newer, and could not be written
        self._seen = tokens
        self._refresh_token = tokens[1] or self._refresh_token
        grant = _grant(tokens[0])
        if grant is None or grant.expires_at is None or grant.expires_at <= self._clock.now().wall:
            return None
        self._id_token = tokens[0]
        return grant

    def _keep(self, tokens: _Tokens) -> None:
        self._id_token = Secret(tokens.id_token)
        self._refresh_token = Secret(tokens.refresh_token) or self._refresh_token
        if self._auth.file is None:
            return
        problem = token_store.write(
            self._auth.file,
            self._auth.user,
            {"id-token": self._id_token, "refresh-token": self._refresh_token},
        )
        if not problem:
            self._seen = self._id_token, self._refresh_token
            return
        _log.warning(
            "renewed tokens were not written to the kubeconfig",
            file=str(self._auth.file),
            user=self._auth.user,
            problem=problem,
        )

    # ---------------------------------------------------------------------------------- the issuer

    async def _asked(self) -> _Tokens:
        auth = self._auth
        try:
            context = trusting(self._authority.texts()[0], auth.origin, "idp-certificate-authority")
            connector = aiohttp.TCPConnector(ssl=context)
            async with aiohttp.ClientSession(connector=connector, timeout=UNTIMED) as session:
                about = await self._metadata(session)
                return await self._refreshed(session, about)
        except ConfigError as error:
            raise AuthError(str(error)) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._failure(
                f"{auth.issuer} cannot be reached: {type(error).__name__}: {error}",
                "check idp-issuer-url and idp-certificate-authority",
            ) from None

    async def _metadata(self, session: aiohttp.ClientSession) -> _Metadata:
        url = self._auth.issuer.rstrip("/") + "/.well-known/openid-configuration"
        way = self._way({})
        async with (
            asyncio.timeout(TIMEOUT_S),
            session.get(url, allow_redirects=False, **way) as response,
        ):
            body = await beginning(response)
            if response.status != 200:  # noqa: PLR2004
                raise self._failure(f"{url} answers {response.status}", "check idp-issuer-url")
        try:
            about = msgspec.json.decode(body, type=_Metadata)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._failure(f"{url} names no token_endpoint", "check idp-issuer-url") from None
        if urlsplit(about.token_endpoint).scheme != "https":
            raise self._failure(
                f"{url} names a token_endpoint that is not https",
                "a refresh token is not sent in the clear; mend the issuer",
            )
        return about

    async def _refreshed(self, session: aiohttp.ClientSession, about: _Metadata) -> _Tokens:
        form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token.reveal()}
        way = self._way(self._login(form, about))
        url = about.token_endpoint
        async with (
            asyncio.timeout(TIMEOUT_S),
            session.post(url, data=form, allow_redirects=False, **way) as response,
        ):
            body = await beginning(response)
            if response.status != 200:  # noqa: PLR2004
                raise self._failure(f"{url} answers {response.status}{_why(body)}", _AGAIN)
        try:
            return msgspec.json.decode(body, type=_Tokens)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._failure(f"{url} does not answer as an issuer", "check it") from None

    def _login(self, form: dict[str, str], about: _Metadata) -> Mapping[str, str]:
        """How the client itself logs in: by a header, unless the issuer wants it in the form."""
        name, secret = self._auth.client_id, self._auth.client_secret.reveal()
        if secret and "client_secret_basic" in about.token_endpoint_auth_methods_supported:
            pair = f"{quote_plus(name)}:{quote_plus(secret)}"
            return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
        form["client_id"] = name
        if secret:
            form["client_secret"] = secret
        return {}

    def _way(self, headers: Mapping[str, str]) -> dict[str, Any]:
        proxy = self._auth.proxy
        return proxy.options("https:", headers) if proxy else {"headers": headers}

    def _failure(self, problem: str, remedy: str) -> AuthError:
        return AuthError(f"{self._auth.origin}: auth-provider: {problem}; {remedy}")


def _grant(token: Secret) -> Grant | None:
    expires_at = expiry_of(token)
    if expires_at is None:
        return None
    return Grant(proof=Proof(header=Secret(f"Bearer {token.reveal()}")), expires_at=expires_at)


def _why(body: bytes) -> str:
    """The code of an OAuth error; its description may quote what we sent."""
    try:
        error = msgspec.json.decode(body, type=_Problem).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    is_code = len(error) < 40 and error.replace("_", "").isalpha()  # noqa: PLR2004
    return f" ({error})" if is_code else ""
