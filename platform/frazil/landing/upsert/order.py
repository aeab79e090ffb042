"""Which of two changes of a key is the later one.

Within a partition the offset says it. Offsets of two partitions can't be compared: there the record's
timestamp decides, and where two are equal the greater partition. With `order_by: source.lsn` the source's log
says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.formats.columns.columns import CHANGE, names_by_word
from frazil.landing.upsert.words import DELETED, LSN, OFFSET, PARTITION, TIMESTAMP
from frazil.quoting import quoted
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

_PLACE = {"partition": PARTITION, "offset": OFFSET, "timestamp": TIMESTAMP}
_TYPES = {PARTITION: "int", OFFSET: "bigint", TIMESTAMP: "timestamp", LSN: "bigint"}


def places(spec: TableSpec) -> dict[str, str]:
    """What tells where a change stands: columns of changes, by the word of the table's column."""
    return _PLACE | ({"source-lsn": LSN} if spec.by_lsn else {})


def place_types(spec: TableSpec) -> dict[str, str]:
    """The same columns, with Spark's types."""
    return {column: _TYPES[column] for column in places(spec).values()}


def decoded_places(spec: TableSpec) -> list[str]:
    """The same columns, of decoded records, as SQL."""
    return [
        f"{f'{CHANGE}.lsn' if own == LSN else word} AS {quoted(own)}" for word, own in places(spec).items()
    ]


def with_lsn(changes: DataFrame, key: list[str]) -> DataFrame:
    """Gives changes that have no LSN, as tombstones, that of the change before them in their partition."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    of_partition = Window.partitionBy(*map(quoted, [*key, PARTITION])).orderBy(quoted(OFFSET))
    so_far = of_partition.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return changes.withColumn(LSN, F.last(quoted(LSN), ignorenulls=True).over(so_far))


def with_candidates(
    changes: DataFrame, of_key: WindowSpec, spec: TableSpec, name: str, *, puts: bool = False
) -> DataFrame:
    """Adds whether a change can be the newest of its key, among all or among those that delete nothing.

    By offsets the last one of each partition can.
    """
    from pyspark.sql import functions as F

    among = f"NOT {quoted(DELETED)}" if puts else "true"
    if spec.by_lsn:
        return changes.withColumn(name, F.expr(among))
    first = [F.asc(quoted(DELETED))] if puts else []
    by_offset = of_key.orderBy(quoted(PARTITION), *first, F.desc(quoted(OFFSET)))
    seen = changes.withColumn(name, F.lag(quoted(PARTITION)).over(by_offset))
    return seen.withColumn(name, F.expr(f"{among} AND NOT {quoted(name)} <=> {quoted(PARTITION)}"))


def newest_first(spec: TableSpec) -> list[Column]:
    """How candidates of a key are sorted."""
    from pyspark.sql import functions as F

    by = (LSN, PARTITION, OFFSET) if spec.by_lsn else (TIMESTAMP, PARTITION)
    return [F.desc_nulls_last(quoted(column)) for column in by]


def is_newer(spec: TableSpec, *, anew: bool) -> str:
    """Whether a change is newer than the row of its key, as SQL; `anew`: offsets may have begun anew."""
    names = names_by_word(spec)
    partition, offset, at = (quoted(names[word]) for word in _PLACE)
    change, placed = quoted(PARTITION), quoted(TIMESTAMP)
    later = f"{placed} > {at} OR ({placed} = {at} AND {change} > {partition})"
    behind = "true" if anew else f"{quoted(OFFSET)} > {offset}"
    by_place = f"coalesce(CASE WHEN {change} = {partition} THEN {behind} ELSE {later} END, true)"
    if not spec.by_lsn:
        return by_place
    own, row = quoted(LSN), quoted(names["source-lsn"])
    same = f"{change} > {partition} OR ({change} = {partition} AND {behind})"
    return f"CASE WHEN {own} <> {row} THEN {own} > {row} WHEN {own} = {row} THEN {same} ELSE {by_place} END"
