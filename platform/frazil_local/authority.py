"""A certificate authority for servers on loopback. Its own key is kept nowhere: it signs nothing later."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from cryptography.x509.oid import NameOID

from frazil_local.home import write_private

_HOLDS = datetime.timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its key, each in a PEM file."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates for loopback, each with a key of its own; all files lie in one folder."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._name = folder, _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        basic = x509.BasicConstraints(ca=True, path_length=None)
        own = self._builder(self._name, self._key).add_extension(basic, critical=True)
        self._own = own.add_extension(_SIGNS, critical=True).sign(self._key, hashes.SHA256())
        self.file = folder / "ca.pem"
        self.file.write_bytes(self._own.public_bytes(Encoding.PEM))

    def identity(self, name: str) -> Identity:
        """For a server on loopback, or for a client of that name."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        )
        signed = self._builder(_name(name), key).add_extension(names, critical=False)
        made = Identity(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        made.certificate.write_bytes(signed.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_private(made.key, plain.decode())
        return made

    def trust_store(self, name: str) -> Path:
        """The authority as Java reads it; nothing in it is secret, so it has no password."""
        file = self._folder / name
        entry = PKCS12Certificate(self._own, b"authority")
        file.write_bytes(serialize_java_truststore([entry], NoEncryption()))
        return file

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        signer, own = self._key.public_key(), key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(own)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + _HOLDS)
            # Python 3.13 takes no chain without these two.
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(own), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
        )


_SIGNS = x509.KeyUsage(
    key_cert_sign=True, crl_sign=True, digital_signature=False, content_commitment=False,
    key_encipherment=False, data_encipherment=False, key_agreement=False,
    encipher_only=False, decipher_only=False,
)  # fmt: skip


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
