"""Catalog-linked databases: the tables of a catalog are found, refreshed and dropped by themselves.

By docs.snowflake.com, "Use a catalog-linked database for Apache Iceberg tables". Here a look into the catalog
is taken before the next statement, as soon as it is due. Storage is read by an external volume; nothing is
written to the catalog.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from frazil.quoting import double_quoted
from frazil_local.snowflake.access import Access
from frazil_local.snowflake.answers import Refused, already_there, syntax_error, unsupported
from frazil_local.snowflake.engine import own_cursor
from frazil_local.snowflake.iceberg.integrations import tables_listed
from frazil_local.snowflake.iceberg.tables import IcebergTables
from frazil_local.snowflake.knobs import Knobs
from frazil_local.snowflake.language.options import check_interval, strange_in
from frazil_local.snowflake.language.statements import Create, Kind, Name
from frazil_local.snowflake.objects import Objects, Stored

_KIND: Kind = "LINKED DATABASE"
_OPTIONS = ("LINKED_CATALOG", "EXTERNAL_VOLUME", "COMMENT", "CATALOG_CASE_SENSITIVITY")
_INSIDE = (
    "CATALOG", "CATALOG_NAME", "ALLOWED_NAMESPACES", "BLOCKED_NAMESPACES", "ALLOWED_WRITE_OPERATIONS",
    "NAMESPACE_MODE", "NAMESPACE_FLATTEN_DELIMITER", "SYNC_INTERVAL_SECONDS",
)  # fmt: skip
_NOT_REST = 94403


class LinkedDatabases:
    """The catalog-linked databases of the account."""

    def __init__(
        self,
        access: Access,
        objects: Objects,
        fakesnow: Any,
        tables: IcebergTables,
        knobs: Knobs,
        pace: float = 1.0,
    ) -> None:
        self._access, self._objects, self._fakesnow = access, objects, fakesnow
        self._tables, self._knobs, self._pace = tables, knobs, pace

    def create(self, statement: Create) -> None:
        """Makes the database, and looks into its catalog."""
        link = _checked(statement.properties)
        integration = self._objects.get("CATALOG INTEGRATION", (str(link["CATALOG"]).upper(),))
        if integration.text("CATALOG_SOURCE").upper() == "GLUE":
            problem = f"Catalog integration {integration.plain_name} is not one of an Iceberg REST catalog."
            raise Refused(_NOT_REST, "22000", f"SQL execution error: {problem}")
        volume = str(statement.properties.get("EXTERNAL_VOLUME", "")).upper()
        self._objects.get("EXTERNAL VOLUME", (volume,))
        if self._objects.find(_KIND, statement.name):
            raise already_there("Database", statement.name[-1])
        made = self._fakesnow.connect().cursor()
        made.execute(f"CREATE DATABASE {double_quoted(*statement.name)}")
        own = {"CATALOG": integration.plain_name, "EXTERNAL_VOLUME": volume}
        self._objects.add(_KIND, statement.name, {**link, **own})
        self.look()

    def look(self) -> None:
        """Looks into each catalog that is due."""
        if self._knobs.ways.refreshes:
            for database in self._objects.all(_KIND):
                if time.time() - float(database.text("LOOKED_ON", "0")) >= _interval(database) * self._pace:
                    self._follow(database)

    def status(self, name: Name) -> str:
        """SYSTEM$CATALOG_LINK_STATUS."""
        database = self._objects.get(_KIND, name)
        failed = {"failedExecutionStateReason": "REASON", "failedExecutionStateErrorCode": "NUMBER"}
        at = datetime.fromtimestamp(float(database.text("LOOKED_ON", "0")), UTC).isoformat()
        return json.dumps({
            "executionState": database.text("STATE", "RUNNING"),
            **{word: database.text(kept) for word, kept in failed.items() if database.text(kept)},
            "lastLinkAttemptStartTime": at,
            "failureDetails": json.loads(database.text("FAILURES", "[]")),
        })  # fmt: skip

    def has(self, name: Name) -> bool:
        """Whether a relation is in such a database."""
        return self._objects.find(_KIND, name[:1]) is not None

    def drop(self, name: str) -> None:
        """Forgets the link; the catalog stays as it is."""
        self._objects.remove(_KIND, (name,))

    def _follow(self, database: Stored) -> None:
        kept: dict[str, Any] = {**database.properties, "LOOKED_ON": str(time.time())}
        try:
            integration = self._objects.get("CATALOG INTEGRATION", (database.text("CATALOG"),))
            wanted = tables_listed(self._access, integration, partial(_allows, database))
        except Refused as e:
            failed = {"STATE": "FAILED", "REASON": e.text, "NUMBER": f"{e.number:06d}"}
            self._objects.change(_KIND, database.name, {**kept, **failed})
            return
        failures = self._take_over(database, wanted)
        fine = {"STATE": "RUNNING", "REASON": "", "NUMBER": "", "FAILURES": json.dumps(failures)}
        self._objects.change(_KIND, database.name, {**kept, **fine})

    def _take_over(self, database: Stored, wanted: list[tuple[str, str]]) -> list[dict[str, str]]:
        names = {(*database.name, *each) for each in wanted}
        known = {table.name for table in self._tables.all() if table.name[:1] == database.name}
        for gone in known - names:
            self._tables.drop(gone)
        failures = []
        for name in sorted(names - known):
            try:
                self._tables.take_over(name, self._properties_of(database, name))
            except Refused as e:
                failures.append(_failure(name, e))
        return failures

    def _properties_of(self, database: Stored, name: Name) -> dict[str, Any]:
        with own_cursor(self._fakesnow) as cursor:
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {double_quoted(*name[:2])}")
        return {
            "CATALOG": database.text("CATALOG"),
            "EXTERNAL_VOLUME": database.text("EXTERNAL_VOLUME"),
            "CATALOG_NAMESPACE": name[1],
            "CATALOG_TABLE_NAME": name[2],
            "AUTO_REFRESH": "TRUE",
            "SYNC_INTERVAL_SECONDS": str(_interval(database)),
        }


def _checked(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What LINKED_CATALOG says; refuses what it does not know."""
    link = given.get("LINKED_CATALOG")
    if not isinstance(link, Mapping) or "CATALOG" not in link:
        raise syntax_error("LINKED_CATALOG needs ( CATALOG = '<integration>' ... ).")
    if strange := strange_in(given, _OPTIONS) or strange_in(link, _INSIDE):
        raise syntax_error(f"invalid property '{strange}' for a catalog-linked database")
    check_interval("SYNC_INTERVAL_SECONDS", link)
    if not given.get("EXTERNAL_VOLUME"):
        raise unsupported("credentials that a catalog vends; name an EXTERNAL_VOLUME.")
    return link


def _interval(database: Stored) -> float:
    return float(database.text("SYNC_INTERVAL_SECONDS", "30"))


def _allows(database: Stored, namespace: str) -> bool:
    allowed, blocked = (database.properties.get(f"{word}_NAMESPACES") for word in ("ALLOWED", "BLOCKED"))
    return (not allowed or namespace in allowed) and namespace not in (blocked or ())


def _failure(name: Name, refused: Refused) -> dict[str, str]:
    return {
        "qualifiedEntityName": ".".join(name[1:]),
        "entityDomain": "TABLE",
        "operation": "CREATE",
        "errorCode": f"{refused.number:07d}",
        "errorMessage": refused.text,
    }
