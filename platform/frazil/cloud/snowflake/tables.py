"""Iceberg tables that Snowflake reads in place, and views that leave out Kafka's metadata columns.

They live in the deployment's own schema, so whatever is there by these names is the deployment's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from frazil.cloud.resource import Facts, Known
from frazil.cloud.snowflake.grants import Grants
from frazil.cloud.snowflake.ownership import GRANTS, Marked
from frazil.cloud.snowflake.user import Keys, logged_in
from frazil.errors import MissingError, NotAllowedError
from frazil.publishing.snowflake.statements import text
from frazil.quoting import double_quoted

_METADATA = "$$"


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
    """A table of the catalog behind the integration."""

    volume: str = field(kw_only=True)
    integration: str = field(kw_only=True)
    namespace: Callable[[Known], str] = field(kw_only=True)
    table: str = field(kw_only=True)

    kind: ClassVar[str] = "ICEBERG TABLE"
    fixed: ClassVar[frozenset[str]] = frozenset({"volume", "integration", "namespace", "table"})

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {
            **super().wanted(known),
            "owner": self.owner,
            "volume": self.volume,
            "integration": self.integration,
            "namespace": self.namespace(known),
            "table": self.table,
        }

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        return {
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
            f"CATALOG_NAMESPACE = {text(self.namespace(known))} {self.comment}"
        )

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        to = f"TO ROLE {double_quoted(self.owner)}"
        self.snowflake.query(
            f"GRANT OWNERSHIP ON TABLE {double_quoted(*self.name)} {to} COPY CURRENT GRANTS", role=GRANTS
        )


@dataclass(frozen=True)
class View(Owned):
    """A view of a table's columns without those of Kafka's metadata; it follows the table's columns."""

    of: IcebergTable = field(kw_only=True)

    kind: ClassVar[str] = "VIEW"

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {**super().wanted(known), "columns": self._shown()}

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        return {"columns": self.columns("VIEW")}

    def create(self, known: Known) -> None:
        """See `Resource`."""
        self._make("CREATE VIEW IF NOT EXISTS", "")

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`: a view carries no trust, and its grants are copied."""
        self._make("CREATE OR REPLACE VIEW", "COPY GRANTS ")

    def _make(self, verb: str, copying: str) -> None:
        listed = ", ".join(double_quoted(column) for column in self._shown())
        table, view = double_quoted(*self.of.name), double_quoted(*self.name)
        self.say(f"{verb} {view} {copying}{self.comment} AS SELECT {listed} FROM {table}")

    def _shown(self) -> list[str]:
        return [name for name in self.of.columns("TABLE") if not name.startswith(_METADATA)]
