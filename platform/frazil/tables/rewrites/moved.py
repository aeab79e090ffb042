"""The audit of rows that move: new files hold the values of the old ones, less what went, and what came.

Compactions, merges of changes, row expiry, forgetting and replays all come through here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from frazil.formats.logical import List, Map, Struct
from frazil.formats.types import from_iceberg
from frazil.quoting import quoted
from frazil.tables.catalogs.pyiceberg import live_entries
from frazil.tables.commits.stage import audit_failed
from frazil.tables.metadata.manifests import Entries, manifests_of
from frazil.tables.spark.faults import Job, files_there
from frazil.tables.spark.session import Watched
from frazil.tables.writing.presence import Moves, moved_wrongly, values_in_manifests, wrong_columns

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

GOES = "$frazil_goes"
"""A column of rows: whether each of them goes, and never null."""

_OF = "values of "
"""Begins the aliases of counters of columns."""


def audit_values(
    work: str,
    table: Table,
    named: Mapping[str, Entries],
    paths: Collection[str],
    added: Iterable[DataFile],
    moves: Moves,
    again: str = "Try again.",
) -> None:
    """Compares what manifests say of the old files and of the new ones with what was counted in between.

    Where that does not fit, the old files are read: other engines' statistics may be wrong.

    Args:
        table: At the head that has the old files.
        named: Manifests of that head with their entries, at least those that name the old files.
        paths: Of the old files.

    Raises:
        AuditFailedError: A column has other numbers of values; nothing of the work is visible.
        CommitConflictError: The head expired meanwhile.
    """
    with files_there(table):
        old = list(_with_statistics(table, named, paths))
    if len(old) < len(paths):  # others took some of them: the commit is refused
        return
    schema = table.schema()
    new = values_in_manifests(added, schema)
    doubted = wrong_columns(values_in_manifests(old, schema), new, moves)
    if not doubted:
        return
    from frazil.tables.rewrites.recount import values_read  # with PyArrow; hardly ever needed

    with files_there(table):
        values = values_read(table, old, doubted)
    if lost := moved_wrongly(values, new.of(doubted), moves):
        raise audit_failed(work, lost, again)


def _with_statistics(
    table: Table, named: Mapping[str, Entries], paths: Collection[str]
) -> Iterator[DataFile]:
    """Some files of a head, manifest by manifest: entries at hand have few statistics of them."""
    from pyiceberg.manifest import ManifestContent

    for manifest in manifests_of(table, table.current_snapshot(), ManifestContent.DATA):
        if any(e.data_file.file_path in paths for e in named.get(manifest.manifest_path, ())):
            yield from (
                e.data_file for e in live_entries(table.io, manifest) if e.data_file.file_path in paths
            )


def judged(rows: DataFrame, sql: str) -> DataFrame:
    """Rows with `GOES`, which is true where the SQL is."""
    return rows.selectExpr("*", f"coalesce({sql}, false) AS {quoted(GOES)}")


class Parted:
    """Rows of old files with a column `GOES`: those that stay, and what went, once they were written."""

    def __init__(self, judged: DataFrame, table: Table, job: Job, *, twice: bool = False) -> None:
        """`twice`: the rows are read twice as they are written, see `Watched`."""
        every = from_iceberg(table.schema())
        self._nested = [f.name for f in every if isinstance(f.type, Struct | List | Map)]
        plain = [f.name for f in every if f.name not in self._nested]
        goes = quoted(GOES)
        counted = {_OF + name: f"count(CASE WHEN {goes} THEN {quoted(name)} END)" for name in plain}
        measures = {"read": "count(1)", "gone": f"count_if({goes})"} | counted
        self._watched = Watched(judged, measures, job, twice=twice)
        self.rows: DataFrame = self._watched.rows.where(f"NOT {goes}").drop(GOES)

    def counted(self) -> tuple[int, int, Moves]:
        """How many rows were read, how many of them went, and with which values.

        Of columns with fields within nothing is counted.
        """
        measured = dict(self._watched.measured)
        read, gone = measured.pop("read"), measured.pop("gone")
        values = {alias.removeprefix(_OF): number for alias, number in measured.items()}
        return read, gone, Moves(gone=values, unknown=frozenset(self._nested))
