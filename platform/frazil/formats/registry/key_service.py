"""Key services that open the keys of encrypted fields: a local secret, AWS KMS, HashiCorp Vault.

Each opens what Confluent's clients, by Tink, encrypted there. Source: their drivers (`localkms`, `awskms`,
`hcvault`), and the services' own APIs.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from frazil.errors import STAYS, ConfigureError, NotAllowedError, PartDownError
from frazil.formats.encryption.keys import NONCE
from frazil.settings.identity import aws_session
from frazil.settings.secret import revealed
from frazil.settings.systems.aws import AwsSettings

if TYPE_CHECKING:
    from pydantic import SecretStr

_SECONDS = 5
_LOCAL_KEY = 16  # bytes
_ARN_PARTS = 6
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class KeyService:
    """Opens keys, wherever the key that encrypted them is.

    Args:
        secrets: By name: of a local KEK its secret; by the host of a Vault a token, so that nobody who may
            register a KEK has it sent elsewhere.
        aws: Who Frazil is at AWS.
    """

    secrets: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)
    aws: AwsSettings | None = field(default=None, repr=False)

    def opened(self, name: str, kind: str, key_id: str, sealed: bytes) -> bytes:
        """A key of fields.

        Args:
            name: Of the KEK.
            kind: `local-kms`, `aws-kms` or `hcvault`.
            key_id: What the service calls the KEK.
            sealed: The key, encrypted.

        Raises:
            ConfigureError: The service is not known, or does not open it.
            NotAllowedError: The service does not allow it.
            PartDownError: It does not answer.
        """
        openers = {"local-kms": self._by_secret, "aws-kms": self._by_aws, "hcvault": self._by_vault}
        if kind not in openers:
            known = ", ".join(openers)
            raise _refusal(f"{kind} is no key service that Frazil knows: {known}", name, _KEEP)
        return openers[kind](name, key_id, sealed)

    def _by_secret(self, name: str, key_id: str, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        secret = self._secret(name, name, "the secret of a local KEK")
        key = HKDF(SHA256(), _LOCAL_KEY, None, b"").derive(secret.encode())
        try:
            return AESGCM(key).decrypt(sealed[:NONCE], sealed[NONCE:], b"")
        except (InvalidTag, ValueError):
            raise _refusal("the secret does not open it", name, _secret_line(name)) from None

    def _by_aws(self, name: str, key_id: str, sealed: bytes) -> bytes:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        region = key_id.split(":")[3] if key_id.count(":") >= _ARN_PARTS - 1 else None
        limits = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": 3})
        session = aws_session(self.aws if self.aws is not None else AwsSettings())
        try:
            client = session.create_client("kms", region_name=region, config=limits)
            return bytes(client.decrypt(CiphertextBlob=sealed, KeyId=key_id)["Plaintext"])
        except ClientError as e:
            error = e.response.get("Error", {})
            raise _refused_by_aws(name, key_id, str(error.get("Code")), str(error.get("Message"))) from None
        except BotoCoreError as e:
            raise _down(name, "AWS KMS", f"{type(e).__name__} {e!s:.200}") from None

    def _by_vault(self, name: str, key_id: str, sealed: bytes) -> bytes:
        import requests

        at = urlsplit(key_id)
        if at.scheme != "https" and at.hostname not in _LOOPBACK:
            raise _refusal(f"{at.scheme}://{at.netloc} is not https", name, _KEEP)
        token = self._secret(name, at.netloc, "the token of that Vault")
        mount, _, key = at.path.strip("/").partition("/keys/")
        url = f"{at.scheme}://{at.netloc}/v1/{mount}/decrypt/{key}"
        try:
            answer = requests.post(
                url, json={"ciphertext": sealed.decode("ascii", "replace")}, timeout=_SECONDS,
                headers={"X-Vault-Token": token}, allow_redirects=False,
            )  # fmt: skip
            if answer.status_code == 200:
                return base64.b64decode(answer.json()["data"]["plaintext"])
        except (requests.RequestException, LookupError, TypeError, ValueError) as e:
            raise _down(name, "Vault", f"{at.netloc}: {type(e).__name__}") from None
        if answer.status_code >= 500:
            raise _down(name, "Vault", f"{at.netloc}: HTTP {answer.status_code}")
        why = f"Vault at {at.netloc} says HTTP {answer.status_code} for {mount}/decrypt/{key}"
        raise _refusal(why, name, _secret_line(at.netloc))

    def _secret(self, name: str, key: str, what: str) -> str:
        if secret := revealed(self.secrets.get(key)):
            return secret
        raise _refusal(f"the profile has no key {key}, {what}", name, _secret_line(key))


_KEEP = "Write encryption: keep, and the ciphertext lands; or move the KEK."


def _secret_line(key: str) -> str:
    return (
        f"Set `named_keys` in the profile, as in {{'{key}': 'aws-secret:NAME'}}, or FRAZIL_NAMED_KEYS to "
        "the same as JSON (docs/encryption.md)."
    )


def _refusal(why: str, name: str, todo: str) -> ConfigureError:
    return ConfigureError(
        "The key of encrypted fields can't be opened.",
        where=f"KEK {name}: {why}",
        meaning="No field was decrypted, and nothing was landed.",
        todo=todo,
    )


def _refused_by_aws(name: str, key_id: str, code: str, text: str) -> ConfigureError | NotAllowedError:
    if code != "AccessDeniedException":
        todo = "Let the registry's KEK name a key that is there, in the account that FRAZIL_AWS__... reach."
        return _refusal(f"AWS KMS says {code} {text:.200}", name, todo)
    return NotAllowedError(
        "AWS KMS does not let Frazil open the key of encrypted fields.",
        where=f"KEK {name}, {key_id}: {text:.200}",
        meaning=STAYS,
        todo="Allow kms:Decrypt on that key to Frazil's identity.",
    )


def _down(name: str, service: str, text: str) -> PartDownError:
    return PartDownError(
        f"{service} does not answer.",
        where=f"KEK {name}: {text}",
        meaning=STAYS,
        todo="Try again.",
    )
