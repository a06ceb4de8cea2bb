"""Whom do we trust, and how do we prove who we are? The TLS context for one API server.

Client keys never touch a disk that they do not come from: Python's ssl loads a key from a path
only, so an inline key goes through an anonymous file in memory.

Must not: connect.
"""

from __future__ import annotations

import os
import ssl

from unmoor.kube.access import Config, ConfigError


def context_of(config: Config) -> ssl.SSLContext | None:
    """The context for ``config``, None for plain HTTP. Raises ConfigError."""
    if not config.server.startswith("https:"):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Many clusters' authorities lack the extensions that Python 3.13 and later insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if config.is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif config.authority:
        _trust(context, config)
    else:
        context.load_default_certs()
    if config.certificate:
        _present(context, config)
    return context


def _trust(context: ssl.SSLContext, config: Config) -> None:
    try:
        context.load_verify_locations(cadata=config.authority)
    except (ssl.SSLError, ValueError):
        raise ConfigError(
            config.origin,
            "certificate-authority",
            "it holds no certificate that can be read",
            "give PEM: lines between BEGIN CERTIFICATE and END CERTIFICATE",
        ) from None


def _present(context: ssl.SSLContext, config: Config) -> None:
    def refuse_to_ask() -> bytes:
        raise ConfigError(
            config.origin,
            "client-key",
            "it is protected by a passphrase, and nobody is here to type it",
            "remove the passphrase: openssl pkey -in old.key -out new.key",
        )

    certificate, key = _memory_file(config.certificate), _memory_file(config.key.reveal())
    try:
        context.load_cert_chain(
            f"/proc/self/fd/{certificate}", f"/proc/self/fd/{key}", password=refuse_to_ask
        )
    except ssl.SSLError as error:
        raise ConfigError(
            config.origin,
            "client-certificate",
            f"certificate and key do not make a pair ({error.reason or 'not PEM'})",
            "give both in PEM, and the key that the certificate was made for",
        ) from None
    finally:
        os.close(certificate)
        os.close(key)


def _memory_file(text: str) -> int:
    descriptor = os.memfd_create("unmoor-tls", os.MFD_CLOEXEC)
    with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
        file.write(text)
    return descriptor
