"""S3 by object_store, as a table's properties say where it is and who asks.

Properties are those of PyIceberg, and of Iceberg's `S3FileIOProperties`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from frazil.tables.catalogs.file_io import S3_CA, SERVER_SIDE

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config, S3Credential, S3Store

_NAMES = {
    "endpoint": "s3.endpoint",
    "region": "s3.region",
    "sse_kms_key_id": "s3.sse.key",
}
"""Properties as object_store calls them."""

_RETRIES, _PATIENCE = 3, timedelta(minutes=2)


@dataclass(frozen=True)
class Keys:
    """The keys to ask by; named in settings, object_store would add the environment's token to them."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(repr=False)

    def __call__(self) -> S3Credential:
        """As object_store asks for them."""
        credential: S3Credential = {
            "access_key_id": self.access_key, "secret_access_key": self.secret_key, "expires_at": None,
        }  # fmt: skip
        return {**credential, "token": self.token} if self.token else credential


@dataclass(frozen=True)
class S3Access:
    """Where S3 is, its limits, and who asks.

    Attributes:
        keys: None: those that object_store finds by itself.
    """

    config: S3Config
    limits: ClientConfig
    keys: Keys | None

    @classmethod
    def by(cls, properties: Mapping[str, str]) -> S3Access:
        """As properties say it."""
        return cls(_config(properties), _limits(properties), _keys(properties))

    def store(self, bucket: str) -> S3Store:
        """A client of one bucket."""
        from obstore.store import S3Store

        return S3Store(
            bucket,
            config=self.config,
            client_options=self.limits,
            credential_provider=self.keys,
            retry_config={"max_retries": _RETRIES, "retry_timeout": _PATIENCE},
        )


def _keys(properties: Mapping[str, str]) -> Keys | None:
    key, secret = (properties.get(f"s3.{word}") for word in ("access-key-id", "secret-access-key"))
    return Keys(key, secret, properties.get("s3.session-token")) if key and secret else None


def _config(properties: Mapping[str, str]) -> S3Config:
    named = {own: properties[name] for own, name in _NAMES.items() if properties.get(name)}
    kind = SERVER_SIDE.get(properties.get("s3.sse.type", ""))
    encryption = {"server_side_encryption": kind} if kind else {}
    virtual = properties.get("s3.force-virtual-addressing", "").lower() == "true"
    return cast("S3Config", {**named, **encryption, "virtual_hosted_style_request": virtual})


def _limits(properties: Mapping[str, str]) -> ClientConfig:
    plain = properties.get("s3.endpoint", "").startswith("http://")
    connect, request = (properties.get(f"s3.{word}-timeout", "60") for word in ("connect", "request"))
    limits = {"allow_http": plain, "connect_timeout": f"{connect}s", "timeout": f"{request}s"}
    authority = {"root_certificate": properties[S3_CA]} if S3_CA in properties else {}
    return cast("ClientConfig", {**limits, **authority})
