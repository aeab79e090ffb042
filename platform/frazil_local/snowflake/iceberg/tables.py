"""Iceberg tables of a Glue catalog: views of the metadata that Glue showed at the last refresh."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import duckdb
from pyiceberg.manifest import DataFileContent, ManifestContent
from pyiceberg.table import StaticTable

from frazil.quoting import double_quoted
from frazil_local.snowflake.access import Access
from frazil_local.snowflake.answers import Refused, Result, already_there, missing, unsupported
from frazil_local.snowflake.engine import ICEBERG_TABLE, drop_database, own_cursor, text
from frazil_local.snowflake.iceberg.columns import described_columns, select_of
from frazil_local.snowflake.iceberg.integrations import check_enabled, metadata_location
from frazil_local.snowflake.iceberg.volumes import active_location
from frazil_local.snowflake.knobs import Knobs
from frazil_local.snowflake.language.statements import Create, Name, Properties
from frazil_local.snowflake.objects import Objects, Stored

_SCHEMA = "select 1 from duckdb_schemas() where database_name = ? and schema_name = ?"
_RELATION = """
select 1 from information_schema.tables where table_catalog = ? and table_schema = ? and table_name = ?
"""

_DESCRIBED = (
    "name", "type", "kind", "null?", "default", "primary key", "unique key", "check", "expression",
    "comment", "policy name", "privacy domain",
)  # fmt: skip


class IcebergTables:
    """Iceberg tables of the account; queries on them run on fakesnow."""

    def __init__(
        self, access: Access, objects: Objects, fakesnow: Any, knobs: Knobs, pace: float = 1.0
    ) -> None:
        self._access = access
        self._objects = objects
        self._fakesnow = fakesnow
        self._knobs = knobs
        self._pace = pace

    def find(self, name: Name) -> Stored | None:
        """The table, refreshed if it is due; None if its schema or database was dropped, too."""
        stored = self._objects.find("ICEBERG TABLE", name)
        if stored and not self._exists(_RELATION, *name):
            self._objects.remove("ICEBERG TABLE", name)
            return None
        if stored and self._is_due(stored):
            self._refresh_itself(stored)
            return self._objects.find("ICEBERG TABLE", name)
        return stored

    def get(self, name: Name) -> Stored:
        """The table; refuses where there is none."""
        if stored := self.find(name):
            return stored
        raise missing("Table", ".".join(name))

    def all(self) -> list[Stored]:
        """All tables, by name."""
        return [t for t in self._objects.all("ICEBERG TABLE") if self.find(t.name)]

    def described(self, name: Name) -> Result:
        """DESC TABLE: the columns, as the table's metadata had them at the last refresh."""
        if not self.get(name).text("DESCRIBED"):  # made by an earlier version
            self._show(name, self.get(name).properties)
        policies: Any = self.get(name).properties.get("POLICIES", {})
        rows = (dict(zip(_DESCRIBED, row, strict=True)) for row in _described(self.get(name)))
        masked = ({**row, "policy name": policies.get(row["name"])} for row in rows)
        return Result(_DESCRIBED, tuple(tuple(row.values()) for row in masked))

    def create(self, statement: Create) -> bool:
        """Makes the table; returns False where it was there and IF NOT EXISTS was said."""
        name = statement.name
        if self._exists(_RELATION, *name) and not statement.or_replace:
            if statement.if_not_exists:
                return False
            raise already_there("Object", ".".join(name))
        if not self._exists(_SCHEMA, *name[:2]):
            raise missing("Schema", ".".join(name[:2]))
        self._show(name, self._resolved(statement.properties))
        return True

    def take_over(self, name: Name, properties: Properties) -> None:
        """Shows a table that a catalog-linked database found."""
        self._show(name, properties)

    def refresh(self, name: Name) -> None:
        """Shows what Glue points to now; refuses what Snowflake could not read, or does by itself."""
        table = self.get(name)
        if _refreshes_itself(table):
            problem = f"Table {table.plain_name} is refreshed automatically: SET AUTO_REFRESH = FALSE before."
            raise Refused(2, "0A000", f"Unsupported feature: {problem}")
        self._show(name, table.properties)

    def open(self, name: Name) -> None:
        """Opens the files of a table for the query to come; nothing to open where there is no such table."""
        if table := self.find(name):
            with own_cursor(self._fakesnow) as cursor:
                self._access.open(cursor, active_location(self._volume(table.properties)))

    def count(self, name: Name) -> int:
        """The rows of a table."""
        self.get(name)
        self.open(name)
        with own_cursor(self._fakesnow) as cursor:
            return int(cursor.execute(f"SELECT COUNT(*) FROM {double_quoted(*name)}").fetchone()[0])

    def change(self, name: Name, options: Properties) -> None:
        """Gives a table other options."""
        self._objects.change("ICEBERG TABLE", name, {**self.get(name).properties, **options})

    def _is_due(self, table: Stored) -> bool:
        if not _refreshes_itself(table) or not self._knobs.ways.refreshes:
            return False
        integration = self._objects.find("CATALOG INTEGRATION", (table.text("CATALOG"),))
        every = integration.text("REFRESH_INTERVAL_SECONDS", "30") if integration else "30"
        seconds = float(table.text("SYNC_INTERVAL_SECONDS", every))
        return time.time() - float(table.text("REFRESHED_ON", "0")) >= seconds * self._pace

    def _refresh_itself(self, table: Stored) -> None:
        """Snowflake goes on trying, and says that it has stalled."""
        try:
            if self._location(table.properties) != table.text("METADATA_LOCATION"):
                self._show(table.name, table.properties)
            else:
                fine = {"REFRESH_STATE": "RUNNING", "REASON": "", "REFRESHED_ON": str(time.time())}
                self._objects.change("ICEBERG TABLE", table.name, {**table.properties, **fine})
        except Refused as e:
            stalled = {"REFRESH_STATE": "STALLED", "REASON": e.text, "REFRESHED_ON": str(time.time())}
            self._objects.change("ICEBERG TABLE", table.name, {**table.properties, **stalled})

    def drop(self, name: Name) -> None:
        """Forgets the table; its data stays where it is."""
        self.get(name)
        self._objects.remove("ICEBERG TABLE", name)
        with own_cursor(self._fakesnow) as cursor:
            cursor.execute(f"DROP VIEW IF EXISTS {double_quoted(*name)}")

    def keep_text(self, view: Name, sql: str) -> None:
        """Lets SHOW VIEWS say how a view was made, which duckdb would say in words of its own."""
        with own_cursor(self._fakesnow) as cursor, suppress(duckdb.Error):  # in a transaction nobody sees it
            cursor.execute(f"COMMENT ON VIEW {double_quoted(*view)} IS {text(sql)}")

    def drop_database(self, name: str) -> bool:
        """Drops a whole database with its Iceberg tables; answers False if there is none."""
        for table in self._objects.all("ICEBERG TABLE"):
            if table.name[0] == name:
                self._objects.remove("ICEBERG TABLE", table.name)
        return drop_database(self._fakesnow, name)

    def _resolved(self, given: Properties) -> dict[str, Any]:
        if "CATALOG" not in given or "CATALOG_TABLE_NAME" not in given:
            raise unsupported("CREATE ICEBERG TABLE without CATALOG and CATALOG_TABLE_NAME.")
        integration = self._objects.get("CATALOG INTEGRATION", (_upper(given, "CATALOG"),))
        volume = self._objects.get("EXTERNAL VOLUME", (_upper(given, "EXTERNAL_VOLUME"),))
        namespace = given.get("CATALOG_NAMESPACE") or integration.text("CATALOG_NAMESPACE")
        own = {"CATALOG": integration.plain_name, "EXTERNAL_VOLUME": volume.plain_name}
        return {**given, **own, "CATALOG_NAMESPACE": namespace}

    def _location(self, properties: Properties) -> str:
        """The metadata file that the table's catalog shows now."""
        namespace, table = str(properties["CATALOG_NAMESPACE"]), str(properties["CATALOG_TABLE_NAME"])
        integration = self._objects.get("CATALOG INTEGRATION", (str(properties["CATALOG"]),))
        check_enabled(integration)
        return metadata_location(self._access, integration, namespace, table)

    def _show(self, name: Name, properties: Properties) -> None:
        location = self._location(properties)
        volume = self._volume(properties)
        _check_location(location, volume)
        metadata = StaticTable.from_metadata(location, self._access.files(active_location(volume)))
        _check_deletes(metadata)
        with own_cursor(self._fakesnow) as cursor:
            self._access.open(cursor, active_location(volume))
            cursor.execute(f"CREATE OR REPLACE VIEW {double_quoted(*name)} AS {select_of(cursor, location)}")
            cursor.execute(f"COMMENT ON VIEW {double_quoted(*name)} IS '{ICEBERG_TABLE}'")
        kept = {
            **properties, "METADATA_LOCATION": location, "DESCRIBED": json.dumps(described_columns(metadata)),
            "REFRESHED_ON": str(time.time()), "REFRESH_STATE": "RUNNING", "REASON": "",
            "SHOWN_ON": str(int(time.time())),
        }  # fmt: skip
        if self._objects.find("ICEBERG TABLE", name):
            self._objects.change("ICEBERG TABLE", name, kept)
        else:
            self._objects.add("ICEBERG TABLE", name, kept)

    def _volume(self, properties: Properties) -> Stored:
        return self._objects.get("EXTERNAL VOLUME", (str(properties["EXTERNAL_VOLUME"]),))

    def _exists(self, query: str, *parameters: str) -> bool:
        with own_cursor(self._fakesnow) as cursor:
            return cursor.execute(query, parameters).fetchone() is not None


def columns_of(table: Stored) -> list[str]:
    """The names of its columns at the last refresh."""
    return [row[0] for row in _described(table)]


def _described(table: Stored) -> list[Any]:
    described: list[Any] = json.loads(table.text("DESCRIBED", "[]"))
    return described


def _refreshes_itself(table: Stored) -> bool:
    return table.text("AUTO_REFRESH").upper() == "TRUE"


def _check_location(location: str, volume: Stored) -> None:
    base_url = str(active_location(volume)["STORAGE_BASE_URL"])
    if not location.startswith(base_url.rstrip("/") + "/"):
        where = f"the active storage location {base_url} of external volume {volume.plain_name}"
        problem = f"SQL execution error: metadata location {location} is not below {where}."
        raise Refused(91358, "22000", problem)


def _check_deletes(table: StaticTable) -> None:
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot else []:
        if manifest.content != ManifestContent.DELETES:
            continue
        for entry in manifest.fetch_manifest_entry(table.io):
            if entry.data_file.content == DataFileContent.EQUALITY_DELETES:
                problem = "SQL execution error: Equality deletes on Iceberg tables are not supported"
                raise Refused(91968, "0A000", f"{problem}: {entry.data_file.file_path}")


def _upper(properties: Properties, name: str) -> str:
    return str(properties.get(name, "")).upper()
