"""The SQL that Frazil sends to Snowflake. Names are quoted, so they are taken as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frazil.publishing.snowflake.storage import Integration, Volume
from frazil.quoting import double_quoted

__all__ = [
    "Relation",
    "count_rows",
    "create_database",
    "create_integration",
    "create_schema",
    "create_table",
    "create_view",
    "create_volume",
    "describe_integration",
    "describe_volume",
    "grant_reading",
    "refresh_table",
    "select_nothing",
    "table_information",
    "text",
]


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view by its full name."""

    database: str
    schema: str
    name: str

    def __str__(self) -> str:
        return double_quoted(self.database, self.schema, self.name)


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def create_database(name: str) -> str:
    """Makes the database if missing."""
    return f"CREATE DATABASE IF NOT EXISTS {double_quoted(name)}"


def create_schema(database: str, schema: str) -> str:
    """Makes the schema if missing."""
    return f"CREATE SCHEMA IF NOT EXISTS {double_quoted(database, schema)}"


def describe_volume(name: str) -> str:
    """Tells whether the volume exists, and its locations."""
    return f"DESCRIBE EXTERNAL VOLUME {double_quoted(name)}"


def create_volume(volume: Volume) -> str:
    """Makes the volume if missing; Snowflake only reads from it."""
    return (
        f"CREATE EXTERNAL VOLUME IF NOT EXISTS {double_quoted(volume.name)} STORAGE_LOCATIONS = (("
        f"NAME = {text(volume.name + '_LOCATION')} "
        "STORAGE_PROVIDER = 'S3' "
        f"STORAGE_BASE_URL = {text(volume.base_url)} "
        f"STORAGE_AWS_ROLE_ARN = {text(volume.role_arn)}"
        ")) ALLOW_WRITES = FALSE"
    )


def describe_integration(name: str) -> str:
    """Tells whether the catalog integration exists."""
    return f"DESCRIBE CATALOG INTEGRATION {double_quoted(name)}"


def create_integration(integration: Integration) -> str:
    """Makes the catalog integration if missing."""
    return (
        f"CREATE CATALOG INTEGRATION IF NOT EXISTS {double_quoted(integration.name)} "
        "CATALOG_SOURCE = GLUE TABLE_FORMAT = ICEBERG "
        f"GLUE_AWS_ROLE_ARN = {text(integration.role_arn)} "
        f"GLUE_CATALOG_ID = {text(integration.account_id)} "
        f"GLUE_REGION = {text(integration.region)} "
        f"CATALOG_NAMESPACE = {text(integration.glue_database)} "
        "ENABLED = TRUE"
    )


def create_table(
    table: Relation, volume: Volume, integration: Integration, glue_database: str, glue_table: str
) -> str:
    """Makes the Iceberg table of a Glue entry if missing.

    The namespace is named, for the integration's may be that of another pipeline.
    """
    return (
        f"CREATE ICEBERG TABLE IF NOT EXISTS {table} "
        f"EXTERNAL_VOLUME = {text(volume.name)} "
        f"CATALOG = {text(integration.name)} "
        f"CATALOG_TABLE_NAME = {text(glue_table)} "
        f"CATALOG_NAMESPACE = {text(glue_database)}"
    )


def refresh_table(table: Relation) -> str:
    """Makes the table show what Glue points to."""
    return f"ALTER ICEBERG TABLE {table} REFRESH"


def table_information(table: Relation) -> str:
    """Asks which metadata file the table shows."""
    return f"SELECT SYSTEM$GET_ICEBERG_TABLE_INFORMATION({text(str(table))})"


def count_rows(table: Relation) -> str:
    """Counts a table's rows."""
    return f"SELECT COUNT(*) FROM {table}"


def select_nothing(relation: Relation) -> str:
    """Asks for the columns of a table or view."""
    return f"SELECT * FROM {relation} WHERE FALSE"


def create_view(view: Relation, table: Relation, columns: Sequence[str]) -> str:
    """Makes the view of some columns of a table, anew if it is there."""
    listed = ", ".join(double_quoted(column) for column in columns)
    return f"CREATE OR REPLACE VIEW {view} AS SELECT {listed} FROM {table}"


def grant_reading(table: Relation, view: Relation, role: str) -> tuple[str, ...]:
    """Lets a role read a table and its view: the schema and the rows need a grant each."""
    to = f"TO ROLE {double_quoted(role)}"
    return (
        f"GRANT USAGE ON DATABASE {double_quoted(table.database)} {to}",
        f"GRANT USAGE ON SCHEMA {double_quoted(table.database, table.schema)} {to}",
        f"GRANT SELECT ON TABLE {table} {to}",
        f"GRANT SELECT ON VIEW {view} {to}",
    )
