"""The layout of tables follows their specs: how files are written, partitioned and sorted.

Only what a spec asks for is applied, and only when it asks for something else than before: properties
that somebody set by hand stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from frazil.errors import SpecError
from frazil.spec.table import AnyTable, SortTerm, Write
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.commits.ledger import read

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction
    from pyiceberg.transforms import Transform
    from pyiceberg.types import NestedField

LAYOUT = "frazil.layout"
"""Table property: what the spec asked for when it was last applied."""

FORMAT = "format-version"
"""Table property that a catalog makes the format version of."""

WITHOUT_VALUES = {
    "write.object-storage.enabled": "true",
    "write.object-storage.partitioned-paths": "false",
}
"""Folders that no value names: a text may be longer than a store's key, and Spark then writes no file."""

_NAMED = 32
"""Signs of a text that a folder has room for, whatever they are: each may take twelve bytes."""

_CODEC, _LEVEL = "write.parquet.compression-codec", "write.parquet.compression-level"

_PROPERTIES = {
    "target_file_size": "write.target-file-size-bytes",
    "row_group_size": "write.parquet.row-group-size-bytes",
    "page_size": "write.parquet.page-size-bytes",
    "compression": _CODEC,
    "compression_level": _LEVEL,
    "distribution": "write.distribution-mode",
}
_ALWAYS = frozenset({"target_file_size", "compression", "distribution"})

Transforms = Sequence[tuple[str, str]]
"""Iceberg transform such as `bucket[16]`, and column."""


def table_properties(spec: AnyTable, comment: str) -> dict[str, str]:
    """Properties of a new table."""
    return {
        FORMAT: str(spec.format_version),
        "comment": comment,
        **_properties(spec.write, spec.write.model_fields_set | _ALWAYS),
        # Else 100: behind as many fields of a record no metadata column has any, and no time prunes.
        "write.metadata.metrics.max-inferred-column-defaults": "1000",
    }


def arrange(spec: AnyTable, table: Table) -> Table:
    """Gives a table the layout that its spec asks for; old files keep theirs until they are rewritten."""
    if _asked(spec) == _applied(table):
        return table

    def stage(fresh: Table) -> Transaction:
        tx = transaction(fresh)
        _stage(spec, fresh, tx)
        return tx

    return commit(TableHandle.of(table), stage, work="change of layout", todo="Land again.").table


def partition_spec(schema: Schema, transforms: Transforms) -> PartitionSpec:
    """The partition spec of a new table."""
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import parse_transform

    fields: list[PartitionField] = []
    for number, (transform, column) in enumerate(transforms):
        source, parsed = _column(schema, column, "partition_by"), parse_transform(transform)
        if not parsed.can_transform(source.field_type):
            raise _unfit("partition_by", column, f"{transform} takes no {source.field_type}")
        name = _field_name(transform, column, {f.name for f in fields}, schema)
        fields.append(PartitionField(source.field_id, 1000 + number, parsed, name))
    return PartitionSpec(*fields)


def _asked(spec: AnyTable) -> dict[str, Any]:
    """What a spec says of the layout; what it leaves open is not in it."""
    settings: dict[str, Any] = {}
    if explicit := _properties(spec.write, spec.write.model_fields_set):
        settings["write"] = explicit
    settings |= {k: list(getattr(spec, k)) for k in ("partition_by", "sort_by") if k in spec.model_fields_set}
    return settings


def _applied(table: Table) -> dict[str, Any]:
    return read(LAYOUT, table.properties.get(LAYOUT, "{}"), _layout)


def _layout(text: str) -> dict[str, Any]:
    settings = dict(json.loads(text))
    return {**settings, "write": dict(settings["write"])} if "write" in settings else settings


def _stage(spec: AnyTable, table: Table, tx: Transaction) -> None:
    asked, before = _asked(spec), _applied(table)
    if asked == before:
        return
    if "partition_by" in asked or "partition_by" in before:
        _stage_partitions(tx, spec.transforms)
    if "sort_by" in asked or "sort_by" in before:
        _stage_order(tx, spec.sort_terms)
    _stage_properties(tx, asked.get("write", {}), before.get("write", {}))
    tx.set_properties({LAYOUT: json.dumps(asked)})


def stage_divisions(tx: Transaction, transforms: Transforms, terms: Sequence[SortTerm]) -> None:
    """Stages how rows are divided and sorted, whatever it was before."""
    _stage_partitions(tx, transforms)
    _stage_order(tx, terms)


def _stage_properties(tx: Transaction, asked: Mapping[str, str], before: Mapping[str, str]) -> None:
    default = _properties(Write(), _PROPERTIES.keys())
    wanted = {k: asked.get(k) or default.get(k) for k in {**asked, **before}}
    there = tx.table_metadata.properties
    if wanted.get(_CODEC, "zstd") != "zstd":
        wanted[_LEVEL] = None  # also one set by hand: gzip fails on it at the write
    if changed := {k: v for k, v in wanted.items() if v is not None and there.get(k) != v}:
        tx.set_properties(changed)
    if gone := [k for k, v in wanted.items() if v is None and k in there]:
        tx.remove_properties(*gone)


def _stage_partitions(tx: Transaction, transforms: Transforms) -> None:
    schema, current = tx.table_metadata.schema(), tx.table_metadata.spec()
    wanted = {(f.source_id, str(f.transform)): f for f in partition_spec(schema, transforms).fields}
    there = {(f.source_id, str(f.transform)): f for f in current.fields if str(f.transform) != "void"}
    if wanted.keys() == there.keys():
        return
    taken = {f.name for spec in tx.table_metadata.partition_specs for f in spec.fields}
    with tx.update_spec() as update:
        for key in there.keys() - wanted.keys():
            update.remove_field(there[key].name)
        for transform, column in transforms:
            key = (schema.find_field(column).field_id, transform)
            if key not in there:
                update.add_field(column, transform, _field_name(transform, column, taken, schema))
    if has_texts(tx.table_metadata.spec(), schema):
        tx.set_properties({k: v for k, v in WITHOUT_VALUES.items() if k not in tx.table_metadata.properties})


def has_texts(spec: PartitionSpec, schema: Schema) -> bool:
    """Whether rows are divided by texts, or bytes, that may be too long for names."""
    from pyiceberg.types import BinaryType, StringType

    long = (f.source_id for f in spec.fields if _is_whole(f.transform))
    return any(isinstance(schema.find_type(source), StringType | BinaryType) for source in long)


def _is_whole(transform: Transform[Any, Any]) -> bool:
    from pyiceberg.transforms import IdentityTransform, TruncateTransform

    if isinstance(transform, TruncateTransform):
        return transform.width > _NAMED
    return isinstance(transform, IdentityTransform)


def _stage_order(tx: Transaction, terms: Sequence[SortTerm]) -> None:
    """A z-order is no order that Iceberg can note; compaction alone knows it."""
    from pyiceberg.table.sorting import NullOrder
    from pyiceberg.transforms import IdentityTransform

    schema = tx.table_metadata.schema()
    for term, column in ((t, c) for t in terms for c in t.columns):
        _column(schema, column, "sort_by")
        if term.zorder and schema.as_struct().field_by_name(column) is None:
            raise _unfit("sort_by", column, "Iceberg puts no nested column on a z-order curve")
    with tx.update_sort_order() as update:
        for term in (t for t in terms if not t.zorder):
            add = update.asc if term.ascending else update.desc
            nulls = NullOrder.NULLS_FIRST if term.nulls_first else NullOrder.NULLS_LAST
            add(term.columns[0], IdentityTransform(), nulls)


def _properties(write: Write, fields: Any) -> dict[str, str]:
    values = {_PROPERTIES[f]: getattr(write, f) for f in _PROPERTIES if f in fields}
    return {k: v if isinstance(v, str) else str(int(v)) for k, v in values.items() if v is not None}


def _field_name(transform: str, column: str, taken: set[str], schema: Schema) -> str:
    """Such as `ts_day`; `id_bucket_8` where the table once had another bucket of it.

    It names folders, in which not every store takes every sign, and may be no other column's name.
    """
    kind, _, size = transform.rstrip("]").partition("[")
    plain = re.sub(r"[^\w-]", "_", column.replace("$$", "metadata_"))
    name = plain if kind == "identity" else f"{plain}_{kind}"
    if name in schema.column_names and not (kind == "identity" and name == column):
        name = f"{name}_part"
    return f"{name}_{size}" if name in taken and size else name


def _column(schema: Schema, column: str, where: str) -> NestedField:
    """A column that a row has one value of."""
    try:
        field = schema.find_field(column)
        schema.accessor_for_field(field.field_id)
    except ValueError:
        raise _unfit(where, column, "the table has no such column, or a row has many values of it") from None
    if not field.field_type.is_primitive:
        raise _unfit(where, column, f"{field.field_type} is no single value")
    return field


def _unfit(where: str, column: str, why: str) -> SpecError:
    return SpecError(
        f"{where}: {column} can't be used: {why}.",
        meaning="The table is as it was; nothing was landed.",
        todo="Name a column of the table, nested ones with dots, as `frazil describe TABLE` shows them.",
    )
