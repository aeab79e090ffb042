"""The table that a landing writes to: made from the spec and the schema, evolved by the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from frazil.formats.columns import RecordColumns, metadata_names, table_fields
from frazil.formats.iceberg import to_iceberg
from frazil.formats.logical import Field
from frazil.formats.stored import stored
from frazil.landing.evolve import evolve
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import is_conflict, load_table, load_table_or_none
from frazil.tables.layout import arrange, partition_spec, write_properties
from frazil.tables.migrations import needless

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["create_table", "ensure_table", "stored"]


def ensure_table(spec: TableSpec, name: TableName, catalog: Catalog, columns: RecordColumns) -> Table:
    """The table, made if missing, evolved if the schema asks for it, with a head on `main`.

    Raises:
        SchemaRefusedError: The schema asks for a change that would lose or falsify data.
        SpecError: The spec's layout names a column that can't be used so.
    """
    table = load_table_or_none(catalog, name)
    if table is None:
        fields = table_fields(spec, columns)
        properties = _properties(spec) | needless(spec.migrations, fields)
        table = create_table(catalog, name, fields, spec.transforms, properties)
    return arrange(spec, name, catalog, evolve(spec, name, catalog, table, columns))


def create_table(
    catalog: Catalog,
    name: TableName,
    fields: Iterable[Field],
    transforms: Sequence[tuple[str, str]],
    properties: dict[str, str],
) -> Table:
    """Makes a table whose `main` has a head, which a landing's commit can be compared with."""
    from pyiceberg.exceptions import TableAlreadyExistsError

    schema = to_iceberg(fields)
    _make_namespace(catalog, name.namespace)
    with suppress(TableAlreadyExistsError):
        catalog.create_table(
            name.identifier,
            schema,
            partition_spec=partition_spec(schema, transforms),
            properties=properties,
        )
    # Loaded, not as created: of two that create at once, SeaweedFS tells both that they did.
    if load_table(catalog, name).current_snapshot() is None:
        _make_head(load_table(catalog, name))
    return load_table(catalog, name)


def _make_namespace(catalog: Catalog, namespace: str) -> None:
    """Of two that make it at once, the REST catalog answers 500 to the slower one."""
    from pyiceberg.exceptions import ServerError

    try:
        catalog.create_namespace_if_not_exists(namespace)
    except ServerError:
        if not catalog.namespace_exists(namespace):
            raise


def _make_head(table: Table) -> None:
    table.metadata.properties["commit.retry.num-retries"] = "0"  # in this loaded copy only
    try:
        with table.transaction() as tx, tx.update_snapshot().fast_append():
            pass
    except Exception as e:  # another landing was quicker: its head serves as well
        if not is_conflict(e):
            raise


def _properties(spec: TableSpec) -> dict[str, str]:
    return {
        "format-version": "2",
        "comment": spec.description or f"Kafka topic {spec.topic}, landed by Frazil.",
        **write_properties(spec.write),
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "100",
        # Else 100: behind as many fields of a record no metadata column has any, and no time prunes.
        "write.metadata.metrics.max-inferred-column-defaults": "1000",
        # Statistics of opaque bytes prune nothing and bloat manifests.
        **{
            f"write.metadata.metrics.column.{name}": "counts"
            for name in metadata_names(spec)
            if name.endswith(("raw-key", "raw-value", "raw_key", "raw_value"))
        },
    }
