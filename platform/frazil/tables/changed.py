"""Rows that changed between two snapshots that give rows ids: none has to be compared with another.

A row that came, or changed, bears the number of a later commit; one that only moved into another file has its
id and its number there, too. https://iceberg.apache.org/spec/#row-lineage
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from frazil.quoting import quoted
from frazil.tables.format_v3.fields import LAST_UPDATED_COLUMN, ROW_ID_COLUMN
from frazil.tables.reading.delete_files import are_readable, deletes_by_file
from frazil.tables.reading.frame import taken_frame
from frazil.tables.touched import Side

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyspark.sql import DataFrame, SparkSession

_MOVED = "$frazil_moved"


def changed(spark: SparkSession, before: Side, after: Side, since: int) -> tuple[DataFrame, DataFrame]:
    """The rows that went, as they were, and those that came, with their ids; one that changed is among both.

    Args:
        before: The files that tell an earlier snapshot apart from a later one, see `touched`.
        after: Those that tell the later one apart.
        since: Sequence number of the earlier one.
    """
    from pyspark.sql import functions as F

    taking = _thinned(before, after)
    here, came = _others(after, taking), f"{LAST_UPDATED_COLUMN} > {since}"
    moved = here.rows(spark, (), moves=True).where(f"NOT ({came})")
    moved, same = moved.select(F.col(ROW_ID_COLUMN).alias(_MOVED)), f"{ROW_ID_COLUMN} = {quoted(_MOVED)}"
    gone = _others(before, taking).rows(spark, moves=True)
    if taking:
        thinned = [entry for entry in before.entries if _path(entry) in taking]
        gone = gone.unionByName(taken_frame(spark, before.table, thinned, taking))
    return gone.join(moved, F.expr(same), "left_anti"), here.rows(spark, moves=True).where(came)


def _thinned(before: Side, after: Side) -> Mapping[str, tuple[DataFile, ...]]:
    """The data files that both have, as far as tasks can read them, and the later one's delete files of each.

    Those take away what the earlier ones take, and more: who writes a vector puts the one before into it.
    """
    ours = {_path(entry): entry for entry in before.entries}
    shared = [entry for entry in after.entries if _path(entry) in ours]
    theirs = deletes_by_file(after.table, shared)
    both = (*theirs, *deletes_by_file(before.table, [ours[_path(entry)] for entry in shared]))
    odd = {file.file_path for file, deletes in both if not are_readable((file, *deletes))}
    return {file.file_path: deletes for file, deletes in theirs if file.file_path not in odd}


def _path(entry: ManifestEntry) -> str:
    return entry.data_file.file_path


def _others(side: Side, paths: Collection[str]) -> Side:
    """The files of a side without some."""
    return replace(side, entries=tuple(entry for entry in side.entries if _path(entry) not in paths))
