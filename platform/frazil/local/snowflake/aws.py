"""Glue and S3 as the stand-in sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from frazil.local.snowflake.config import Config
from frazil.local.snowflake.errors import Refused

if TYPE_CHECKING:
    from pyiceberg.io import FileIO

__all__ = ["file_io", "glue_pointer", "list_problem"]


def glue_pointer(config: Config, database: str, table: str) -> str:
    """The metadata location that a Glue table of type ICEBERG points to.

    Raises:
        Refused: There is no such table, it is no Iceberg table, or Glue does not answer.
    """
    try:
        entry = _client(config, "glue", config.glue_endpoint).get_table(DatabaseName=database, Name=table)
    except (ClientError, BotoCoreError) as e:
        reason = _reason(e)
        raise Refused(
            94400, "22000", f"SQL execution error: Glue table {database}.{table}: {reason}"
        ) from None
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


def file_io(config: Config) -> FileIO:
    """PyIceberg's access to the files of tables."""
    from pyiceberg.io import load_file_io

    return load_file_io(
        {
            "s3.endpoint": config.s3_endpoint,
            "s3.region": config.region,
            "s3.access-key-id": config.access_key.get_secret_value(),
            "s3.secret-access-key": config.secret_key.get_secret_value(),
        },
        location="s3://any",
    )


def _client(config: Config, service: str, endpoint: str) -> Any:
    import boto3
    from botocore.config import Config as ClientConfig

    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=config.region,
        aws_access_key_id=config.access_key.get_secret_value(),
        aws_secret_access_key=config.secret_key.get_secret_value(),
        config=ClientConfig(
            connect_timeout=5,
            read_timeout=20,
            retries={"max_attempts": 2},
            s3={"addressing_style": "path"},
        ),
    )


def _reason(error: ClientError | BotoCoreError) -> str:
    if isinstance(error, ClientError):
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
    return str(error)
