"""The table that a derivation writes to: made from what the query gives, evolved by the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.errors import SchemaRefusedError
from frazil.formats.evolution import Verdict, refused, verdicts
from frazil.formats.logical import Struct
from frazil.formats.types import from_iceberg, spark_type
from frazil.landing.schema.evolve import apply_changes
from frazil.quoting import quoted
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.commits.staging import is_staged
from frazil.tables.creation import create_table, load_with_head
from frazil.tables.format_v3.fields import NAMES, has_row_ids
from frazil.tables.layout import arrange, table_properties
from frazil.tables.spark.columns import fields_of

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction
    from pyspark.sql import DataFrame


def types_of(table: Table) -> dict[str, str]:
    """The columns of a table in their order, with Spark's types."""
    return {field.name: spark_type(field.type) for field in from_iceberg(table.schema())}


def stored_types(table: Table) -> dict[str, str]:
    """The same, and the ids of rows where those of the table have some: in files that replace others."""
    return types_of(table) | dict.fromkeys(NAMES.values() if has_row_ids(table) else (), "bigint")


def types_in(rows: DataFrame) -> dict[str, str]:
    """The same of rows; raises as `fields_of` does."""
    return {field.name: spark_type(field.type) for field in fields_of(rows)}


def alike_sql(columns: Mapping[str, str]) -> str:
    """Whether each column equals its expression, as SQL for a join; nulls are equal."""
    return " AND ".join(f"{sql} <=> {quoted(name)}" for name, sql in columns.items())


def cast(rows: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """The same rows with the columns of a table, in its order and its types; null where one is missing."""
    there = set(rows.columns)
    return rows.selectExpr(
        *(
            f"CAST({quoted(name) if name in there else 'NULL'} AS {kind}) AS {quoted(name)}"
            for name, kind in types.items()
        )
    )


def ensure_output(spec: DerivedSpec, handle: TableHandle, rows: DataFrame, made_of: str) -> Table:
    """The table, made if missing, evolved if the query asks for it, with a head on `main`.

    Of `rows` only the columns are looked at; `made_of` names the inputs for people.

    Raises:
        SchemaRefusedError: A column would need a type that its rows can't have.
        DifferentError: The catalog made an older format version than the spec asks for.
        SpecError: A column's type is none that tables have, or the layout names a wrong column.
    """
    wanted = Struct(fields_of(rows))
    table = load_with_head(handle)
    if table is None:
        properties = table_properties(spec, spec.description or f"Made of {made_of} by Frazil.")
        table = create_table(handle, wanted, spec.transforms, properties)
    return arrange(spec, _evolved(table, wanted))


def _evolved(table: Table, wanted: Struct) -> Table:
    def stage(current: Table) -> Transaction | None:
        have = from_iceberg(current.schema())
        kept = [f.name for f in have if not wanted.get(f.name)]  # of an earlier query; null from now on
        changes = verdicts(have, wanted, kept)
        if stopping := refused(changes):
            raise _refusal(name_of(table), stopping)
        tx = transaction(current)
        apply_changes(tx, [change for change in changes if change.wanted])
        return tx if is_staged(tx) else None

    if stage(table) is None:
        return table
    return commit(TableHandle.of(table), stage, work="schema change", todo="Derive it again.").table


def _refusal(name: TableName, stopping: list[Verdict]) -> SchemaRefusedError:
    return SchemaRefusedError(
        f"The query no longer fits its table {name}.",
        where="; ".join(f"column {v}" for v in stopping),
        meaning="Nothing was derived; the table and its position are as they were.",
        todo="CAST the column to its former type, or give the table another name: a rebuild does not help.",
    )
