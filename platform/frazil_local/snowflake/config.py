"""What the stand-in is told by its environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Config(BaseSettings):
    """One stand-in; each field is an environment variable."""

    model_config = SettingsConfigDict(frozen=True)

    port: int = Field(validation_alias="FRAZIL_SNOWFLAKE_PORT")
    state: Path = Field(validation_alias="FRAZIL_SNOWFLAKE_STATE")  # the folder of all that must survive
    admin: str = Field(validation_alias="FRAZIL_SNOWFLAKE_ADMIN")  # the first user, an ACCOUNTADMIN
    admin_key_file: Path = Field(validation_alias="FRAZIL_SNOWFLAKE_ADMIN_KEY_FILE")  # a public key, PEM
    glue_endpoint: str = Field(validation_alias="FRAZIL_GLUE_ENDPOINT")
    s3_endpoint: str = Field(validation_alias="FRAZIL_S3_ENDPOINT")
    s3_ca: Path | None = Field(None, validation_alias="FRAZIL_S3_CA")  # a PEM file
    access_key: SecretStr = Field(validation_alias="AWS_ACCESS_KEY_ID")
    secret_key: SecretStr = Field(validation_alias="AWS_SECRET_ACCESS_KEY")
    aws_endpoint: str | None = Field(None, validation_alias="FRAZIL_SNOWFLAKE_AWS")  # assumes roles there
    strict: bool = Field(False, validation_alias="FRAZIL_SNOWFLAKE_STRICT")  # grants count
    region: str = Field("us-east-1", validation_alias="AWS_REGION")
    pace: float = Field(1.0, validation_alias="FRAZIL_SNOWFLAKE_PACE")  # of seconds between two refreshes
