"""How the schema registry is reached."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from frazil.settings.secret import Secret
from frazil.settings.systems.system import AccessSettings, Url


class RegistrySettings(AccessSettings):
    """`FRAZIL_REGISTRY__...`."""

    kind: Literal["confluent", "glue", "azure"] = Field(
        "confluent",
        description="confluent: Confluent's registry, or one that speaks its protocol. glue: AWS Glue's, "
        "reached by the settings of AWS and Glue. azure: that of a namespace of Event Hubs.",
    )
    azure_group: str = Field("", description="Name of the group of schemas, with kind azure.")
    glue_name: str = Field(
        "default-registry", min_length=1, description="Name of the registry in Glue, with kind glue."
    )
    url: Url = Field(
        "http://127.0.0.1:8081/apis/ccompat/v7",
        description="Address of Confluent's registry, or of one that speaks its protocol.",
    )
    eight_byte_ids: Literal["none", "content", "global"] = Field(
        "none",
        description="What ids of eight bytes before payloads are, as Apicurio's Legacy8ByteIdHandler writes "
        "them: those of contents, or global ones. none: no record has them.",
    )
    user_info: Secret | None = Field(None, description="`user:password`.")
    token: Secret | None = Field(None, description="A bearer token.")
    logical_cluster: str = Field(
        "", description="The registry's id at Confluent Cloud (lsrc-...), needed with a token."
    )
    identity_pool: str | None = Field(
        None, description="The identity pool at Confluent Cloud (pool-...), needed with a token."
    )

    @model_validator(mode="after")
    def _is_whole_for_azure(self) -> Self:
        if self.kind == "azure" and not (self.azure_group and (self.token or self.token_url)):
            raise ValueError("kind azure needs azure_group, and a token or a client of OAuth")
        return self

    @field_validator("user_info")
    @classmethod
    def _has_both(cls, given: SecretStr | None) -> SecretStr | None:
        if given and ":" not in given.get_secret_value():
            raise ValueError("write user:password, with a colon between them")
        return given
