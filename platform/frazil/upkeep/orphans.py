"""Orphan files: what lies under a table's location though no snapshot names it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.naming import TableName, things
from frazil.spec import TableSpec
from frazil.upkeep.at_work import at_work
from frazil.upkeep.kept_tables import kept_tables, may_delete_files
from frazil.upkeep.listing import StoredFile, list_files
from frazil.upkeep.procedures import call
from frazil.upkeep.sizes import megabytes
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from frazil.connections import Connections

__all__ = ["remove_orphans"]

_CLOCKS = 300.0
"""Seconds by which the clocks of the storage and of those who land may differ."""

_NAMED = 5
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Found:
    """What lies under one table's location, and what of it nobody needs."""

    listed: int
    orphans: tuple[StoredFile, ...]


def remove_orphans(
    spec: TableSpec, connections: Connections, now: float, *, dry_run: bool = False, reason: str = ""
) -> WorkReport:
    """Deletes files of a table, and of its dead letters, that no snapshot names and nobody is writing.

    Args:
        spec: The table's; its `upkeep` says how old an orphan must be.
        connections: The outside systems.
        now: Seconds since the epoch.
        dry_run: Tell only which would go; nothing is touched.
        reason: Why it is done now; told in the report.

    Raises:
        MissingError: There is no such table.
        PartDownError: Spark, the catalog or the storage stopped answering.
    """
    name = things(spec, connections.settings).table
    tables = kept_tables(connections.catalog, name)
    newest = min(now - spec.upkeep.orphans_after.total_seconds(), *map(_begun, tables.values()))
    found = [
        _find(connections, each, table, newest, dry_run)
        for each, table in tables.items()
        if may_delete_files(table)
    ]
    return _report(name, found, dry_run, reason)


def _begun(table: Table) -> float:
    """When the oldest work began that may still be writing files; files since then are not looked at."""
    return min(at_work(table.metadata).values(), default=float("inf")) - _CLOCKS


def _find(connections: Connections, name: TableName, table: Table, newest: float, dry_run: bool) -> _Found:
    """The orphans of one table; deleted by now, unless it is a dry run.

    The listing comes first, and Spark reads the table after it: a commit in between only adds names.
    """
    listed = list(list_files(table))
    old = {file.path: file for file in listed if file.modified < newest}
    gone = _unnamed(connections.spark, name, sorted(old), dry_run) if old else ()
    return _Found(len(listed), tuple(old[path] for path in gone))


def _unnamed(spark: SparkSession, name: TableName, paths: Sequence[str], dry_run: bool) -> list[str]:
    """Those of the files that nothing in the table's metadata names.

    Iceberg's procedure takes no margin under 24 hours by the server's clock, but believes the listing
    that it is given: so all of it is said to be old.
    """
    import pyarrow as pa

    view = f"listing_{secrets.token_hex(8)}"
    listing = pa.table(
        {
            "file_path": pa.array(paths, pa.string()),
            "last_modified": pa.array([_LONG_AGO] * len(paths), pa.timestamp("us", tz="UTC")),
        }
    )
    spark.createDataFrame(listing).createTempView(view)
    try:
        rows = call(
            spark, name, "remove_orphan_files", file_list_view=f"'{view}'", dry_run=str(dry_run).lower()
        )
    finally:
        spark.catalog.dropTempView(view)
    return [row["orphan_file_location"] for row in rows]


def _report(name: TableName, found: Sequence[_Found], dry_run: bool, reason: str) -> WorkReport:
    orphans = [file for each in found for file in each.orphans]
    numbers = {
        "files": len(orphans),
        "bytes": sum(file.bytes for file in orphans),
        "listed": sum(each.listed for each in found),
    }
    return WorkReport(
        table=str(name),
        kind="orphans",
        done=bool(orphans),
        text=_text(orphans, numbers, dry_run) + (f" Why: {reason}" if reason else ""),
        numbers=numbers,
        dry_run=dry_run,
    )


def _text(orphans: Sequence[StoredFile], numbers: dict[str, int], dry_run: bool) -> str:
    if not orphans:
        return f"None of {numbers['listed']:,} files is an orphan that is old enough."
    named = ", ".join(file.path.rpartition("/")[2] for file in orphans[:_NAMED])
    more = f" and {len(orphans) - _NAMED:,} more" if len(orphans) > _NAMED else ""
    verb, size = "Would delete" if dry_run else "Deleted", megabytes(numbers["bytes"])
    count = f"{len(orphans):,} of {numbers['listed']:,} files ({size})"
    return f"{verb} {count} that no snapshot names: {named}{more}."
