"""Who Frazil is at AWS, and where S3 and Glue are."""

from __future__ import annotations

import os
from typing import Literal, Self

from pydantic import Field, model_validator

from frazil.settings.files import File
from frazil.settings.secret import Secret
from frazil.settings.systems.system import OptionalUrl, SystemSettings


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


class AwsSettings(SystemSettings):
    """`FRAZIL_AWS__...`: one identity for S3, Glue, secrets, and catalogs that want signatures."""

    region: str = Field(
        default_factory=_region,
        description="Region of buckets, Glue and SigV4. Default: AWS_REGION, or us-east-1.",
    )
    endpoint: OptionalUrl = Field(
        None,
        description="For stand-ins of AWS: address of all services that have no endpoint of their own.",
    )
    profile: str | None = Field(
        None, description="A profile in AWS's own files. Default: AWS's chain of credentials."
    )
    access_key: Secret | None = Field(None, description="An access key, in place of a profile.")
    secret_key: Secret | None = Field(None, description="The secret of that access key.")
    session_token: Secret | None = Field(None, description="The session token of a temporary access key.")
    role_arn: str | None = Field(None, description="A role that this identity assumes.")
    external_id: Secret | None = Field(
        None, description="The external id that the role's trust policy asks for."
    )
    session_name: str = Field("frazil", description="The name of Frazil's role sessions in CloudTrail.")
    web_identity_token_file: File | None = Field(
        None, description="A file with a token that assumes the role, in place of an identity of AWS."
    )

    secrets_by: Literal["role", "identity"] = Field(
        "role", description="Whether the role or the identity behind it reads Secrets Manager."
    )

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        self.ask_for(["access_key", "secret_key"], "a key", self.access_key or self.secret_key)
        self.ask_for(["access_key"], "session_token", self.session_token)
        self.ask_for(["role_arn"], "external_id", self.external_id)
        self.ask_for(["role_arn"], "web_identity_token_file", self.web_identity_token_file)
        if self.profile and self.access_key:
            raise ValueError("say either profile or access_key: they are two identities")
        return self

    @property
    def of_secrets(self) -> AwsSettings:
        """The identity that reads secrets."""
        without = {"role_arn": None, "external_id": None, "web_identity_token_file": None}
        return self.model_copy(update=without) if self.secrets_by == "identity" else self


class S3Settings(SystemSettings):
    """`FRAZIL_S3__...`."""

    endpoint: OptionalUrl = Field(None, description="Address of an S3 that is not Amazon's.")
    ca: File | None = Field(
        None,
        description="PEM file of the authority that signed its certificate. Default: the well-known ones.",
    )
    kms_key: str | None = Field(
        None, description="KMS key that S3 encrypts all files of tables by. Default: what the bucket says."
    )


class GlueSettings(SystemSettings):
    """`FRAZIL_GLUE__...`: the catalog that owns the tables, or one that shows them."""

    endpoint: OptionalUrl = Field(None, description="Address of a Glue that is not Amazon's.")
    catalog_id: str | None = Field(None, description="Account of the catalog. Default: the identity's own.")
    warehouse: str = Field("s3://lake/warehouse", description="Bucket and prefix of Glue-owned tables.")
    database: str | None = Field(None, description="Glue database. Default: the namespace.")
    lf_tags: str = Field(
        "",
        description="Which `tags` of specs tables have as LF-tags of Lake Formation, too, separated by "
        "commas. Default: they have none.",
    )
    lf_endpoint: OptionalUrl = Field(None, description="Address of a Lake Formation that is not Amazon's.")
