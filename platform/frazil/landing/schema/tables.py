"""The table that a landing writes to: made from the spec and the schema, evolved by the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from frazil.errors import RepairError
from frazil.formats.columns.columns import RecordColumns, metadata_names, table_fields
from frazil.formats.row_key import NO_KEY, RowKey
from frazil.landing.position.ledger import read_ledger
from frazil.landing.schema.evolve import evolve
from frazil.landing.schema.listing import NotedPaths, listed_paths
from frazil.landing.schema.masking import NotedMasks
from frazil.landing.upsert.divisions import default_divisions, divide_large
from frazil.landing.upsert.key import keep_key, key_properties
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.creation import create_table, load_with_head
from frazil.tables.layout import arrange, table_properties
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.migrations import needless

if TYPE_CHECKING:
    from pyiceberg.table import Table


def ensure_table(
    spec: TableSpec,
    handle: TableHandle,
    columns: RecordColumns,
    key: RowKey = NO_KEY,
    refuse: Callable[[Table], None] = lambda _: None,
    location: str | None = None,
    *,
    is_large: bool = False,
) -> Table:
    """The table, made if missing, evolved if the schema asks for it, with a head on `main`.

    `refuse` looks at a table that is there before it is changed. A new one is made at `location`, or where
    the catalog says; `is_large` says whether much waits for it.

    Raises:
        RepairError: The table has rows, and nothing tells which records they are.
        DifferentError: The table's rows are told apart in another way than the spec says.
        SchemaRefusedError: The schema asks for a change that would lose or falsify data.
        SpecError: The spec's layout names a column that can't be used so.
    """
    table = load_with_head(handle)
    if table is None:
        fields = table_fields(spec, columns)
        properties = _properties(spec) | needless(spec.migrations, fields) | key_properties(spec, key)
        properties |= NotedMasks(columns.masks or {}).properties | NotedPaths(listed_paths(spec)).properties
        transforms = spec.transforms or default_divisions(spec, fields, key, is_large=is_large)
        table = create_table(handle, fields, transforms, properties, location)
    else:
        refuse(table)
        _refuse_strange_rows(table)
        keep_key(table, spec, key)
    table = arrange(spec, evolve(spec, table, columns))
    return divide_large(spec, table, columns.fields, key) if spec.is_keyed else table


def _refuse_strange_rows(table: Table) -> None:
    """Raises RepairError where a table has rows, and no ledger that tells which: Tableflow's, say."""
    rows = 0 if read_ledger(table.metadata) else stored_rows(table, table.current_snapshot())
    if rows:
        raise RepairError(
            f"Table {name_of(table)} has {rows} rows, and nothing tells which records of the topic they are.",
            where=f"{table.location()}: no snapshot of main has a ledger of Frazil's",
            meaning="A landing from the topic's first offset may double them. Nothing was landed.",
            todo="`frazil adopt` takes over a table that Tableflow wrote (docs/tableflow.md). Else land into "
            "a table of another name.",
        )


def _properties(spec: TableSpec) -> dict[str, str]:
    comment = spec.description or f"Kafka topic {spec.topic}, landed by Frazil."
    return table_properties(spec, comment) | {
        # Statistics of opaque bytes prune nothing and bloat manifests.
        f"write.metadata.metrics.column.{name}": "counts"
        for name in metadata_names(spec)
        if name.endswith(("raw-key", "raw-value", "raw_key", "raw_value"))
    }
