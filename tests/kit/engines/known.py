"""What is known of engines that don't read a table as its producer meant it; all else is read right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["KNOWN", "Known"]


@dataclass(frozen=True, slots=True)
class Known:
    """An outcome other than the right rows.

    Args:
        sign: What the refusal, or the difference, has in it.
        note: What a user should know, and do instead.
        link: Where it is known, if anywhere.
        wrong: Whether rows come that are not the producer's; else the engine refuses.
    """

    sign: str
    note: str
    link: str = ""
    wrong: bool = False


COMPACT = "`frazil compact` takes such files away"
RUST, CLICKHOUSE = "https://github.com/apache/iceberg-rust", "https://github.com/ClickHouse/ClickHouse"

_EMPTY = Known(
    "for None",
    "no list, map or struct is null here: a null list or map comes as an empty one, a null struct as one of "
    "nulls and zeros. Ask another engine where the difference matters",
    f"{CLICKHOUSE}/issues/52562",
    wrong=True,
)
_FAR = Known(
    "out of allowed Date32 range",
    "dates have the years 0 to 9999; leave the column out of the query",
    f"{CLICKHOUSE}/issues/114286",
)
_NO_VECTORS = (
    "no deletion vectors; leave `write: {delete: rewrite}` as it is, and compact what other engines deleted"
)
_NO_EQUALITY = Known(
    "does not yet support equality deletes",
    f"no deletes by equality; {COMPACT}",
    "https://github.com/apache/iceberg/issues/6568",
)
_NULLS = "a row that has null in a column of the delete goes as well, though it is not meant; " + COMPACT
_NO_ROW_IDS = "the column `_row_id` is not known; the others are read"
_NO_TRAVEL = Known(
    "a table is registered as it is now", "no time travel; tag the snapshot and read it by PyIceberg"
)
_KEEP = (
    "without the column none of the table is read. Frazil's migrations refuse to drop such a column; "
    "don't do it by another engine"
)

_PYICEBERG = {
    "nested": Known(
        "[] for None",
        "a list of structs that is null comes as an empty one, and a map of structs too; read such columns "
        "by Polars or DuckDB where the difference matters",
        "https://github.com/apache/iceberg-python/issues/3833",
        wrong=True,
    ),
    "row_ids": Known("_row_id", _NO_ROW_IDS),
}
_DUCKDB = {
    "partition_dropped": Known("its process ended", f"the whole process ends: {_KEEP}"),
    "deletes_beside_null": Known("rows of", _NULLS, wrong=True),
}
_TRINO = {
    "far_moments": Known(
        "Millis overflow",
        "moments with a zone reach to about the year 73000; leave the column out of the query",
        "https://github.com/trinodb/trino/issues/25837",
    ),
    "partition_dropped": Known(
        "Error processing metadata", _KEEP, "https://github.com/apache/iceberg/issues/4563"
    ),
    "codecs": Known(
        "Could not decompress page", "`lz4` is not read, all others are; leave `compression` at `zstd`"
    ),
    **dict.fromkeys(
        ("upserts_by_vectors", "vectors"),
        Known(
            "Unexpected PUFFIN",
            "no deletion vectors in this release, and newer ones have them",
            "https://github.com/trinodb/trino/pull/27788",
        ),
    ),
    "row_ids": Known("_row_id", _NO_ROW_IDS),
}
_CLICKHOUSE = {
    **dict.fromkeys(("structs", "lists", "maps", "nested", "all_null", "added"), _EMPTY),
    "far_moments": _FAR,
    **dict.fromkeys(
        ("upserts_by_vectors", "vectors"),
        Known("only for parquet", _NO_VECTORS, f"{CLICKHOUSE}/issues/107502"),
    ),
}
_POLARS = {"row_ids": Known("_row_id", _NO_ROW_IDS)}
_DAFT = {
    "partition_dropped": Known("Could not find field with id", _KEEP),
    **dict.fromkeys(("upserts_by_vectors", "vectors"), Known("not a valid parquet file", _NO_VECTORS)),
    "row_ids": Known("_row_id", _NO_ROW_IDS),
}
_DATAFUSION = {
    "added": Known(
        "unexpected target column type List",
        "a list or map that came later; compact once, so that every file has the column",
        f"{RUST}/issues/2618",
    ),
    "added_inside": Known(
        "Incorrect number of arrays",
        "a field that a struct got later; compact once, so that every file has it",
        f"{RUST}/issues/2617",
    ),
    "renamed_inside": Known(
        "for {'x': 1, 'text'",
        "a struct has the names and fields that it had when its file was written; compact after the change",
        f"{RUST}/pull/2647",
        wrong=True,
    ),
    **dict.fromkeys(
        ("upserts_by_vectors", "vectors"), Known("Corrupt footer", _NO_VECTORS, f"{RUST}/issues/2792")
    ),
    "deletes_beside_null": Known("rows of", _NULLS, f"{RUST}/issues/2780", wrong=True),
    "swapped": Known(
        "`a`: 'A' for 'B'",
        "values come by the names that columns had in the newest snapshot, and a change of the schema alone "
        "makes none; land once more",
        f"{RUST}/issues/2905",
        wrong=True,
    ),
    "deletes_then_renamed": Known(
        "not found in table",
        "columns are as the newest snapshot has them, and a change of the schema alone makes none; "
        "land once more",
        f"{RUST}/issues/2905",
    ),
    "row_ids": Known("_row_id", _NO_ROW_IDS),
    **dict.fromkeys(("time_travel", "old_schema"), _NO_TRAVEL),
}
_BY_EQUALITY = ("equality_deletes", "deletes_beside_null", "null_deletes", "deletes_then_renamed")

_OF_ENGINES: Mapping[str, Mapping[str, Known]] = {
    "pyiceberg": {**_PYICEBERG, **dict.fromkeys(_BY_EQUALITY, _NO_EQUALITY)},
    "duckdb": _DUCKDB,
    "trino": _TRINO,
    "clickhouse": _CLICKHOUSE,
    "polars": {**_POLARS, **dict.fromkeys(_BY_EQUALITY, _NO_EQUALITY)},
    "daft": {**_DAFT, **dict.fromkeys(_BY_EQUALITY, _NO_EQUALITY)},
    "datafusion": _DATAFUSION,
}

KNOWN: Mapping[tuple[str, str], Known] = {
    (engine, feature): known
    for engine, features in _OF_ENGINES.items()
    for feature, known in features.items()
}
"""By the names of the engine and of the feature."""
