"""Key-pair login: RSA public keys as Snowflake keeps them, and the tokens that they verify."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
)

__all__ = ["LoginRefused", "fingerprint", "key_of_pem_file", "verify_token"]

_LONGEST_LIFE = 3600 + 60
"""Snowflake takes tokens of one hour at most; a minute more for clocks."""


class LoginRefused(Exception):
    """Who logs in could not prove to be the user."""


def key_of_pem_file(path: Path) -> str:
    """The public key of a PEM file as `RSA_PUBLIC_KEY` takes it: base64 without header and lines."""
    key = load_pem_public_key(path.read_bytes())
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


def fingerprint(key: str) -> str:
    """`SHA256:` and the digest of a key, as DESC USER shows it.

    Raises:
        ValueError: It is no RSA public key.
    """
    der = _public_key(key).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return "SHA256:" + base64.b64encode(hashlib.sha256(der).digest()).decode()


def verify_token(token: str, account: str, user: str, keys: Iterable[str]) -> None:
    """Checks signature, life time, issuer and subject of a login token against a user's keys.

    Raises:
        LoginRefused: No key fits; the text says what was wrong with the last one.
    """
    reason = "the user has no public key"
    for key in keys:
        try:
            _verify(token, account, user, key)
        except (jwt.InvalidTokenError, ValueError) as e:
            reason = str(e)
        else:
            return
    raise LoginRefused(reason)


def _verify(token: str, account: str, user: str, key: str) -> None:
    subject = f"{account}.{user}"
    claims: dict[str, Any] = jwt.decode(
        token,
        _public_key(key),
        algorithms=["RS256"],
        issuer=f"{subject}.{fingerprint(key)}",
        options={"require": ["exp", "iat", "iss", "sub"]},
    )
    if claims["sub"] != subject:
        raise jwt.InvalidTokenError("wrong subject")
    if claims["exp"] - claims["iat"] > _LONGEST_LIFE:
        raise jwt.InvalidTokenError("lives longer than an hour")


def _public_key(key: str) -> RSAPublicKey:
    try:
        loaded = load_der_public_key(base64.b64decode("".join(key.split()), validate=True))
    except (ValueError, UnsupportedAlgorithm) as e:
        raise ValueError("no public key") from e
    if not isinstance(loaded, RSAPublicKey):
        raise ValueError("no RSA public key")
    return loaded
