"""Who are we? Identities as values, as a configuration names them.

Secrets are wrapped: they appear in no repr, no log and no error text.

Must not: know kubeconfig files, or speak to anybody. :mod:`unmoor.kube.credentials` turns an
identity into what a request carries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from unmoor.kube.proxy import Proxy
from unmoor.kube.rotating import read_small
from unmoor.kube.secret import Secret

__all__ = [
    "Anonymous",
    "Auth",
    "AuthError",
    "Basic",
    "Exec",
    "InteractiveMode",
    "Oidc",
    "Secret",
    "Token",
    "TokenFile",
    "is_token",
    "read_token",
]

InteractiveMode: TypeAlias = Literal["Never", "IfAvailable", "Always"]


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


class Exec(msgspec.Struct, frozen=True, kw_only=True):
    """A program that is asked for credentials.

    ``origin``: the file, context and user that name it, for error texts. ``cluster``: JSON about
    the cluster that the program gets to see, "" for none. Arguments and environment often hold
    secrets.
    """

    origin: str
    command: str
    api_version: str
    arguments: tuple[Secret, ...] = ()
    environment: tuple[tuple[str, Secret], ...] = ()
    interactive: InteractiveMode = "IfAvailable"
    hint: str = ""
    cluster: Secret = Secret("")


class Oidc(msgspec.Struct, frozen=True, kw_only=True):
    """An id token of an OpenID Connect issuer, which the issuer renews for a refresh token.

    ``file`` and ``user``: where the tokens stand. Others may renew them there, and so do we.
    ``authority``: PEM; ``authority_file`` is read again. Neither means what the system trusts.
    """

    origin: str
    issuer: str
    client_id: str
    client_secret: Secret = Secret("")
    id_token: Secret = Secret("")
    refresh_token: Secret = Secret("")
    authority: str = ""
    authority_file: Path | None = None
    proxy: Proxy | None = None
    file: Path | None = None
    user: str = ""


Auth: TypeAlias = Anonymous | Token | TokenFile | Basic | Exec | Oidc


def is_token(text: str) -> bool:
    """It can stand in a header after ``Bearer``."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def read_token(path: Path) -> str:
    """The token in a file. Raises AuthError that names the file and the remedy."""
    try:
        token = read_small(path, "ascii").strip()
    except OSError as error:
        raise AuthError(
            f"token file {path}: {error.strerror}: check the path and its mode"
        ) from None
    except UnicodeDecodeError:
        raise AuthError(f"token file {path}: not a token: it is not plain text") from None
    if not token:
        raise AuthError(f"token file {path}: it is empty: write a token into it")
    if not is_token(token):
        raise AuthError(f"token file {path}: not a token: it has spaces or line breaks inside")
    return token
