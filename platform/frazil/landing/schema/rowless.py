"""Tables without rows: they may change in any way, for there is nothing that a change would falsify."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from frazil.formats.columns.columns import RecordColumns, metadata_columns
from frazil.formats.evolution import Verdict, refused
from frazil.formats.logical import Field
from frazil.formats.row_key import row_key
from frazil.formats.types import as_stored, iceberg_type
from frazil.landing.upsert.divisions import default_divisions
from frazil.spec.topic import TableSpec
from frazil.tables.layout import stage_divisions
from frazil.tables.migrations import divided_by, set_aside

if TYPE_CHECKING:
    from pyiceberg.table import Transaction
    from pyiceberg.table.update.schema import UpdateSchema

_RULE = "the table has no rows, so the column is made anew"


def without_rows(changes: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts on a table without rows: what is refused elsewhere is done."""
    return [v if v.allowed else replace(v, allowed=True, rule=_RULE, todo="") for v in changes]


def add_metadata(spec: TableSpec, tx: Transaction) -> None:
    """Stages the metadata columns of the spec's mode that the table was not made with."""
    there = tx.table_metadata.schema().column_names
    wanted = [column.field(spec.metadata_names) for column in metadata_columns(spec)]
    if missing := [field for field in wanted if field.name not in there]:
        with tx.update_schema(allow_incompatible_changes=True) as update:
            _add(update, missing)


def _add(update: UpdateSchema, fields: Iterable[Field], before: str | None = None) -> None:
    for field in fields:
        kind = iceberg_type(field.type, count(1))
        update.add_column(field.name, kind, field.doc or None, required=not field.optional)
        if before:
            update.move_before(field.name, before)


def make_anew(
    spec: TableSpec,
    tx: Transaction,
    columns: RecordColumns,
    changes: Sequence[Verdict],
    metadata: Collection[str],
) -> None:
    """Stages the columns anew of which a verdict refuses what the schemas ask for.

    A column by which the table was ever divided or sorted can't go, for its metadata names it: it stays
    under another name, and is empty.
    """
    names = dict.fromkeys(v.where.path[0] for v in refused(changes))
    there = [name for name in names if name in tx.table_metadata.schema().column_names]
    if aside := [name for name in there if divided_by(tx.table_metadata, name)]:
        set_aside(tx, aside)
    with tx.update_schema() as update:
        for name in there:
            if name not in aside:
                update.delete_column(name)
    left = tx.table_metadata.schema().column_names
    wanted = [f for f in as_stored(columns.fields) if f.name not in left]
    before = next((f.name for f in tx.table_metadata.schema().fields if f.name in metadata), None)
    with tx.update_schema(allow_incompatible_changes=True) as update:
        _add(update, wanted, before)
    if aside:
        default = default_divisions(spec, columns.fields, row_key(spec, columns))
        stage_divisions(tx, spec.transforms or default, spec.sort_terms)
