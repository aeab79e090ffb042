"""How Kafka is reached; `kafka.access` tells it to librdkafka and to Java."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from frazil.settings.secret import Name, Secret
from frazil.settings.systems.system import AccessSettings

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"]


_BROKER = re.compile(r"(?!https?:)(\w+://)?(\[[\da-fA-F:.]+\]|[^\s:/\[\]]+):\d{1,5}")


class KafkaSettings(AccessSettings):
    """`FRAZIL_KAFKA__...`."""

    bootstrap_servers: str = Field("127.0.0.1:9092", description="Kafka brokers, host:port,...")
    cluster_id: str = Field(
        "",
        description="The cluster's id at Confluent Cloud, such as lkc-5w1k2: the namespace of Tableflow's "
        "tables; default: FRAZIL_CLUSTER.",
    )
    group: str = Field(
        "frazil",
        min_length=1,
        description="A consumer group that the ACLs let this user name; only `frazil run "
        "--share` joins one, whose name begins with it.",
    )
    client: dict[str, str] = Field(
        default_factory=dict,
        description="Further client settings that Java and librdkafka share, as JSON; no secrets.",
    )
    tls: bool = Field(
        False, description="Encrypt the connection. A CA or a certificate turns this on as well."
    )
    mechanism: Mechanism | None = Field(
        None,
        description="SASL mechanism: PLAIN for Confluent Cloud's API keys; AWS_MSK_IAM uses FRAZIL_AWS__...",
    )
    username: Name | None = Field(None, description="User of PLAIN and SCRAM, or the API key.")
    password: Secret | None = Field(None, description="Password of that user, or the API secret.")

    @field_validator("bootstrap_servers")
    @classmethod
    def _are_brokers(cls, given: str) -> str:
        for broker in given.split(","):
            if not _BROKER.fullmatch(broker.strip()):
                raise ValueError("write each broker as HOST:PORT, with commas between several")
        return given

    @field_validator("client")
    @classmethod
    def _holds_no_secret(cls, given: dict[str, str]) -> dict[str, str]:
        if secrets := [
            name for name in given if name.endswith((".password", ".secret", ".jaas.config", ".key"))
        ]:
            raise ValueError(
                f"{', '.join(secrets)}: a secret belongs into FRAZIL_KAFKA__..., see docs/connect.md"
            )
        return given

    @model_validator(mode="after")
    def _fits_the_mechanism(self) -> Self:
        by_token = self.mechanism == "OAUTHBEARER"
        self.ask_for(["token_url"], "OAUTHBEARER", by_token)
        by_user = self.mechanism and self.mechanism not in ("OAUTHBEARER", "AWS_MSK_IAM")
        self.ask_for(["username", "password"], str(self.mechanism), by_user)
        self.ask_for(["mechanism"], "A user or a token", self.username or self.token_url)
        return self

    @property
    def protocol(self) -> str:
        """Kafka's word for it."""
        encrypted = self.tls or self.ca or self.certificate or self.mechanism == "AWS_MSK_IAM"
        return ("SASL_" if self.mechanism else "") + ("SSL" if encrypted else "PLAINTEXT")
