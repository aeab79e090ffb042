"""The table that a landing writes to: made from the spec and the schema, evolved by the rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from frazil.catalogs.iceberg import is_conflict, load_table, load_table_or_none
from frazil.errors import SchemaRefusedError
from frazil.landing.columns import RecordColumns, metadata_names, table_fields
from frazil.naming import TableName
from frazil.schemas.evolution import Verdict, verdicts
from frazil.schemas.iceberg import from_iceberg, iceberg_type, to_iceberg
from frazil.schemas.logical import Field
from frazil.spec import TableSpec

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.update.schema import UpdateSchema

__all__ = ["create_table", "ensure_table", "pending_changes", "stored"]


def ensure_table(spec: TableSpec, name: TableName, catalog: Catalog, columns: RecordColumns) -> Table:
    """The table, made if missing, evolved if the schema asks for it, with a head on `main`.

    Raises:
        SchemaRefusedError: The schema asks for a change that would lose or falsify data.
    """
    table = load_table_or_none(catalog, name)
    if table is None:
        table = create_table(catalog, name, table_fields(spec, columns), spec.transforms, _properties(spec))
    elif changes := pending_changes(spec, table, columns):
        table = _evolve(catalog, name, table, changes, metadata_names(spec))
    return table


def pending_changes(spec: TableSpec, table: Table, columns: RecordColumns) -> list[Verdict]:
    """What the newest schema asks of the table.

    Raises:
        SchemaRefusedError: Some of it is refused; the text says which, why, and the way out.
    """
    found = verdicts(from_iceberg(table.schema()), stored(columns.fields), metadata_names(spec))
    if refused := [v for v in found if not v.allowed]:
        raise SchemaRefusedError(
            f"The newest schema of topic {spec.topic} does not fit its table.",
            where="; ".join(f"field {v}" for v in refused),
            meaning="Nothing was landed; the table and its position are as they were.",
            todo="Register a schema without this change, or land into a new table.",
        )
    return found


def stored(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Fields as a table holds them (`fixed` as binary, say)."""
    return from_iceberg(to_iceberg(fields)).fields


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
    catalog.create_namespace_if_not_exists(name.namespace)
    with suppress(TableAlreadyExistsError):
        catalog.create_table(
            name.identifier,
            schema,
            partition_spec=_partition_spec(schema, transforms),
            properties=properties,
        )
    # Loaded, not as created: of two that create at once, SeaweedFS tells both that they did.
    if load_table(catalog, name).current_snapshot() is None:
        _make_head(load_table(catalog, name))
    return load_table(catalog, name)


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
        "write.parquet.compression-codec": "zstd",
        "write.target-file-size-bytes": str(int(spec.target_file_size)),
        # Slices are planned to be equal: a shuffle would only cost.
        "write.distribution-mode": "none",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "100",
        # Statistics of opaque bytes prune nothing and bloat manifests.
        **{
            f"write.metadata.metrics.column.{name}": "counts"
            for name in metadata_names(spec)
            if name.endswith(("raw-key", "raw-value", "raw_key", "raw_value"))
        },
    }


def _partition_spec(schema: Schema, transforms: Sequence[tuple[str, str]]) -> PartitionSpec:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import parse_transform

    fields = []
    for number, (transform, column) in enumerate(transforms):
        source = schema.find_field(column)
        name = column if transform == "identity" else f"{column}_{transform.split('[')[0]}"
        parsed = parse_transform(transform)
        fields.append(PartitionField(source.field_id, 1000 + number, parsed, name))
    return PartitionSpec(*fields)


def _evolve(
    catalog: Catalog,
    name: TableName,
    table: Table,
    changes: Sequence[Verdict],
    metadata: Collection[str],
) -> Table:
    columns = table.schema().column_names
    first_metadata = next((c for c in columns if c in metadata), None)
    with table.update_schema() as update:
        for change in changes:
            _apply(update, change, first_metadata)
    return load_table(catalog, name)


def _apply(update: UpdateSchema, change: Verdict, before: str | None) -> None:
    wanted = change.wanted
    if wanted is None:
        return
    kind = iceberg_type(wanted.type, count(1))
    if change.change == "add":
        update.add_column((wanted.name,), kind, doc=wanted.doc or None)
        if before:  # a new column stands last otherwise, behind the metadata
            update.move_before((wanted.name,), (before,))
    elif change.change == "widen":
        update.update_column((wanted.name,), field_type=kind)
    else:
        update.make_column_optional((wanted.name,))
