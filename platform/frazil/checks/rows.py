"""Is every record in the table exactly once? From metadata, and by counting every offset."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from frazil.checks.result import Number, Subject, Verdict
from frazil.formats.columns import metadata_columns
from frazil.landing.ledger import Ledger, ledgers, read_ledger
from frazil.quoting import quoted
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table
from frazil.tables.snapshots import summary_of
from frazil.tables.spark import spark_name

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["count_offsets", "count_rows", "live_rows", "rows_in_files"]

_EMPTY = Verdict(True, "Nothing was landed yet: no row, no offset.", {"offsets": 0, "rows": 0})


def count_rows(subject: Subject[TableSpec]) -> Verdict:
    """Offsets landed = rows + what is known to be no row, and spans follow each other without a hole."""
    table = load_table(subject.connections.catalog, subject.things.table)
    ledger = read_ledger(table.metadata)
    rows = live_rows(subject, table)
    if ledger is None:
        return Verdict(False, f"{rows} rows that no landing brought.", {"rows": rows}) if rows else _EMPTY
    adds_up = ledger.offsets == rows + ledger.known
    broken = _breaks(table)
    text = (
        f"{ledger.offsets} offsets of {len(ledger.spans)} partitions landed {'=' if adds_up else '!='} "
        f"{rows} rows + {_known(ledger)}; {broken or 'spans are contiguous'}."
    )
    return Verdict(adds_up and not broken, text, _numbers(ledger, rows))


def count_offsets(subject: Subject[TableSpec]) -> Verdict:
    """Counts every (partition, offset) of the table: none twice, none missing, none out of range."""
    ledger = read_ledger(load_table(subject.connections.catalog, subject.things.table).metadata)
    if ledger is None:
        return _EMPTY
    counts = _count_by_partition(subject)
    rows = sum(c["n"] for c in counts.values())
    twice = sum(c["n"] - c["unique"] for c in counts.values())
    holes = ledger.offsets - (rows - twice)
    stray = [p for p, c in counts.items() if not _in_range(ledger, p, c)]
    passed = not twice and holes == ledger.known and not stray
    text = (
        f"{rows} rows counted: {twice} offsets are there twice, {holes} are missing where {ledger.known} are "
        f"known to be no rows ({_known(ledger)}), "
        f"{'partitions ' + str(stray) + ' hold offsets' if stray else 'none lies'} out of range."
    )
    numbers = {**_numbers(ledger, rows), "duplicates": twice, "holes": holes}
    return Verdict(passed, text, numbers)


def live_rows(subject: Subject[AnyTable], table: Table) -> int:
    """From the head's summary; where it has delete files, counted: they may name rows that are gone."""
    summary = summary_of(table.current_snapshot())
    if int(summary.get("total-delete-files", 0)):
        return subject.connections.spark.table(spark_name(subject.things.table)).count()
    return int(summary.get("total-records", 0))


def rows_in_files(subject: Subject[AnyTable], table: Table) -> int:
    """By the manifests, which know nothing of the summary; where there are delete files, counted."""
    if int(summary_of(table.current_snapshot()).get("total-delete-files", 0)):
        return live_rows(subject, table)
    return sum(task.file.record_count for task in table.scan().plan_files())


def _known(ledger: Ledger) -> str:
    bad, gaps, expired = ledger.total_bad, ledger.total_gaps, ledger.total_expired
    return f"{bad} bad or left out + {gaps} known gaps + {expired} expired"


def _breaks(table: Table) -> str:
    """Where the spans of two landings in a row do not meet, as far back as snapshots are kept."""
    for (_, newer), (_, older) in pairwise(ledgers(table.metadata)):
        for p, (start, _) in sorted(newer.spans.items()):
            end = older.position.get(p, start)
            if start != end:
                return f"partition {p}: one landing ends at {end}, the next starts at {start}"
    return ""


def _count_by_partition(subject: Subject[TableSpec]) -> dict[int, dict[str, Any]]:
    names = {c.word: c.name(subject.spec.metadata_names) for c in metadata_columns(subject.spec)}
    partition, offset = quoted(names["partition"]), quoted(names["offset"])
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


def _numbers(ledger: Ledger, rows: int) -> dict[str, Number]:
    return {
        "offsets": ledger.offsets,
        "rows": rows,
        "bad_or_left_out": ledger.total_bad,
        "known_gaps": ledger.total_gaps,
        "expired": ledger.total_expired,
        "partitions": len(ledger.spans),
    }
