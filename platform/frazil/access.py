"""How Frazil proves who it is to Kafka, the schema registry and a REST catalog, and how it knows them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

_SECONDS = 10


def _from_environment(name: str) -> str:
    if name not in os.environ:
        raise ValueError(f"there is no environment variable {name}")
    return os.environ[name]


def _from_file(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except OSError as e:
        raise ValueError(f"{path} can't be read: {e.strerror}") from None


def _from_secrets_manager(place: str) -> str:
    name, _, key = place.partition("#")
    text = str(_asked("secretsmanager", "get_secret_value", SecretId=name)["SecretString"])
    if not key:
        return text
    try:
        return str(json.loads(text)[key])
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"the secret {name} is no JSON object with a key {key}") from None


def _from_parameter_store(name: str) -> str:
    return str(_asked("ssm", "get_parameter", Name=name, WithDecryption=True)["Parameter"]["Value"])


def _asked(service: str, call: str, **arguments: Any) -> dict[str, Any]:
    """The answer of an AWS service, by the default chain of identities."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    limits = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS)
    try:
        answer: dict[str, Any] = getattr(boto3.client(service, config=limits), call)(**arguments)
    except (BotoCoreError, ClientError) as e:
        raise ValueError(f"{service} does not give it: {e}") from None
    return answer


_SOURCES: dict[str, Callable[[str], str]] = {
    "env": _from_environment,
    "file": _from_file,
    "aws-secret": _from_secrets_manager,
    "aws-ssm": _from_parameter_store,
}


def _looked_up(value: object) -> object:
    if not isinstance(value, str):
        return value
    source, _, place = value.partition(":")
    return _SOURCES[source](place) if source in _SOURCES and place else value


Secret = Annotated[SecretStr, BeforeValidator(_looked_up)]
"""A secret, or where it is kept: `env:NAME`, `file:PATH`, `aws-secret:NAME#key`, `aws-ssm:NAME`."""


def revealed(secret: SecretStr | None) -> str | None:
    """What a client is told of a secret; None where there is none."""
    return secret.get_secret_value() if secret else None


class _Access(BaseModel):
    """What all of them may ask for: certificates, and OAuth's client credentials."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ca: Path | None = Field(None, description="PEM file of who signed its certificate; default: known ones.")
    certificate: Path | None = Field(None, description="PEM file of Frazil's own, for mutual TLS.")
    key: Path | None = Field(None, description="PEM file (PKCS8) of that certificate's key.")
    key_password: Secret | None = Field(None, description="Where that key is encrypted.")
    token_url: str | None = Field(None, description="OAuth's token endpoint.")
    client_id: str | None = Field(None, description="OAuth's client.")
    client_secret: Secret | None = Field(None, description="Of that client.")
    scope: str | None = Field(None, description="What the token is asked for; some endpoints want none.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        self._ask_for(["certificate", "key"], "mutual TLS", self.certificate or self.key)
        self._ask_for(["token_url", "client_id", "client_secret"], "OAuth", self.token_url or self.client_id)
        return self

    def _ask_for(self, names: list[str], purpose: str, wanted: object) -> None:
        missing = [name for name in names if getattr(self, name) is None]
        if wanted and missing:
            raise ValueError(f"{purpose} needs {' and '.join(missing)} as well")


class KafkaAccess(_Access):
    """How Kafka is reached. Its variables are `FRAZIL_KAFKA__CA`, and so on."""

    tls: bool = Field(False, description="Encrypt; certificates say so, too.")
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = Field(
        None, description="Of SASL; PLAIN is that of Confluent Cloud's API keys."
    )
    username: str | None = Field(None, description="Of PLAIN and SCRAM; the API key.")
    password: Secret | None = Field(None, description="Of that user; the API secret.")

    @model_validator(mode="after")
    def _fits_the_mechanism(self) -> Self:
        by_token = self.mechanism == "OAUTHBEARER"
        self._ask_for(["token_url"], "OAUTHBEARER", by_token)
        self._ask_for(["username", "password"], str(self.mechanism), self.mechanism and not by_token)
        self._ask_for(["mechanism"], "A user or a token", self.username or self.token_url)
        return self

    @property
    def protocol(self) -> str:
        """Kafka's word for it."""
        encrypted = self.tls or self.ca or self.certificate
        return ("SASL_" if self.mechanism else "") + ("SSL" if encrypted else "PLAINTEXT")


class RegistryAccess(_Access):
    """How the schema registry is reached. Its variables are `FRAZIL_REGISTRY__CA`, and so on."""

    token: Secret | None = Field(None, description="A bearer token.")
    logical_cluster: str = Field("", description="Confluent Cloud's lsrc-..., beside a token.")
    identity_pool: str | None = Field(None, description="Confluent Cloud's pool-..., beside a token.")


class RestAccess(_Access):
    """How a REST catalog is reached. Its variables are `FRAZIL_REST__TOKEN`, and so on.

    Certificates are for Frazil's own client: those of Spark are in its Java's trust store.
    """

    token: Secret | None = Field(None, description="A bearer token.")

    @property
    def by_token(self) -> bool:
        """Whether requests bear a token, and are not signed."""
        return bool(self.token or self.token_url)
