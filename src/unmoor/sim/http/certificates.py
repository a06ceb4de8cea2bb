"""Who are we, to a client that looks at certificates? An authority made at start, and its word.

Nothing is written anywhere but to a directory that is gone when the server listens; the keys die
with the process.

Must not: be imported where nobody serves; ``cryptography`` is slow to load.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

VALID = timedelta(days=3650)
ADMIN = "unmoor-admin"
ADMIN_GROUP = "system:masters"


class Pair(msgspec.Struct, frozen=True):
    """A certificate and its key, in PEM."""

    certificate: str
    key: str


class Certificates(msgspec.Struct, frozen=True):
    """The authority's certificate, the server's pair, and one for an administrator."""

    ca_pem: str
    server: Pair
    client: Pair

    def context(self) -> ssl.SSLContext:
        """TLS as the server speaks it; a client may show a certificate and need not."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=self.ca_pem)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.TemporaryDirectory(prefix="unmoor-") as directory:
            pem = Path(directory) / "server.pem"
            pem.touch(mode=0o600)
            pem.write_text(self.server.certificate + self.server.key, encoding="ascii")
            context.load_cert_chain(pem)
        return context


def make(hosts: tuple[str, ...], now: datetime) -> Certificates:
    """Make an authority, a certificate for these hosts and one for the administrator."""
    from cryptography import x509  # noqa: PLC0415 - heavy
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    ca_key = ec.generate_private_key(ec.SECP256R1())
    authority = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "unmoor simulation")])
    signs = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    is_ca = x509.BasicConstraints(ca=True, path_length=0)
    signer = _Signer(authority, ca_key, now)
    ca = signer.certificate(authority, ca_key.public_key(), ((is_ca, True), (signs, True)))
    names = x509.SubjectAlternativeName([_host(host) for host in hosts])
    server = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    admin = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ADMIN_GROUP),
            x509.NameAttribute(NameOID.COMMON_NAME, ADMIN),
        ]
    )
    return Certificates(_pem(ca), signer.pair(server, ((names, False),)), signer.pair(admin, ()))


class _Signer:
    """An authority at work."""

    def __init__(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime) -> None:
        self._name, self._key = name, key
        self._since = now.astimezone(UTC) - timedelta(hours=1)

    def pair(
        self, subject: x509.Name, extensions: tuple[tuple[x509.ExtensionType, bool], ...]
    ) -> Pair:
        """A new key and its certificate."""
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return Pair(_pem(self.certificate(subject, key.public_key(), extensions)), pem.decode())

    def certificate(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        extensions: tuple[tuple[x509.ExtensionType, bool], ...],
    ) -> x509.Certificate:
        """A certificate of this key."""
        from cryptography import x509  # noqa: PLC0415
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415

        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._since)
            .not_valid_after(self._since + VALID)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, critical=is_critical)
        return builder.sign(self._key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _host(name: str) -> Any:
    from cryptography import x509  # noqa: PLC0415

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
