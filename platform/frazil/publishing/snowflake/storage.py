"""What Snowflake must be told once: where the tables' files are, and which Glue knows them.

Snowflake reads only below a volume's first location: tables of the REST catalog and tables that Glue
owns lie in different places, so they have different volumes.
"""

from __future__ import annotations

from dataclasses import dataclass

from frazil.errors import ConfigureError
from frazil.settings import Settings

__all__ = ["Integration", "Volume", "check_location", "integration_of", "volume_of"]

_ARN_PARTS = 6


@dataclass(frozen=True, slots=True)
class Volume:
    """An external volume with one location on S3."""

    name: str
    base_url: str
    role_arn: str


@dataclass(frozen=True, slots=True)
class Integration:
    """A catalog integration with Glue."""

    name: str
    glue_database: str
    role_arn: str
    account_id: str
    region: str


def volume_of(settings: Settings) -> Volume:
    """The volume over the tables of the catalog in force."""
    glue_owns = settings.catalog == "glue"
    name = settings.snowflake_external_volume or ("FRAZIL_GLUE_VOLUME" if glue_owns else "FRAZIL_VOLUME")
    warehouse = settings.glue_warehouse if glue_owns else f"s3://{settings.warehouse}"
    base_url = settings.snowflake_storage_base_url or warehouse
    return Volume(name.upper(), base_url.rstrip("/") + "/", settings.snowflake_aws_role_arn)


def integration_of(settings: Settings, glue_database: str) -> Integration:
    """The integration with the Glue that the tables are shown in.

    Raises:
        ConfigureError: The role's ARN holds no account.
    """
    arn = settings.snowflake_aws_role_arn
    parts = arn.split(":")
    if len(parts) != _ARN_PARTS or not parts[4]:
        raise ConfigureError(
            f"{arn!r} is no ARN of an IAM role.",
            where="snowflake_aws_role_arn",
            todo="Write arn:aws:iam::<account>:role/<name>.",
        )
    name = settings.snowflake_catalog_integration.upper()
    return Integration(name, glue_database, arn, parts[4], settings.s3_region)


def check_location(volume: Volume, metadata_location: str) -> None:
    """Makes sure that Snowflake may read a table.

    Raises:
        ConfigureError: Its files are not below the volume's location.
    """
    if metadata_location.startswith(volume.base_url):
        return
    raise ConfigureError(
        "Snowflake's external volume does not cover the table.",
        where=f"{metadata_location} is not below {volume.base_url} of {volume.name}",
        meaning="The Iceberg table is right; Snowflake does not show it.",
        todo="Set snowflake_storage_base_url, and snowflake_external_volume to a new name.",
    )
