"""What the stand-in is told by its environment, and Glue and S3 as it sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from frazil.local.snowflake.answers import Refused


class Config(BaseSettings):
    """One stand-in; each field is an environment variable."""

    model_config = SettingsConfigDict(frozen=True)

    port: int = Field(validation_alias="FRAZIL_SNOWFLAKE_PORT")
    state: Path = Field(validation_alias="FRAZIL_SNOWFLAKE_STATE")  # the folder of all that must survive
    admin: str = Field(validation_alias="FRAZIL_SNOWFLAKE_ADMIN")  # the first user, an ACCOUNTADMIN
    admin_key_file: Path = Field(validation_alias="FRAZIL_SNOWFLAKE_ADMIN_KEY_FILE")  # a public key, PEM
    glue_endpoint: str = Field(validation_alias="FRAZIL_GLUE_ENDPOINT")
    s3_endpoint: str = Field(validation_alias="FRAZIL_S3_ENDPOINT")
    access_key: SecretStr = Field(validation_alias="AWS_ACCESS_KEY_ID")
    secret_key: SecretStr = Field(validation_alias="AWS_SECRET_ACCESS_KEY")
    region: str = Field("us-east-1", validation_alias="AWS_REGION")

    @property
    def files(self) -> dict[str, str]:
        """Access to the files of tables, as PyIceberg has it."""
        return {
            "s3.endpoint": self.s3_endpoint,
            "s3.region": self.region,
            "s3.access-key-id": self.access_key.get_secret_value(),
            "s3.secret-access-key": self.secret_key.get_secret_value(),
        }


def glue_pointer(config: Config, database: str, table: str) -> str:
    """The metadata location that a Glue table of type ICEBERG points to; refuses any other table."""
    try:
        entry = _client(config, "glue", config.glue_endpoint).get_table(DatabaseName=database, Name=table)
    except (ClientError, BotoCoreError) as e:
        text = f"SQL execution error: Glue table {database}.{table}: {_reason(e)}"
        raise Refused(94400, "22000", text) from None
    parameters = entry["Table"].get("Parameters", {})
    if parameters.get("table_type", "").upper() != "ICEBERG" or "metadata_location" not in parameters:
        text = f"SQL execution error: Glue table {database}.{table} is not of type ICEBERG."
        raise Refused(94401, "22000", text)
    return str(parameters["metadata_location"])


def list_problem(config: Config, base_url: str) -> str | None:
    """Why the objects below an S3 URL can't be listed, or None if they can."""
    bucket, _, prefix = base_url.removeprefix("s3://").partition("/")
    client = _client(config, "s3", config.s3_endpoint)
    try:
        client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1)
    except (ClientError, BotoCoreError) as e:
        return _reason(e)
    return None


def _client(config: Config, service: str, endpoint: str) -> Any:
    patience: dict[str, Any] = {"connect_timeout": 5, "read_timeout": 20, "retries": {"max_attempts": 2}}
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=config.region,
        aws_access_key_id=config.access_key.get_secret_value(),
        aws_secret_access_key=config.secret_key.get_secret_value(),
        config=ClientConfig(**patience, s3={"addressing_style": "path"}),
    )


def _reason(error: ClientError | BotoCoreError) -> str:
    if isinstance(error, ClientError):
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
    return str(error)
