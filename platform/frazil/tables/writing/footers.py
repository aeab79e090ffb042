"""What a Parquet footer says of a data file's columns, as manifests tell it: counts, sizes and bounds.

As Java has it (`ParquetMetrics`). PyIceberg's own reading of footers takes the bounds of those row groups
that have some for the whole file's, fails on texts that are cut at U+D7FF, and has none within structs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from frazil.tables.format_v3.fields import NAMES

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from pyiceberg.io.pyarrow import MetricsMode
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField, PrimitiveType

_SURROGATES = range(0xD800, 0xE000)
"""Numbers that are no letters by themselves."""

_MODE = "write.metadata.metrics."


_ROW_IDS = {name: number for number, name in NAMES.items()}
"""Columns of files that no schema names."""


@dataclass
class _Leaf:
    """A column of single values, at whatever depth."""

    field_id: int
    type: PrimitiveType
    repeated: bool  # within a list or a map: only counted
    size: int = 0
    values: int = 0
    nulls: int | None = 0  # None: not known
    bounds: _Bounds | None = None
    bounded: bool = True  # by all row groups so far


def columns_of(footer: pq.FileMetaData, schema: Schema, properties: Mapping[str, str]) -> dict[str, Any]:
    """The parts of a manifest's `DataFile` that a footer tells, by name.

    Args:
        schema: The table's.
        properties: The table's properties, which say what is told of each column.
    """
    from pyiceberg.io.pyarrow import parquet_path_to_id_mapping
    from pyiceberg.schema import sanitize_column_names

    leaves = {leaf.field_id: leaf for leaf in _leaves(schema.as_struct())}
    modes = {leaf: _mode(properties, schema.find_column_name(leaf)) for leaf in leaves}
    ids = parquet_path_to_id_mapping(sanitize_column_names(schema))
    row_ids: defaultdict[int, int] = defaultdict(int)
    groups = [footer.row_group(n) for n in range(footer.num_row_groups)]
    for chunk in (group.column(place) for group in groups for place in range(footer.num_columns)):
        own = ids.get(chunk.path_in_schema) or _ROW_IDS[chunk.path_in_schema]
        if own in NAMES:
            row_ids[own] += chunk.total_compressed_size
        else:
            _add(leaves[own], chunk, modes[own])
    measured = [leaf for leaf in leaves.values() if modes[leaf.field_id].type.value != "none"]
    bound = [(leaf.field_id, leaf.bounds) for leaf in measured if leaf.bounds and leaf.bounded]
    return {
        "record_count": footer.num_rows,
        "column_sizes": {leaf.field_id: leaf.size for leaf in leaves.values()} | dict(row_ids),
        "value_counts": {leaf.field_id: leaf.values for leaf in measured},
        "null_value_counts": {leaf.field_id: leaf.nulls for leaf in measured if leaf.nulls is not None},
        "nan_value_counts": {},
        "lower_bounds": {i: b.least() for i, b in bound},
        "upper_bounds": _known({i: b.greatest() for i, b in bound}),
        "split_offsets": sorted(_start(group.column(0)) for group in groups),
    }


def _mode(properties: Mapping[str, str], column: str | None) -> MetricsMode:
    """What is told of a column; the default where somebody wrote what is no mode, as Java does."""
    from pyiceberg.io.pyarrow import match_metrics_mode

    for wanted in (properties.get(f"{_MODE}column.{column}"), properties.get(f"{_MODE}default")):
        with suppress(ValueError):
            if wanted is not None:
                return match_metrics_mode(wanted)
    return match_metrics_mode("truncate(16)")


def _add(leaf: _Leaf, chunk: pq.ColumnChunkMetaData, mode: MetricsMode) -> None:
    """Counts a column's part in one row group; bounds hold for all of them, or there are none."""
    import pyarrow as pa

    statistics = chunk.statistics if chunk.is_stats_set else None
    nulls = statistics.null_count if statistics and statistics.has_null_count else None
    leaf.size += chunk.total_compressed_size
    leaf.values += chunk.num_values
    leaf.nulls = None if leaf.nulls is None or nulls is None else leaf.nulls + nulls
    if leaf.repeated or mode.type.value in ("none", "counts") or nulls == chunk.num_values:
        return
    if statistics is None or not statistics.has_min_max:
        leaf.bounded = False
        return
    try:
        _widen(leaf, statistics, mode.length)
    except (pa.ArrowNotImplementedError, UnicodeDecodeError):  # a writer may call any bytes a text
        leaf.bounded = False


def _widen(leaf: _Leaf, statistics: pq.Statistics, length: int | None) -> None:
    """Takes values as the file has them: Python has no dates beyond the year 9999."""
    from pyiceberg.types import BinaryType, StringType

    cut = length if isinstance(leaf.type, StringType | BinaryType) else None
    low, high = (
        _value(leaf.type, raw, statistics.physical_type) for raw in (statistics.min_raw, statistics.max_raw)
    )
    known = leaf.bounds or _Bounds(leaf.type, low, high, cut)
    leaf.bounds = replace(known, low=min(known.low, low), high=max(known.high, high))


def _value(kind: PrimitiveType, raw: Any, physical: str) -> Any:
    """A statistic as `to_bytes` takes it: numbers for moments, and what UTF-8 orders as the bytes do."""
    from pyiceberg.types import DecimalType, StringType
    from pyiceberg.utils.decimal import unscaled_to_decimal

    if isinstance(kind, DecimalType):
        in_bytes = physical == "FIXED_LEN_BYTE_ARRAY"
        return unscaled_to_decimal(int.from_bytes(raw, "big", signed=True) if in_bytes else raw, kind.scale)
    return raw.decode() if isinstance(kind, StringType) else raw


@dataclass(frozen=True)
class _Bounds:
    """The least and the greatest value of a column, where texts are told up to a length."""

    type: PrimitiveType
    low: Any
    high: Any
    length: int | None

    def least(self) -> bytes:
        from pyiceberg.conversions import to_bytes

        return to_bytes(self.type, self.low if self.length is None else self.low[: self.length])

    def greatest(self) -> bytes | None:
        """The greatest value; of a long text the least short one that is greater, if there is one.

        As Java has it: `UnicodeUtil.truncateStringMax`, `BinaryUtil.truncateBinaryMax`.
        """
        from pyiceberg.conversions import to_bytes

        value, length = self.high, self.length
        if length is None or len(value) <= length:
            return to_bytes(self.type, value)
        last = 0x10FFFF if isinstance(value, str) else 0xFF
        codes = [ord(letter) for letter in value[:length]] if isinstance(value, str) else list(value[:length])
        for place in reversed(range(length)):
            if codes[place] < last:
                above = _SURROGATES.stop if codes[place] + 1 in _SURROGATES else codes[place] + 1
                raised = [*codes[:place], above]
                return bytes(raised) if isinstance(value, bytes) else "".join(map(chr, raised)).encode()
        return None


def leaves_of(column: NestedField) -> Iterator[int]:
    """Field ids of a column's single values, at whatever depth."""
    return (leaf.field_id for leaf in _leaves(column.field_type, column.field_id))


def _leaves(kind: IcebergType, field_id: int = 0, repeated: bool = False) -> Iterator[_Leaf]:
    from pyiceberg import types as t

    match kind:
        case t.StructType():
            for own in kind.fields:
                yield from _leaves(own.field_type, own.field_id, repeated)
        case t.ListType():
            yield from _leaves(kind.element_type, kind.element_id, True)
        case t.MapType():
            yield from _leaves(kind.key_type, kind.key_id, True)
            yield from _leaves(kind.value_type, kind.value_id, True)
        case t.PrimitiveType():
            yield _Leaf(field_id, kind, repeated)


def _start(chunk: pq.ColumnChunkMetaData) -> int:
    at = chunk.data_page_offset
    return int(min(at, chunk.dictionary_page_offset) if chunk.has_dictionary_page else at)


def _known(bounds: Mapping[int, bytes | None]) -> dict[int, bytes]:
    return {column: bound for column, bound in bounds.items() if bound is not None}
