"""Certificates of the test control plane: one authority for servers and clients.

Kubernetes reads a user from a certificate's common name and its groups from the organization.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

AUTHORITY: Final = {NameOID.COMMON_NAME: "unmoor test authority"}


def write(directory: Path) -> None:
    """One authority for servers and clients, and the key that signs service account tokens."""
    admin = {NameOID.COMMON_NAME: "certificate-admin", NameOID.ORGANIZATION_NAME: "system:masters"}
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    names = [here, x509.DNSName("localhost"), x509.DNSName("kubernetes.default.svc")]
    ca = x509.BasicConstraints(ca=True, path_length=0)
    signs = x509.KeyUsage(False, False, False, False, False, True, True, False, False)

    authority = _write_key(directory / "ca.key")
    _write_key(directory / "accounts.key")
    for stem, subject, extensions in (
        ("ca", AUTHORITY, [(ca, True), (signs, True)]),
        ("server", {NameOID.COMMON_NAME: "server"}, [(x509.SubjectAlternativeName(names), False)]),
        ("admin", admin, []),
    ):
        key = authority if subject is AUTHORITY else _write_key(directory / f"{stem}.key")
        certificate = _certificate(subject, key.public_key(), extensions, authority)
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        (directory / f"{stem}.crt").write_bytes(pem)


def issue(directory: Path, common_name: str, stem: Path) -> None:
    """One more client of the authority in ``directory``: ``stem`` with .crt and .key."""
    pem = (directory / "ca.key").read_bytes()
    authority = serialization.load_pem_private_key(pem, None)
    assert isinstance(authority, ec.EllipticCurvePrivateKey)
    key = _write_key(stem.with_suffix(".key"))
    subject = {NameOID.COMMON_NAME: common_name}
    certificate = _certificate(subject, key.public_key(), [], authority)
    stem.with_suffix(".crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _write_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    # The API server finds the public half in this format of an EC key, but not in PKCS8.
    path.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, plain))
    return key


def _certificate(
    subject: Mapping[x509.ObjectIdentifier, str],
    key: ec.EllipticCurvePublicKey,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
    authority: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(AUTHORITY))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(2049, 1, 1, tzinfo=dt.UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(signer, critical=False)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(authority, hashes.SHA256())


def _name(parts: Mapping[x509.ObjectIdentifier, str]) -> x509.Name:
    return x509.Name([x509.NameAttribute(oid, value) for oid, value in parts.items()])
