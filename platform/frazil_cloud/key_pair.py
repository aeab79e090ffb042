"""RSA key pairs of Snowflake's users: the forms in which they are written, and the token that logs in."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from frazil.errors import ConfigureError

_BITS = 2048
_EXPONENT = 65537
_LIFE = timedelta(minutes=59)  # Snowflake takes tokens of one hour at most


@dataclass(frozen=True)
class KeyPair:
    """One pair. Its private half is in no text that shows it."""

    private_pem: str = field(repr=False)
    """PKCS8, not encrypted."""

    @classmethod
    def new(cls) -> KeyPair:
        """A pair that nobody has seen."""
        key = rsa.generate_private_key(_EXPONENT, _BITS)
        return cls(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())

    @classmethod
    def from_base64(cls, text: str) -> KeyPair:
        """The pair whose private half stands in a secret as `private_base64`."""
        try:
            return cls(base64.b64decode(text, validate=True).decode("ascii"))
        except ValueError:
            raise _no_key() from None

    @property
    def private_base64(self) -> str:
        """Base64 of the private PEM, as secrets hold it."""
        return base64.b64encode(self.private_pem.encode()).decode()

    @property
    def private_der(self) -> bytes:
        """The private half, as Snowflake's connector takes it."""
        return self._key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    @property
    def public_pem(self) -> str:
        """The public half as PEM."""
        return self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    @property
    def public_line(self) -> str:
        """The public half in one line without header and footer, as `RSA_PUBLIC_KEY` takes it."""
        return base64.b64encode(self._public_der).decode()

    @property
    def fingerprint(self) -> str:
        """What `DESC USER` shows of the public half."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self._public_der).digest()).decode()

    def token(self, account: str, user: str, now: datetime) -> str:
        """A JWT that logs in to Snowflake for 59 minutes; it is stored nowhere.

        Args:
            account: The account identifier, also with a region, or that of a replicated account.
            user: The user that has this key.
            now: An aware time.
        """
        subject = f"{account_of_token(account)}.{user.upper()}"
        claims = {
            "iss": f"{subject}.{self.fingerprint}",
            "sub": subject,
            "aud": f"https://{account.upper()}.snowflakecomputing.com",
            "iat": int(now.timestamp()),
            "exp": int((now + _LIFE).timestamp()),
        }
        return jwt.encode(claims, self._key, algorithm="RS256")

    @property
    def _key(self) -> rsa.RSAPrivateKey:
        try:
            key = load_pem_private_key(self.private_pem.encode(), None)
        except (ValueError, TypeError):
            raise _no_key() from None
        if not isinstance(key, rsa.RSAPrivateKey):
            raise _no_key()
        return key

    @property
    def _public_der(self) -> bytes:
        return self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def account_of_token(account: str) -> str:
    """An account identifier as tokens name it: in capitals, without region and cloud.

    `xy12345.us-east-1` is `XY12345`; `name-region.global`, a replicated account, is `NAME`.
    Source: Snowflake's guide to key-pair authentication.
    """
    end = "-" if ".global" in account.lower() else "."
    return account.partition(end)[0].upper()


def secret_values(number: int, pair: KeyPair) -> dict[str, str]:
    """A pair in the words of a Snowflake user's secret, as key 1 or 2."""
    return {
        f"rsa_public_key_{number}_pem": pair.public_pem,
        f"snowflake_rsa_public_key_{number}_pem": pair.public_line,
        f"snowflake_rsa_private_key_{number}_pem": pair.private_base64,
    }


def _no_key() -> ConfigureError:
    return ConfigureError(
        "A secret holds no private RSA key.",
        meaning="Nothing was changed.",
        todo="It must be PEM (PKCS8, not encrypted), as base64 in the secrets of Snowflake's users.",
    )
