"""The keys of one stack, made at its first start and kept until it is wiped."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from frazil.local.home import Home, write_private

__all__ = ["Credentials", "KeyPair", "s3_credentials", "snowflake_keys"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """The key pair of an AWS user."""

    access_key: str
    secret_key: str
    region: str = "us-east-1"

    def __repr__(self) -> str:
        return f"Credentials({self.access_key})"

    @property
    def environment(self) -> dict[str, str]:
        """As AWS' clients read them from the environment."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
        }


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Two PEM files: the private key is PKCS8 without a password, and readable by its owner only."""

    private: Path
    public: Path


def s3_credentials(home: Home) -> Credentials:
    """The key pair of the object storage's one user."""
    file = home.secrets / "s3"
    if not file.exists():
        keys = f"frazil{secrets.token_hex(8)}\n{secrets.token_urlsafe(30)}\n"
        write_private(file, keys, once=True)
    access_key, secret_key = file.read_text().split()
    return Credentials(access_key, secret_key)


def snowflake_keys(home: Home) -> KeyPair:
    """The key pair with which clients log in to Snowflake."""
    pair = KeyPair(home.secrets / "snowflake_key.p8", home.secrets / "snowflake_key.pub")
    if not (pair.private.exists() and pair.public.exists()):
        _make_pair(pair)
    return pair


def _make_pair(pair: KeyPair) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import rsa

    new = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = new.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    write_private(pair.private, private.decode(), once=True)
    kept = form.load_pem_private_key(pair.private.read_bytes(), password=None)
    public = kept.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    write_private(pair.public, public.decode())
