"""Whom do we trust, and how do we prove who we are? TLS contexts for one API server.

Client keys never touch a disk that they do not come from: Python's ssl loads a key from a path
only, so an inline key goes through an anonymous file in memory.

Must not: connect.
"""

from __future__ import annotations

import os
import ssl

from unmoor.kube.access import Config
from unmoor.kube.refusal import ConfigError
from unmoor.kube.rotating import Rotating
from unmoor.kube.secret import Secret
from unmoor.runtime.ports import Clock

PEM_REMEDY = "give PEM: lines between BEGIN CERTIFICATE and END CERTIFICATE"


class Contexts:
    """The TLS context of each request: another one only when something has rotated.

    Connections are pooled by context, so whoever gets another one also gets a new connection, and
    one that is in use stays as it is.
    """

    def __init__(self, config: Config, clock: Clock) -> None:
        """Check what the configuration holds. Raises ConfigError."""
        self._config = config
        self._authority = Rotating(
            [config.authority],
            [config.authority_file] if config.authority_file else [],
            clock,
            lambda texts: is_authority(texts[0]),
        )
        self._made: tuple[tuple[str, str, Secret], ssl.SSLContext] | None = None
        self.of(config.certificate, config.key)

    def of(self, certificate: str, key: Secret) -> ssl.SSLContext | None:
        """The context for an identity, None for plain HTTP. Raises ConfigError."""
        config = self._config
        if not config.server.startswith("https:"):
            return None
        wanted = (self._authority.texts()[0], certificate, key)
        if self._made is None or self._made[0] != wanted:
            if config.is_insecure:
                context = _bare()
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            else:
                context = trusting(wanted[0], config.origin)
            if certificate:
                present(context, certificate, key, config.origin)
            self._made = wanted, context
        return self._made[1]


def trusting(authority: str, origin: str, field: str = "certificate-authority") -> ssl.SSLContext:
    """A context that trusts ``authority``, "" for what the system trusts. Raises ConfigError."""
    context = _bare()
    if not authority:
        context.load_default_certs()
        return context
    try:
        # Bundles have comments, and people's names in them; ssl wants ASCII.
        context.load_verify_locations(cadata=authority.encode("ascii", "ignore").decode())
    except (ssl.SSLError, ValueError):
        raise ConfigError(
            origin, field, "it holds no certificate that can be read", PEM_REMEDY
        ) from None
    return context


def present(context: ssl.SSLContext, certificate: str, key: Secret, origin: str) -> None:
    """Let the context prove who we are. Raises ConfigError."""

    def refuse_to_ask() -> bytes:
        raise ConfigError(
            origin,
            "client-key",
            "it is protected by a passphrase, and nobody is here to type it",
            "remove the passphrase: openssl pkey -in old.key -out new.key",
        )

    chain, private = _memory_file(certificate), _memory_file(key.reveal())
    try:
        context.load_cert_chain(
            f"/proc/self/fd/{chain}", f"/proc/self/fd/{private}", password=refuse_to_ask
        )
    except ssl.SSLError as error:
        raise ConfigError(
            origin,
            "client-certificate",
            f"certificate and key do not make a pair ({error.reason or 'not PEM'})",
            "give both in PEM, and the key that the certificate was made for",
        ) from None
    finally:
        os.close(chain)
        os.close(private)


def is_authority(text: str) -> bool:
    """It holds certificates that can be trusted."""
    try:
        trusting(text, "")
    except ConfigError:
        return False
    return bool(text)


def is_pair(certificate: str, key: Secret) -> bool:
    """They can be presented together."""
    try:
        present(_bare(), certificate, key, "")
    except ConfigError:
        return False
    return True


def _bare() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Many clusters' authorities lack the extensions that Python 3.13 and later insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _memory_file(text: str) -> int:
    descriptor = os.memfd_create("unmoor-tls", os.MFD_CLOEXEC)
    with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
        file.write(text)
    return descriptor
