"""Names and types in Spark's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.formats.iceberg import from_iceberg, spark_type

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

__all__ = ["cast", "quoted", "types_in", "types_of"]


def quoted(name: str) -> str:
    """A column's name as SQL takes it, whatever it is made of."""
    return f"`{name.replace('`', '``')}`"


def types_of(table: Table) -> dict[str, str]:
    """The columns of a table in their order, with Spark's types."""
    return {field.name: spark_type(field.type) for field in from_iceberg(table.schema())}


def types_in(rows: DataFrame) -> dict[str, str]:
    """The same of rows that Spark knows."""
    return {field.name: field.dataType.simpleString() for field in rows.schema.fields}


def cast(rows: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """The same rows with the columns of a table, in its order and its types; null where one is missing."""
    there = set(rows.columns)
    return rows.selectExpr(
        *(
            f"CAST({quoted(name) if name in there else 'NULL'} AS {kind}) AS {quoted(name)}"
            for name, kind in types.items()
        )
    )
