"""Is every record in the table exactly once? From metadata alone, and by counting every offset."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from frazil.catalogs.iceberg import load_table
from frazil.catalogs.spark import spark_name
from frazil.checks.result import Number, Subject, Verdict
from frazil.landing.columns import metadata_columns
from frazil.landing.position import Ledger, ancestors, ledger_of, read_ledger

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["count_offsets", "count_rows"]

_EMPTY = Verdict(True, "Nothing was landed yet: no row, no offset.", {"offsets": 0, "rows": 0})


def count_rows(subject: Subject) -> Verdict:
    """Offsets landed = rows + bad records + known gaps, and spans follow each other without a hole."""
    table = load_table(subject.connections.catalog, subject.things.table)
    ledger = read_ledger(table.metadata)
    if ledger is None:
        return _EMPTY
    offsets, rows = ledger.offsets, _live_rows(table)
    known = ledger.total_bad + ledger.total_gaps
    broken = _breaks(table)
    passed = offsets == rows + known and not broken
    text = (
        f"{offsets} offsets of {len(ledger.spans)} partitions landed "
        f"{'=' if offsets == rows + known else '!='} {rows} rows + {ledger.total_bad} bad records "
        f"+ {ledger.total_gaps} known gaps; {broken or 'spans are contiguous'}."
    )
    return Verdict(passed, text, _numbers(ledger, offsets, rows))


def count_offsets(subject: Subject) -> Verdict:
    """Counts every (partition, offset) of the table: none twice, none missing, none out of range."""
    ledger = read_ledger(load_table(subject.connections.catalog, subject.things.table).metadata)
    if ledger is None:
        return _EMPTY
    counts = _count_by_partition(subject)
    rows = sum(c["n"] for c in counts.values())
    twice = sum(c["n"] - c["unique"] for c in counts.values())
    holes = ledger.offsets - (rows - twice)
    known = ledger.total_bad + ledger.total_gaps
    stray = [p for p, c in counts.items() if not _in_range(ledger, p, c)]
    passed = not twice and holes == known and not stray
    text = (
        f"{rows} rows counted: {twice} offsets are there twice, {holes} are missing where {known} are "
        f"known to be bad records or gaps, "
        f"{'partitions ' + str(stray) + ' hold offsets' if stray else 'none lies'} out of range."
    )
    numbers = {**_numbers(ledger, ledger.offsets, rows), "duplicates": twice, "holes": holes}
    return Verdict(passed, text, numbers)


def _live_rows(table: Table) -> int:
    head = table.current_snapshot()
    summary = head.summary.additional_properties if head and head.summary else {}
    return int(summary.get("total-records", 0)) - int(summary.get("total-position-deletes", 0))


def _breaks(table: Table) -> str:
    """Where the spans of two landings in a row do not meet, as far back as snapshots are kept."""
    ledgers = [ledger for s in ancestors(table.metadata) if (ledger := ledger_of(s))]
    for newer, older in pairwise(ledgers):
        for p, (start, _) in sorted(newer.spans.items()):
            end = older.position.get(p, start)
            if start != end:
                return f"partition {p}: one landing ends at {end}, the next starts at {start}"
    return ""


def _count_by_partition(subject: Subject) -> dict[int, dict[str, Any]]:
    names = {c.word: c.name(subject.spec.metadata_names) for c in metadata_columns(subject.spec)}
    partition, offset = f"`{names['partition']}`", f"`{names['offset']}`"
    rows = subject.connections.spark.sql(
        f"SELECT {partition} AS p, count(1) AS n, count(DISTINCT {offset}) AS unique, "
        f"min({offset}) AS first, max({offset}) AS last "
        f"FROM {spark_name(subject.things.table)} GROUP BY {partition}"
    ).collect()
    return {row["p"]: row.asDict() for row in rows}


def _in_range(ledger: Ledger, partition: int, counts: dict[str, Any]) -> bool:
    if partition not in ledger.spans:
        return False
    inside = ledger.start[partition] <= counts["first"]
    return bool(inside and counts["last"] < ledger.position[partition])


def _numbers(ledger: Ledger, offsets: int, rows: int) -> dict[str, Number]:
    return {
        "offsets": offsets,
        "rows": rows,
        "bad_records": ledger.total_bad,
        "known_gaps": ledger.total_gaps,
        "partitions": len(ledger.spans),
    }
