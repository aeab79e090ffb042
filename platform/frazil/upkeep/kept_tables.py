"""The tables that one spec keeps: the topic's own, and its dead letters' where there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.spec.names import TableName
from frazil.tables.catalog import load_table, load_table_or_none

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["GC_ENABLED", "kept_tables", "may_delete_files"]

GC_ENABLED = "gc.enabled"
"""Iceberg's property; false where a table shares files with another one."""


def kept_tables(catalog: Catalog, name: TableName) -> dict[TableName, Table]:
    """The tables by name, as they are now.

    Raises:
        MissingError: There is no such table.
    """
    found = {name: load_table(catalog, name)}
    letters = load_table_or_none(catalog, name.dead_letters)
    return found | ({name.dead_letters: letters} if letters else {})


def may_delete_files(table: Table) -> bool:
    """False where the table's owner forbids it, because its files may be another table's, too."""
    return table.properties.get(GC_ENABLED, "true").lower() != "false"
