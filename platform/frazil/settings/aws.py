"""Who Frazil is at AWS, and where S3 and Glue are."""

from __future__ import annotations

from pydantic import Field

from frazil.settings.secret import Secret
from frazil.settings.system import SystemSettings


class AwsSettings(SystemSettings):
    """`FRAZIL_AWS__...`: one identity for S3, Glue, and catalogs that want signatures."""

    region: str = Field("us-east-1", description="Region of buckets, Glue and SigV4.")
    access_key: Secret | None = Field(None, description="Default: the AWS credential chain.")
    secret_key: Secret | None = Field(None, description="Of that access key.")


class S3Settings(SystemSettings):
    """`FRAZIL_S3__...`."""

    endpoint: str | None = Field(None, description="Only for S3 that is not AWS.")


class GlueSettings(SystemSettings):
    """`FRAZIL_GLUE__...`: the catalog that owns the tables, or one that shows them."""

    endpoint: str | None = Field(None, description="Only for a Glue that is not AWS.")
    warehouse: str = Field("s3://lake/warehouse", description="Bucket and prefix of Glue-owned tables.")
    database: str | None = Field(None, description="Glue database; default: the namespace.")
