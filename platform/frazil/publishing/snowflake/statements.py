"""What Snowflake must be told once, and in which SQL. Names are quoted, so they are taken as they are.

It is told where the tables' files are, and which Glue knows them. It reads only below a volume's first
location: tables of the REST catalog and tables that Glue owns lie in different places, so they have different
volumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from frazil.errors import ConfigureError
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings

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
    region: str
    catalog_id: str | None = None


def volume_of(settings: Settings) -> Volume:
    """The volume over the tables of the catalog in force."""
    glue_owns = settings.catalog == "glue"
    name = settings.snowflake.external_volume or ("FRAZIL_GLUE_VOLUME" if glue_owns else "FRAZIL_VOLUME")
    warehouse = settings.glue.warehouse if glue_owns else f"s3://{settings.rest.warehouse}"
    base_url = settings.snowflake.storage_base_url or warehouse
    return Volume(name.upper(), base_url.rstrip("/") + "/", settings.snowflake.aws_role_arn or "")


def integration_of(settings: Settings, glue_database: str) -> Integration:
    """The integration with the Glue that the tables are shown in."""
    name, arn = settings.snowflake.catalog_integration.upper(), settings.snowflake.aws_role_arn or ""
    return Integration(name, glue_database, arn, settings.aws.region, settings.glue.catalog_id)


def _account_of(arn: str) -> str:
    parts = arn.split(":")
    if len(parts) != _ARN_PARTS or not parts[4]:
        raise ConfigureError(
            f"{arn!r} is no ARN of an IAM role." if arn else "The role by which Snowflake reads is not said.",
            where="snowflake.aws_role_arn",
            meaning="Snowflake has no volume or integration yet, and none was made.",
            todo="Set FRAZIL_SNOWFLAKE__AWS_ROLE_ARN to arn:aws:iam::<account>:role/<name>.",
        )
    return parts[4]


def check_location(volume: Volume, metadata_location: str) -> None:
    """Refuses a table whose files are not below the volume's location: Snowflake could not read them."""
    if metadata_location.startswith(volume.base_url):
        return
    raise ConfigureError(
        "Snowflake's external volume does not cover the table.",
        where=f"{metadata_location} is not below {volume.base_url} of {volume.name}",
        meaning="The Iceberg table is right; Snowflake does not show it.",
        todo="Set FRAZIL_SNOWFLAKE__STORAGE_BASE_URL, and FRAZIL_SNOWFLAKE__EXTERNAL_VOLUME to a new name.",
    )


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view by its full name."""

    database: str
    schema: str
    name: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """The parts of the name."""
        return self.database, self.schema, self.name

    def __str__(self) -> str:
        return double_quoted(*self.parts)


Kind = Literal["VIEWS", "ICEBERG TABLES"]
"""What a relation is, as SHOW calls it."""


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def create_volume(volume: Volume) -> str:
    """Makes the volume if missing; Snowflake only reads from it."""
    _account_of(volume.role_arn)
    return (
        f"CREATE EXTERNAL VOLUME IF NOT EXISTS {double_quoted(volume.name)} STORAGE_LOCATIONS = (("
        f"NAME = {text(volume.name + '_LOCATION')} "
        "STORAGE_PROVIDER = 'S3' "
        f"STORAGE_BASE_URL = {text(volume.base_url)} "
        f"STORAGE_AWS_ROLE_ARN = {text(volume.role_arn)}"
        ")) ALLOW_WRITES = FALSE"
    )


def create_integration(integration: Integration) -> str:
    """Makes the catalog integration if missing."""
    account = _account_of(integration.role_arn)
    return (
        f"CREATE CATALOG INTEGRATION IF NOT EXISTS {double_quoted(integration.name)} "
        "CATALOG_SOURCE = GLUE TABLE_FORMAT = ICEBERG "
        f"GLUE_AWS_ROLE_ARN = {text(integration.role_arn)} "
        f"GLUE_CATALOG_ID = {text(integration.catalog_id or account)} "
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


def table_information(*tables: Relation) -> str:
    """Asks which metadata file each table shows, in one row."""
    return f"SELECT {', '.join(map(_information, tables))}"


def is_refresh(sql: str) -> bool:
    """Whether a statement has Snowflake read newer metadata."""
    return sql.startswith("ALTER ICEBERG TABLE ") and sql.endswith(" REFRESH")


def needs_warehouse(sql: str) -> bool:
    """Whether a statement may: one that selects from something. SHOW, DESCRIBE, DDL and functions need none.

    https://docs.snowflake.com/en/user-guide/warehouses-overview
    """
    return sql.startswith("SELECT ") and " FROM " in sql


def shown_and_counted(table: Relation) -> str:
    """Asks which metadata file the table shows, and how many rows that has."""
    return f"SELECT {_information(table)}, (SELECT COUNT(*) FROM {table})"


def _information(table: Relation) -> str:
    return f"SYSTEM$GET_ICEBERG_TABLE_INFORMATION({text(str(table))})"


def counts_of(tables: Sequence[Relation]) -> str:
    """Counts the rows of each table, in one row."""
    return f"SELECT {', '.join(f'(SELECT COUNT(*) FROM {table})' for table in tables)}"


def refreshes_of(tables: Sequence[Relation]) -> str:
    """Asks when Snowflake read the metadata of each table last: its place among these, and seconds of UTC."""
    return " UNION ALL ".join(
        f"SELECT {place}, DATE_PART(EPOCH_SECOND, MAX(REFRESHED_ON)) FROM TABLE("
        f"{double_quoted(table.database)}.INFORMATION_SCHEMA.ICEBERG_TABLE_SNAPSHOT_REFRESH_HISTORY("
        f"TABLE_NAME => {text(str(table))}))"
        for place, table in enumerate(tables)
    )


def columns_in(database: str, relations: Sequence[Relation]) -> str:
    """Lists columns of tables and views of a database: schema, relation, name, and parts of its type."""
    return (
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, NUMERIC_PRECISION, NUMERIC_SCALE "
        f"FROM {double_quoted(database)}.INFORMATION_SCHEMA.COLUMNS WHERE {_named(relations)} "
        "ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
    )


def _named(relations: Sequence[Relation]) -> str:
    """A condition that holds for these, and may hold for others of their schemas."""
    schemas = ", ".join(dict.fromkeys(text(each.schema) for each in relations))
    names = ", ".join(dict.fromkeys(text(each.name) for each in relations))
    return f"TABLE_SCHEMA IN ({schemas}) AND TABLE_NAME IN ({names})"


def link_status(database: str) -> str:
    """Asks how a catalog-linked database follows its catalog."""
    return f"SELECT SYSTEM$CATALOG_LINK_STATUS({text(double_quoted(database))})"


def create_view_as(view: Relation, query: str, columns: Sequence[str] = ()) -> str:
    """Creates or replaces the view of a query; its grants stay.

    Args:
        view: The view.
        query: What it selects.
        columns: What it calls the columns, where the query does not say.
    """
    listed = f" ({', '.join(map(double_quoted, columns))})" if columns else ""
    return f"CREATE OR REPLACE VIEW {view}{listed} COPY GRANTS AS {query}"


def comments_in(database: str, views: Sequence[Relation]) -> str:
    """Asks for the comments of views of one database; no row for one that its role may not see."""
    listed = f"{double_quoted(database)}.INFORMATION_SCHEMA.TABLES"
    return f"SELECT TABLE_SCHEMA, TABLE_NAME, COMMENT FROM {listed} WHERE {_named(views)}"


def comment_on_view(view: Relation, comment: str) -> str:
    """Says something of a view; it is not replaced, so tags, policies and grants stay."""
    return f"COMMENT ON VIEW {view} IS {text(comment)}"


def get_tags(asked: Sequence[tuple[Relation, Relation, str]]) -> str:
    """Asks for the values of tags, in one row; null for one that is not there.

    Each is of the table that is named before it, or of the column behind it.
    """
    return f"SELECT {', '.join(_get_tag(table, tag, column) for table, tag, column in asked)}"


def _get_tag(table: Relation, tag: Relation, column: str) -> str:
    name = double_quoted(*table.parts, column) if column else str(table)
    domain = "column" if column else "table"
    return f"SYSTEM$GET_TAG({text(str(tag))}, {text(name)}, {text(domain)})"


def set_tags(table: Relation, values: Sequence[tuple[Relation, str]], column: str = "") -> str:
    """Sets tags of the table, or of a column, and leaves others alone."""
    given = ", ".join(f"{tag} = {text(value)}" for tag, value in values)
    on = f" MODIFY COLUMN {double_quoted(column)}" if column else ""
    return f"ALTER ICEBERG TABLE {table}{on} SET TAG {given}"


def show_in(kind: Kind, database: str) -> str:
    """Lists all of a database."""
    return f"SHOW {kind} IN DATABASE {double_quoted(database)}"


def show_like(kind: Kind, relation: Relation) -> str:
    """Lists a relation, and others of its schema whose names LIKE takes for the same: `_` is any letter."""
    schema = double_quoted(relation.database, relation.schema)
    return f"SHOW {kind} LIKE {text(relation.name)} IN SCHEMA {schema}"
