"""How OpenLineage names topics and tables: so that what others send of the same ones joins.

Source of the rules: openlineage.io/docs/spec/naming, and for Iceberg tables OpenLineage's own Spark
integration, which names a table by its location and adds its name in the catalog as a symlink.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from frazil.publishing.target import Shown
from frazil.settings.profile import Settings
from frazil.spec.names import TableName


@dataclass(frozen=True, slots=True)
class DatasetName:
    """A dataset's name, which is unique within its namespace."""

    namespace: str
    name: str


def topic_name(topic: str, settings: Settings) -> DatasetName:
    """The name of a topic: the first broker stands for the cluster."""
    broker = settings.kafka.bootstrap_servers.split(",")[0].strip()
    return DatasetName(f"kafka://{broker.rpartition('://')[2]}", topic)


def stored_name(location: str) -> DatasetName:
    """The name of an Iceberg table, by its location: the bucket is the namespace."""
    at = urlsplit(location)
    namespace = f"{at.scheme}://{at.netloc}" if at.netloc else at.scheme or "file"
    return DatasetName(namespace, at.path.strip("/") if at.netloc else at.path.rstrip("/"))


def catalog_name(table: TableName, settings: Settings) -> DatasetName | None:
    """The name of an Iceberg table in the catalog that owns it; None where Glue's account is not known."""
    if settings.catalog == "rest":
        return DatasetName(public(settings.rest.uri), str(table))
    account = settings.glue.catalog_id
    return _glue_name(settings.aws.region, account, table.namespace, table.table) if account else None


def target_name(shown: Shown, settings: Settings) -> DatasetName:
    """The name of a table in a target."""
    match shown.path:
        case ("glue", database, table):
            account = shown.account or settings.glue.catalog_id or ""
            return _glue_name(settings.aws.region, account, database, table)
        case ("snowflake", database, schema, table):
            parts = (part.upper() for part in (database, schema, table))
            return DatasetName(f"snowflake://{settings.snowflake.account}", ".".join(parts))
        case (word, *parts):
            return DatasetName(word, "/".join(parts))
    raise AssertionError("an asset's key is never empty")


def public(address: str) -> str:
    """An address without the login and the query that it may hold."""
    at = urlsplit(address)
    return f"{at.scheme}://{at.netloc.rpartition('@')[2]}{at.path}"


def _glue_name(region: str, account: str, database: str, table: str) -> DatasetName:
    return DatasetName(f"arn:aws:glue:{region}:{account}", f"table/{database}/{table}")
