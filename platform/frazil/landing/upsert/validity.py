"""From when to when each version of a row holds, as SQL that Spark and DuckDB take.

A version begins when its change was made, but not before an earlier change of its key in its partition: so
the order of the offsets stands, whatever the source's clock did. It holds until the key's next one begins,
or until the first truncate that is newer. A delete is a row of its own, which holds at no time: it remembers
what ended the one before. What is found depends on the records alone, in whatever order partitions were
landed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from frazil.formats.columns.columns import names_by_word
from frazil.landing.upsert.truncates.notes import Truncates
from frazil.landing.upsert.truncates.truncate import Truncate
from frazil.quoting import quoted
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NEW, BEFORE, SINCE, UNTIL, CURRENT = (
    f"$frazil_{word}" for word in ("new", "before", "since", "until", "current")
)
"""`NEW`: whether a row is of the landing, and behind all others of its partition. `BEFORE`: whether the row
before it there is a delete; null if it is unknown. The others are what is found."""

_NONE = Truncates()
_LATEST, _NEXT = "$frazil_latest", "$frazil_next"

Step = tuple[str, str]
"""A column and the SQL that fills it; without a name, the condition of rows that stay."""


def validity(spec: TableSpec, key: Collection[str], truncates: Truncates) -> Sequence[Step]:
    """Steps over rows of some keys, and `NEW`, each on the columns of those before.

    A tombstone right behind its delete says nothing more: it is left out. To judge new rows and truncates,
    the stored ones must be there that hold until the earliest new time or later; see `versions.py`.
    """
    names = {word: quoted(name) for word, name in names_by_word(spec).items()}
    keys, gone = ", ".join(map(quoted, key)), is_end(spec)
    # Of stored rows the time comes first: offsets begin anew where a topic is made again.
    stored = f"CASE WHEN NOT {quoted(NEW)} THEN {names['valid-from']} END"
    so_far = f"PARTITION BY {keys}, {names['partition']} ORDER BY {quoted(NEW)}, {stored}, {names['offset']}"
    in_order = f"PARTITION BY {keys} ORDER BY {quoted(SINCE)}, {names['partition']}, {names['offset']}"
    made = f"coalesce({names['source-time']}, {names['timestamp']})"
    begin = f"CASE WHEN {quoted(NEW)} THEN {made} ELSE {names['valid-from']} END"
    ended = f"CASE WHEN NOT {quoted(NEW)} THEN {names['valid-to']} END"  # by one that may be forgotten since
    until = ", ".join((ended, quoted(_NEXT), *_emptied(spec, truncates)))
    rows = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    return (
        (BEFORE, f"lag({gone}) OVER ({so_far})"),
        ("", f"NOT ({quoted(NEW)} AND {names['op']} IS NULL AND coalesce({quoted(BEFORE)}, false))"),
        (_LATEST, f"max({begin}) OVER ({so_far} {rows})"),
        (SINCE, f"CASE WHEN {quoted(NEW)} THEN {quoted(_LATEST)} ELSE {names['valid-from']} END"),
        (_NEXT, f"lead({quoted(SINCE)}) OVER ({in_order})"),
        (UNTIL, f"CASE WHEN {gone} THEN {quoted(SINCE)} ELSE least({until}) END"),
        (CURRENT, f"{quoted(UNTIL)} IS NULL"),
    )


def _emptied(spec: TableSpec, truncates: Truncates) -> Iterator[str]:
    """When the first truncates that are newer than a row were done; nothing where there are none at all.

    Stored rows were compared with known truncates before; new ones are behind those of their own partition.
    """
    partition, offset, timestamp = (
        quoted(names_by_word(spec)[word]) for word in ("partition", "offset", "timestamp")
    )
    later, new = f"unix_micros({timestamp}) < element_at(t, 3)", quoted(NEW)
    behind = f"NOT {new} OR {offset} < element_at(t, 2)"
    if truncates.new:
        older = f"CASE WHEN {partition} = element_at(t, 1) THEN {behind} ELSE {later} END"
        yield _first(truncates.new, older)
    if truncates.known:
        yield _first(truncates.known, f"{new} AND {partition} <> element_at(t, 1) AND {later}")


def _first(truncates: Collection[Truncate], newer: str) -> str:
    """When the first truncate `t` ends a row for which SQL is true; an array, for a long CASE stops Spark."""
    known = ", ".join(f"array({t.partition}L, {t.offset}L, {t.timestamp}L, {t.time}L)" for t in truncates)
    until = f"greatest(timestamp_micros(element_at(t, 4)), {quoted(SINCE)})"
    return f"array_min(transform(filter(array({known}), t -> {newer}), t -> {until}))"


def is_end(spec: TableSpec) -> str:
    """Whether a row is a delete, as SQL that is never null."""
    return f"(coalesce({quoted(names_by_word(spec)['op'])}, 'd') = 'd')"


def judged(rows: DataFrame, spec: TableSpec, key: Collection[str], truncates: Truncates = _NONE) -> DataFrame:
    """The rows that stay, with `SINCE`, `UNTIL` and `CURRENT`."""
    rows = rows.repartition(*map(quoted, key))  # once, for all windows
    for name, sql in validity(spec, key, truncates):
        rows = rows.selectExpr("*", f"{sql} AS {quoted(name)}") if name else rows.where(sql)
    return rows


def validity_columns(spec: TableSpec) -> dict[str, str]:
    """The columns of the table that say what is found, and what `judged` calls them."""
    names = names_by_word(spec)
    return {names["valid-from"]: SINCE, names["valid-to"]: UNTIL, names["current"]: CURRENT}
