"""Iceberg tables that Snowflake reads in place, and views that leave out Kafka's metadata columns.

They live in the deployment's own schema, so whatever is there by these names is the deployment's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from frazil.errors import MissingError, NotAllowedError, RepairError
from frazil.publishing.snowflake.statements import text
from frazil.quoting import double_quoted
from frazil_cloud.resource import Facts, Known, NeedMissingError, RefusedYet
from frazil_cloud.snowflake.freshness import Pointer, ReadMetadata, behind_since
from frazil_cloud.snowflake.ownership import GRANTS, Marked
from frazil_cloud.snowflake.rights.grants import ADMINISTRATOR, MISSING, Grants
from frazil_cloud.snowflake.rights.user import Keys, logged_in

_METADATA = "$$"
_RUNNING = "RUNNING"
_LOOKS = 3
"""How many times Snowflake may look at a catalog in vain, before what it shows counts as behind."""


@dataclass(frozen=True)
class Owned(Marked):
    """Something in the deployment's schema.

    Args:
        owner: The role that makes and refreshes it.
        grants: What the service user needs for reading it.
        keys: How that user logs in.
    """

    owner: str = field(kw_only=True)
    grants: tuple[Grants, ...] = field(kw_only=True)
    keys: Keys = field(kw_only=True)

    its_own: ClassVar[bool] = False

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {**super().wanted(known), "owner": self.owner}

    def read(self, known: Known) -> Facts | None:
        """See `Resource`. Where the owner's role is gone, nobody can take it and look."""
        if MISSING in known[ADMINISTRATOR].values():
            raise NeedMissingError(ADMINISTRATOR)
        return super().read(known)

    def take_back(self, there: Facts) -> None:
        """Makes the owner's what another role owns, as after the owner was dropped."""
        if there["owner"] != self.owner:
            to = f"TO ROLE {double_quoted(self.owner)}"
            self.snowflake.query(f"GRANT OWNERSHIP ON {self} {to} COPY CURRENT GRANTS", role=GRANTS)

    def say(self, sql: str) -> list[tuple[Any, ...]]:
        """See `Marked`: its owner does it."""
        return self.snowflake.query(sql, role=self.owner)

    def columns(self, kind: str) -> list[str]:
        """Its columns, in their order."""
        rows = self.snowflake.shown(f"DESC {kind} {double_quoted(*self.name)}", role=self.owner)
        return [str(row["name"]) for row in rows]

    def verify(self, there: Facts, known: Known) -> None:
        """Reads a row as the service user; a refusal names the grants that are missing."""
        service = logged_in(self.snowflake, self.keys)
        try:
            service.query(f"SELECT * FROM {double_quoted(*self.name)} LIMIT 1")
        except (NotAllowedError, MissingError):
            for each in self.grants:
                each.verify(each.read(known) or {}, known)
            raise
        finally:
            service.close()


@dataclass(frozen=True)
class IcebergTable(Owned):
    """A table of the catalog behind the integration, which Snowflake refreshes by itself.

    Args:
        pointer: What Glue shows of a table of a database; None: it has no such table.
        metadata: Reads a metadata file of it.
        maker: What is known of who makes it there.
        refresh: Seconds between two looks of Snowflake at the catalog.
    """

    volume: str = field(kw_only=True)
    integration: str = field(kw_only=True)
    namespace: Callable[[Known], str] = field(kw_only=True)
    table: str = field(kw_only=True)
    pointer: Callable[[str, str], Pointer | None] = field(kw_only=True, repr=False)
    metadata: ReadMetadata = field(kw_only=True, repr=False)
    maker: Callable[[Known], str] = field(kw_only=True, repr=False)
    refresh: int = field(kw_only=True)

    kind: ClassVar[str] = "ICEBERG TABLE"
    fixed: ClassVar[frozenset[str]] = frozenset({"volume", "integration", "namespace", "table"})

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {
            **super().wanted(known),
            "volume": self.volume,
            "integration": self.integration,
            "namespace": self.namespace(known),
            "table": self.table,
            "refreshes": _RUNNING,
            "behind": "",
        }

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        return {
            "refreshes": _execution_state(row),
            "behind": self._behind(str(row["catalog_namespace"])),
            "owner": row["owner"],
            "volume": row["external_volume_name"],
            "integration": row["catalog_name"],
            "namespace": row["catalog_namespace"],
            "table": row["catalog_table_name"],
        }

    def options(self, known: Known) -> str:
        """See `Marked`."""
        return (
            f"{double_quoted(*self.name)} EXTERNAL_VOLUME = {text(self.volume)} "
            f"CATALOG = {text(self.integration)} CATALOG_TABLE_NAME = {text(self.table)} "
            f"CATALOG_NAMESPACE = {text(self.namespace(known))} AUTO_REFRESH = TRUE {self.comment}"
        )

    def create(self, known: Known) -> None:
        """See `Resource`. While Glue has no such table, who makes it says why."""
        namespace = self.namespace(known)
        if self.pointer(namespace, self.table) is None:
            raise RefusedYet(f"Glue has no table {namespace}.{self.table} yet: {self.maker(known)}")
        super().create(known)

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        self.take_back(there)
        if there["refreshes"] != _RUNNING or there["behind"]:
            self._refresh_anew(there)

    def _refresh_anew(self, there: Facts) -> None:
        """Turns the refresh off and on: Snowflake refuses one by hand of a table that refreshes itself."""
        self.say(f"ALTER {self} SET AUTO_REFRESH = FALSE")
        try:
            if there["behind"]:
                self.say(f"ALTER {self} REFRESH")
        finally:
            self.say(f"ALTER {self} SET AUTO_REFRESH = TRUE")

    def verify(self, there: Facts, known: Known) -> None:
        """Reads a row, and compares the metadata that Snowflake shows with Glue's."""
        super().verify(there, known)
        if behind := self._behind(self.namespace(known)):
            raise RefusedYet(f"{self} is behind Glue: {behind}")

    def _behind(self, namespace: str) -> str:
        """What Snowflake should have shown by now, and does not; empty where it is in step."""
        glue = self.pointer(namespace, self.table)
        if glue is None:
            return ""
        sql = f"SELECT SYSTEM$GET_ICEBERG_TABLE_INFORMATION({text(double_quoted(*self.name))})"
        shown = str(json.loads(self.say(sql)[0][0])["metadataLocation"])
        if shown == glue.location:
            return ""
        since = behind_since(shown, glue, self.metadata)
        if (datetime.now(UTC) - since).total_seconds() < _LOOKS * self.refresh:
            return ""
        newer = f"something newer since {since:%Y-%m-%d %H:%M:%S %Z} (now {_file(glue.location)})"
        return f"Glue shows {newer}, Snowflake {_file(shown)}"


@dataclass(frozen=True)
class View(Owned):
    """A view of a table's columns without those of Kafka's metadata; it follows the table's columns."""

    of: IcebergTable = field(kw_only=True)

    kind: ClassVar[str] = "VIEW"

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        columns = self._shown()
        return {**super().wanted(known), "columns": columns, "query": self._query(columns)}

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`: what reads a table that is gone has no columns that anybody can tell."""
        made = str(row.get("text") or "").rstrip("; \n")
        try:
            columns = self.columns("VIEW")
        except (MissingError, RepairError):
            return {"owner": row["owner"], "columns": None, "query": made}
        query = self._query(columns)
        query_shown = query if made.endswith(query) else made
        return {"owner": row["owner"], "columns": columns, "query": query_shown}

    def create(self, known: Known) -> None:
        """See `Resource`."""
        self._make("CREATE VIEW IF NOT EXISTS", "")

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`: a view carries no trust, and its grants are copied."""
        self.take_back(there)
        self._make("CREATE OR REPLACE VIEW", "COPY GRANTS ")

    def _make(self, verb: str, copying: str) -> None:
        query = self._query(self._shown())
        self.say(f"{verb} {double_quoted(*self.name)} {copying}{self.comment} AS {query}")

    def _query(self, columns: list[str]) -> str:
        listed = ", ".join(double_quoted(column) for column in columns)
        return f"SELECT {listed} FROM {double_quoted(*self.of.name)}"

    def _shown(self) -> list[str]:
        try:
            columns = self.of.columns("TABLE")
        except MissingError:
            raise NeedMissingError(self.of.address) from None
        return [name for name in columns if not name.startswith(_METADATA)]


def _execution_state(row: dict[str, Any]) -> str:
    """Whether Snowflake refreshes a table by itself: a state in JSON, empty where it does not.

    See terraform-provider-snowflake, `pkg/sdk/iceberg_tables_ext.go`.
    """
    status = row.get("auto_refresh_status")
    return str(json.loads(status)["executionState"]) if status else "not by itself"


def _file(location: str) -> str:
    return location.rpartition("/")[2]
