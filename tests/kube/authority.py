"""Certificates for the servers and clients of the tests."""

from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM
PKCS8 = serialization.PrivateFormat.PKCS8


@dataclass(frozen=True)
class Identity:
    """A certificate and its key, in PEM."""

    certificate: str
    key: str


class Authority:
    """Signs certificates; deliberately without the extensions that Python 3.13 insists on."""

    def __init__(self, name: str) -> None:
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        is_ca = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = self._sign(self._name, self._key, [(is_ca, True)])

    def issue(self, name: str, *alternatives: x509.GeneralName) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName(alternatives)
        certificate = self._sign(subject, key, [(names, False)] if alternatives else [])
        plain = serialization.NoEncryption()
        return Identity(certificate, key.private_bytes(PEM, PKCS8, plain).decode())

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        extensions: list[tuple[x509.ExtensionType, bool]],
    ) -> str:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
            .not_valid_after(datetime(2049, 1, 1, tzinfo=UTC))
        )
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, critical=is_critical)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(PEM).decode()
