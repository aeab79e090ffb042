"""A table whose schemas were refused: suspended with the verdicts, until a fitting schema is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from frazil.errors import SchemaRefusedError
from frazil.spec.names import TableName
from frazil.tables.catalog import load_table_or_none
from frazil.tables.properties import set_properties
from frazil.tables.stage import SUSPENDED

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["SUSPENDED_BY", "fitting", "marks"]

SUSPENDED_BY = "frazil.suspended-by"
"""Table property `schema` where a schema suspends the table, and not a record."""

T = TypeVar("T")


def fitting(catalog: Catalog, name: TableName, prepare: Callable[[], T]) -> T:
    """What `prepare` makes of the newest schemas; the table is suspended where they are refused.

    It is asked twice: the first time a newer schema may have been registered, and taken by another
    landing, between its look at the registry and its look at the table.

    Raises:
        SchemaRefusedError: Refused twice.
    """
    try:
        return prepare()
    except SchemaRefusedError:
        pass
    try:
        return prepare()
    except SchemaRefusedError as e:
        _suspend(catalog, name, e)
        raise


def marks(table: Table) -> tuple[str, ...]:
    """The properties that go when a fitting schema is there again."""
    if table.properties.get(SUSPENDED_BY) != "schema":
        return ()
    return tuple(p for p in (SUSPENDED, SUSPENDED_BY) if p in table.properties)


def _suspend(catalog: Catalog, name: TableName, error: SchemaRefusedError) -> None:
    table = load_table_or_none(catalog, name)
    said = {SUSPENDED: error.where, SUSPENDED_BY: "schema"}
    if table is not None and said.items() - table.properties.items():
        set_properties(catalog, name, said)
