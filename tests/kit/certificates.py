"""A certificate authority of the tests' own: who it is not is refused."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its key, each in a PEM file."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates for loopback, each with a key of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._name = folder, _name(name)
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        usage = x509.BasicConstraints(ca=True, path_length=None)
        own = _builder(self._name, self._name, self._key).add_extension(usage, critical=True)
        self.file = folder / "ca.pem"
        self.file.write_bytes(own.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def identity(self, name: str) -> Identity:
        """For a server on loopback, or for a client of that name."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        names = x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        )
        signed = _builder(_name(name), self._name, key).add_extension(names, critical=False)
        found = Identity(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        found.certificate.write_bytes(signed.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        found.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return found


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )
