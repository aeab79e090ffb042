"""What is kept of files that go, written by columns: Spark's tasks read and write these files themselves.

Where a partition's files go, the rows that the landing appended there go into the new ones, so that no
small file is left beside them. What else there is to do than to leave rows out, Spark does: `merge.py`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from frazil.exact import values_of
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.upsert.changes import Changes
from frazil.landing.upsert.divisions import keeps_files_apart
from frazil.landing.upsert.matches import BUCKETED, Matches
from frazil.landing.upsert.packing import pack
from frazil.quoting import quoted
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.commits.stage import StagedFiles, audit_failed, audit_rows
from frazil.tables.metadata.manifests import Candidates, delete_manifests
from frazil.tables.reading.delete_files import are_readable
from frazil.tables.rewrites.moved import audit_values
from frazil.tables.spark.faults import spark_job
from frazil.tables.writing.presence import Moves, total_of, values_in_manifests
from frazil.tables.writing.workers import latest_commit

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

    from frazil.tables.format_v3.row_ids import Origin

FULL = 1.1
"""A file may be so much larger than the target: compactions leave it alone, too."""


@dataclass(frozen=True, slots=True)
class Kept:
    """New files in the place of those that go."""

    staged: StagedFiles
    taken: frozenset[str]  # paths of files of changes whose rows they hold, too


@dataclass(frozen=True, slots=True)
class Bin:
    """Files of one partition that become one, and new ones whose rows come into it."""

    old: tuple[DataFile, ...]
    new: tuple[DataFile, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes of all of them."""
        return sum(f.file_size_in_bytes for f in (*self.old, *self.new))


def keep_by_columns(
    settings: Settings, changes: Changes, table: Table, matches: Matches, files: Candidates, plan: Plan
) -> Kept | None:
    """Writes what is kept of old files, with rows of new ones; None where there is more to do.

    Raises:
        AuditFailedError: Other rows were left out than were found before, or the new files lack some.
        FrazilError: See `spark_job`.
    """
    from frazil.tables.format_v3.row_ids import origins_of

    spec = changes.spec
    if not _only_leaves_out(changes, matches, table):
        return None
    old, new = [e.data_file for e in files.entries], changes.files
    bins = list(plan_bins(old, new, spec, apart=keeps_files_apart(spec, table)))
    if not are_readable([*old, *new]):
        return None
    until = latest_commit(spec.upkeep.orphans_after)
    with spark_job(landing_job(plan)):
        returned = _run(settings, changes, table, bins, origins_of(table, files.entries))
    return _audited(table, files, bins, matches, returned, plan, until)


def plan_bins(
    old: Sequence[DataFile], new: Sequence[DataFile], spec: TableSpec, *, apart: bool
) -> Iterator[Bin]:
    """Which files become one: the small ones of a partition, with the rows that came there.

    `apart`: each stays by itself, see `keeps_files_apart`.
    """
    target = int(spec.write.target_file_size)
    small, most = spec.upkeep.small_file * target, FULL * target
    for place, group in groupby(sorted(old, key=_place), key=_place):
        files = tuple(group)
        own = tuple(f for f in new if _place(f) == place)
        new_bytes = sum(f.file_size_in_bytes for f in own)
        packed = pack(files, lambda f: f.file_size_in_bytes, new_bytes, 0 if apart else small, most)
        yield from (Bin((f,)) for f in packed.alone)
        if packed.together:
            yield Bin(packed.together, own if packed.takes else ())


def _place(file: DataFile) -> tuple[int, str]:
    return file.spec_id, repr(file.partition)


def _only_leaves_out(changes: Changes, matches: Matches, table: Table) -> bool:
    """Whether the files are as before but for rows of changed keys, and Arrow tells these as Spark does."""
    marked = bool(changes.marks and matches.bare)
    others = matches.strange_rows or changes.truncates or delete_manifests(table)
    if matches.older is not None or marked or others:
        return False
    kinds = (str(table.schema().find_type(name)) for name in changes.key)
    return all(kind.startswith(BUCKETED) for kind in kinds)


def _run(
    settings: Settings, changes: Changes, table: Table, bins: Sequence[Bin], origins: Mapping[str, Origin]
) -> pa.Table:
    """What tasks say of each bin."""
    from frazil.tables.writing.transfer import FileBin, OldFile, old_file, run_bins

    def old_files(files: Collection[DataFile]) -> tuple[OldFile, ...]:
        return tuple(old_file(table, f, origin=origins.get(f.file_path)) for f in files)

    split = {table.schema().find_column_name(f.source_id) for f in table.spec().fields}
    by_key, layout = split <= set(changes.key), table.spec().spec_id

    def keys_in(bin_: Bin) -> tuple[OldFile, ...]:
        """Where the key says the partition, its rows have no key of another one."""
        place = _place(bin_.old[0])
        own = [f for f in changes.files if _place(f) == place]
        return old_files(own if by_key and place[0] == layout else changes.files)

    work = [FileBin(old_files(b.old), added=old_files(b.new), keys_in=keys_in(b)) for b in bins]
    return run_bins(changes.spark, table, work, settings.spark.parallelism, _ended(changes, table))


def _ended(changes: Changes, table: Table) -> pa.Table:
    """Keys that have no row in the files of changes, as files hold them."""
    import pyarrow as pa

    from frazil.tables.writing.conversion import fitted
    from frazil.tables.writing.data_files import file_layout

    fields = dict(zip((f.name for f in table.schema().fields), file_layout(table).schema, strict=True))
    own = [fields[name] for name in changes.key]
    if not changes.ends:
        return pa.table({f.name: pa.array([], f.type) for f in own})
    ended = changes.bare.select(*map(quoted, changes.key)).toArrow().combine_chunks()
    columns = (ended.column(n).combine_chunks() for n in range(len(own)))
    return pa.table({f.name: fitted(c, f.type) for f, c in zip(own, columns, strict=True)})


def _audited(
    table: Table, files: Candidates, bins: Sequence[Bin], matches: Matches, returned: pa.Table, plan: Plan,
    until: float,
) -> Kept:  # fmt: skip
    """Compares what tasks read and left out with manifests and matches, and with the new files' footers."""
    from frazil.tables.writing.transfer import files_written

    staged = StagedFiles(files_written(table, returned), until=until)
    work, again = f"A merge of topic {plan.topic}", "Land again."
    before = sum(f.record_count for b in bins for f in b.old)
    added = sum(f.record_count for b in bins for f in b.new)
    read, gone = (sum(values_of(returned[name])) for name in ("rows", "gone"))
    numbers = f"of {before} rows {matches.gone} go, {added} come; {read} were read, {gone} left out"
    if (read, gone) != (before, matches.gone):
        raise audit_failed(work, numbers, again)
    audit_rows(staged, before - matches.gone + added, work, numbers, again)
    new = values_in_manifests((f for b in bins for f in b.new), table.schema())
    gone = total_of(json.loads(text) for text in values_of(returned["values_gone"]))
    moves = Moves(gone, new.whole, new.silent)
    audit_values(work, table, files.named, files.rows, staged.files, moves, again)
    return Kept(staged, frozenset(f.file_path for b in bins for f in b.new))
