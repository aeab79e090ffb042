"""Table properties, set and removed in commits of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from frazil.spec.names import TableName
from frazil.tables.commit import commit

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction

__all__ = ["remove_properties", "set_properties"]


def set_properties(
    catalog: Catalog,
    name: TableName,
    properties: dict[str, str],
    only: Callable[[Table], bool] = lambda _: True,
) -> None:
    """Sets table properties, if the table's present head is one that they are `only` for."""

    def stage(table: Table) -> Transaction | None:
        if not only(table) or not properties.items() - table.properties.items():
            return None
        return table.transaction().set_properties(properties)

    commit(catalog, name, stage, work="change of properties")


def remove_properties(catalog: Catalog, name: TableName, keys: Iterable[str]) -> None:
    """Removes those of the table properties that are there."""
    gone = tuple(keys)

    def stage(table: Table) -> Transaction | None:
        there = [key for key in gone if key in table.properties]
        return table.transaction().remove_properties(*there) if there else None

    commit(catalog, name, stage, work="change of properties")
