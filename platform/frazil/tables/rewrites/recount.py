"""The values that data files hold, counted as they are read: what other engines say of them may be wrong.

DuckDB 1.5.5 counts two nulls in `[{'s': 1}, null]`. Who refused a rewrite for such a number would refuse it
forever, so statistics that do not fit are not believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from frazil.tables.writing.conversion import field_id
from frazil.tables.writing.footers import leaves_of
from frazil.tables.writing.presence import ValueCounts, entries_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table


def values_read(table: Table, files: Iterable[DataFile], names: Collection[str]) -> ValueCounts:
    """The values of some top-level columns; a file that lacks a leaf of one does not tell of it.

    Raises OSError where a file can't be opened.
    """
    leaves = dict(_leaves(table.schema(), names))
    values, silent = dict.fromkeys(names, 0), set[str]()
    for file in files:
        counted = _counted(table, file, frozenset(leaves))
        for leaf, name in leaves.items():
            if leaf in counted:
                values[name] += counted[leaf]
            else:
                silent.add(name)
    return ValueCounts(values, frozenset(silent))


def _leaves(schema: Schema, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """The ids of the leaves of some columns, with the column's name."""
    for own in schema.fields:
        if own.name in names:
            yield from ((str(leaf), own.name) for leaf in leaves_of(own))


def _counted(table: Table, file: DataFile, leaves: frozenset[str]) -> Mapping[str, int]:
    """Values of leaves by their ids, of one file; of none where PyArrow can't read it so."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyiceberg.manifest import FileFormat

    if file.file_format != FileFormat.PARQUET:
        return {}
    with table.io.new_input(file.file_path).open() as opened:
        try:
            parquet = pq.ParquetFile(opened)
            schema = parquet.schema_arrow
            counts = Counter(dict.fromkeys(leaves.intersection(_within(schema)), 0))
            wanted = [own.name for own in schema if leaves.intersection(_within([own]))]
            if any("." in name for name in wanted):  # means a path to PyArrow
                return {}
            for batch in parquet.iter_batches(use_threads=False, columns=wanted):
                for own, column in zip(batch.schema, batch.columns, strict=True):
                    counts.update(dict(_values(column, own, leaves)))
        except pa.ArrowException:
            return {}
    return counts


def _within(fields: Iterable[pa.Field]) -> Iterator[str]:
    """The ids of some fields and of all within them."""
    for own in fields:
        yield field_id(own)
        yield from _within(own.type.field(n) for n in range(own.type.num_fields))


def _values(column: pa.Array, own: pa.Field, leaves: Collection[str]) -> Iterator[tuple[str, int]]:
    """How many values each of some leaves has."""
    import pyarrow as pa

    kind = own.type
    if pa.types.is_struct(kind):
        parts = [*zip(column.flatten(), kind, strict=True)]
    elif pa.types.is_map(kind):
        parts = [*zip(entries_of(column).flatten(), (kind.key_field, kind.item_field), strict=True)]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        parts = [(column.flatten(), kind.value_field)]
    else:
        parts = []
        if field_id(own) in leaves:
            yield field_id(own), len(column) - int(column.null_count)
    for part, field in parts:
        yield from _values(part, field, leaves)
