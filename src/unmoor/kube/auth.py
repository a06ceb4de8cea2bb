"""Who are we? Credentials as values, and the one object that turns them into a header.

A token in a file rotates (the kubelet renews a service account's token long before it expires), so
it is read again from time to time, and at once when the server refuses the last one.

Secrets are wrapped: they appear in no repr, no log and no error text.

Must not: know kubeconfig files, or speak to anybody.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Protocol, TypeAlias, assert_never

import msgspec

from unmoor.runtime.ports import Clock

REREAD_AFTER_S = 60.0
"""A token file is read again when the last reading is older; it is small and local."""


class Secret:
    """A text that nobody sees by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Wrap a secret as soon as it is read."""
        self._text = text

    def reveal(self) -> str:
        """The secret itself; only where it goes to the server."""
        return self._text

    def __repr__(self) -> str:
        """What logs and errors show."""
        return "<secret>"

    def __eq__(self, other: object) -> bool:
        """Two secrets are equal when their texts are."""
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        """Equal secrets have equal hashes."""
        return hash(self._text)


class AuthError(Exception):
    """Credentials that cannot be had, in words a person can act on and without the secret."""


class Anonymous(msgspec.Struct, frozen=True):
    """No header: a client certificate, or nobody."""


class Token(msgspec.Struct, frozen=True):
    """A bearer token that stays."""

    token: Secret


class TokenFile(msgspec.Struct, frozen=True):
    """A bearer token that rotates in a file."""

    path: Path


class Basic(msgspec.Struct, frozen=True):
    """Name and password, for a proxy in front of the API server; it takes none itself."""

    username: str
    password: Secret


Auth: TypeAlias = Anonymous | Token | TokenFile | Basic


class Credentials(Protocol):
    """What the client asks before each request."""

    async def header(self) -> str:
        """The Authorization header, "" for none. Raises AuthError."""
        ...

    async def renew(self, rejected: str) -> bool:
        """Read again after the server has refused ``rejected``; True when there is another one."""
        ...


def credentials(auth: Auth, clock: Clock) -> Credentials:
    """The credentials of an identity."""
    match auth:
        case Anonymous():
            return _Fixed("")
        case Token():
            return _Fixed(f"Bearer {auth.token.reveal()}")
        case Basic():
            pair = f"{auth.username}:{auth.password.reveal()}"
            return _Fixed("Basic " + base64.b64encode(pair.encode()).decode())
        case TokenFile():
            return _FromFile(auth.path, clock)
        case never:
            assert_never(never)


class _Fixed:
    """A header that never changes."""

    def __init__(self, header: str) -> None:
        self._header = header

    async def header(self) -> str:
        return self._header

    async def renew(self, rejected: str) -> bool:
        return rejected != self._header


class _FromFile:
    """A bearer token from a file; the last good one serves while the file cannot be read."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._header = ""
        self._read_at_s: float | None = None

    async def header(self) -> str:
        now_s = self._clock.now().mono
        if self._read_at_s is None or now_s - self._read_at_s >= REREAD_AFTER_S:
            self._read()
            self._read_at_s = now_s
        return self._header

    async def renew(self, rejected: str) -> bool:
        self._read()
        self._read_at_s = self._clock.now().mono
        return self._header != rejected

    def _read(self) -> None:
        try:
            self._header = f"Bearer {read_token(self._path)}"
        except AuthError:
            if not self._header:
                raise


def read_token(path: Path) -> str:
    """The token in a file. Raises AuthError that names the file and the remedy."""
    try:
        token = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise AuthError(
            f"token file {path}: {error.strerror}: check the path and its mode"
        ) from None
    except UnicodeDecodeError:
        raise AuthError(f"token file {path}: not a token: it is not plain text") from None
    if not token:
        raise AuthError(f"token file {path}: it is empty: write a token into it")
    if not token.isprintable() or " " in token:
        raise AuthError(f"token file {path}: not a token: it has spaces or line breaks inside")
    return token
