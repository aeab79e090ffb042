"""The table that a derivation writes to: made from what the query gives, evolved by the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.derive.columns import fields_of
from frazil.errors import SchemaRefusedError
from frazil.formats.evolution import Verdict, refused, verdicts
from frazil.formats.logical import Struct
from frazil.formats.types import from_iceberg
from frazil.landing.evolve import apply_changes
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.tables.commit import commit, is_staged
from frazil.tables.create import create_table, load_with_head
from frazil.tables.layout import arrange, write_properties

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction
    from pyspark.sql import DataFrame

__all__ = ["ensure_output"]


def ensure_output(
    spec: DerivedSpec, name: TableName, catalog: Catalog, rows: DataFrame, made_of: str
) -> Table:
    """The table, made if missing, evolved if the query asks for it, with a head on `main`.

    Args:
        spec: The table's spec.
        name: The table.
        catalog: Its catalog.
        rows: What it will hold; asked for its columns only.
        made_of: The inputs, for people.

    Raises:
        SchemaRefusedError: A column would need a type that its rows can't have.
        SpecError: A column's type is none that tables have, or the layout names a wrong column.
    """
    wanted = Struct(fields_of(rows))
    table = load_with_head(catalog, name)
    if table is None:
        table = create_table(catalog, name, wanted, spec.transforms, _properties(spec, made_of))
    return arrange(spec, name, catalog, _evolved(name, catalog, table, wanted))


def _evolved(name: TableName, catalog: Catalog, table: Table, wanted: Struct) -> Table:
    def stage(found: Table) -> Transaction | None:
        have = from_iceberg(found.schema())
        kept = [f.name for f in have if not wanted.get(f.name)]  # of an earlier query; null from now on
        changes = verdicts(have, wanted, kept)
        if stopping := refused(changes):
            raise _refusal(name, stopping)
        tx = found.transaction()
        apply_changes(tx, [change for change in changes if change.wanted])
        return tx if is_staged(tx) else None

    if stage(table) is None:
        return table
    return commit(catalog, name, stage, work="schema change", todo="Derive it again.").table


def _properties(spec: DerivedSpec, made_of: str) -> dict[str, str]:
    return {
        "format-version": "2",
        "comment": spec.description or f"Made of {made_of} by Frazil.",
        **write_properties(spec.write),
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "100",
        "write.metadata.metrics.max-inferred-column-defaults": "1000",
    }


def _refusal(name: TableName, stopping: list[Verdict]) -> SchemaRefusedError:
    return SchemaRefusedError(
        f"The query no longer fits its table {name}.",
        where="; ".join(f"column {v}" for v in stopping),
        meaning="Nothing was derived; the table and its position are as they were.",
        todo="CAST the column to its former type, or give the table another name: a rebuild does not help.",
    )
