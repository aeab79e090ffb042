"""The table that a landing writes to: made from the spec and the schema, evolved by the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.formats.columns import RecordColumns, metadata_names, table_fields
from frazil.landing.evolve import evolve
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.layout import arrange, create_table, load_with_head, table_properties
from frazil.tables.migrations import needless

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table


def ensure_table(spec: TableSpec, name: TableName, catalog: Catalog, columns: RecordColumns) -> Table:
    """The table, made if missing, evolved if the schema asks for it, with a head on `main`.

    Raises:
        SchemaRefusedError: The schema asks for a change that would lose or falsify data.
        SpecError: The spec's layout names a column that can't be used so.
    """
    table = load_with_head(catalog, name)
    if table is None:
        fields = table_fields(spec, columns)
        properties = _properties(spec) | needless(spec.migrations, fields)
        table = create_table(catalog, name, fields, spec.transforms, properties)
    return arrange(spec, name, catalog, evolve(spec, name, catalog, table, columns))


def _properties(spec: TableSpec) -> dict[str, str]:
    comment = spec.description or f"Kafka topic {spec.topic}, landed by Frazil."
    return table_properties(spec.write, comment) | {
        # Statistics of opaque bytes prune nothing and bloat manifests.
        f"write.metadata.metrics.column.{name}": "counts"
        for name in metadata_names(spec)
        if name.endswith(("raw-key", "raw-value", "raw_key", "raw_value"))
    }
