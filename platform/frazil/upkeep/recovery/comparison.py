"""Whether a catalog's table is what its metadata file says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

NAMES = "schema.name-mapping.default"
"""What some catalogs write of the columns by themselves."""


_OF_THE_CATALOG = {"schema_id", "timestamp_ms"}


def differences(wanted: TableMetadata, made: TableMetadata) -> tuple[str, ...]:
    """What differs of a table, in a word each.

    Ids of schemas and of sort orders, and times of snapshots, may: a catalog gives them again where it can't
    read a metadata file.
    """
    return tuple(_differences(wanted, made))


def _differences(wanted: TableMetadata, made: TableMetadata) -> Iterator[str]:
    for name in ("table_uuid", "format_version", "location", "current_snapshot_id", "refs"):
        if getattr(wanted, name) != getattr(made, name):
            yield name.replace("_", " ")
    if _columns(wanted, wanted.current_schema_id) != _columns(made, made.current_schema_id):
        yield "columns"
    if _specs(wanted) != _specs(made) or wanted.default_spec_id != made.default_spec_id:
        yield "partitions"
    if wanted.sort_order().fields != made.sort_order().fields:
        yield "sort order"
    if _snapshots(wanted) != _snapshots(made):
        yield "snapshots"
    for name, value in wanted.properties.items():
        if name != NAMES and made.properties.get(name) != value:
            yield f"property {name}"


def _columns(metadata: TableMetadata, schema_id: int | None) -> Any:
    schema = metadata.schema_by_id(schema_id) if schema_id is not None else None
    return (schema.as_struct(), sorted(schema.identifier_field_ids)) if schema else None


def _specs(metadata: TableMetadata) -> dict[int, Any]:
    return {spec.spec_id: spec.fields for spec in metadata.partition_specs}


def _snapshots(metadata: TableMetadata) -> dict[int, Any]:
    """All that is known of each, with its columns in place of their schema's id."""
    return {
        each.snapshot_id: (
            each.model_dump(exclude={"schema_id", "timestamp_ms"}),
            _columns(metadata, each.schema_id),
        )
        for each in metadata.snapshots
    }
