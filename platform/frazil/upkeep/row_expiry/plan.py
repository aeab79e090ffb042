"""Which data files hold rows that are past their time, and which of those are worth a rewrite.

Files whose rows are all past go by metadata alone. A file that straddles the cutoff is rewritten once
half of the time that it spans is past, or once its oldest row is past by a day: so rows do go, and no
file is rewritten again and again for a few rows each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, get_args

from frazil.formats.columns.columns import names_by_word
from frazil.quoting import quoted
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.pyiceberg import all_match
from frazil.tables.metadata.manifests import Entries, delete_manifests, files_matching

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyiceberg.table import Table

Age = Literal["waiting", "due", "whole", "unknown"]
"""How many of a file's rows are past: too few; enough; all; its statistics do not tell."""

_DAY = 24 * 3600 * 1000
_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class RowAge:
    """The column of the rows' timestamps, and the age at which rows are deleted."""

    column: str
    most: timedelta


def row_age(spec: AnyTable) -> RowAge | None:
    """When rows expire by a spec; None where they are kept forever, as those of a derived table are."""
    if not isinstance(spec, TableSpec) or spec.keep_rows_for is None:
        return None
    return RowAge(names_by_word(spec)["timestamp"], spec.keep_rows_for)


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The moment before which rows are past (milliseconds since the epoch), by which column."""

    column: str
    at: int

    @property
    def past(self) -> BooleanExpression:
        """For Iceberg: a row is past. A record without a timestamp (-1 in Kafka) has no age, and stays."""
        from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan

        return And(
            GreaterThanOrEqual(term=self.column, value=0),
            LessThan(term=self.column, value=self.at * 1000),
        )

    @property
    def sql(self) -> str:
        """The same for Spark; null where the timestamp is null."""
        column = quoted(self.column)
        return f"({column} >= timestamp_millis(0) AND {column} < timestamp_millis({self.at}))"


@dataclass(frozen=True, slots=True)
class PastRows:
    """The files of one snapshot that hold rows which are past."""

    whole: Entries = ()
    mixed: Entries = ()  # files to be rewritten without such rows: the oldest ones, as many as may be
    waiting: int = 0  # how many straddle the cutoff, and are left for later
    unjudged: int = 0  # how many have no statistics of the timestamp
    # Live entries of the manifests that name all of these, by the manifest's path.
    named: Mapping[str, Entries] = field(default_factory=dict)
    # Paths of the manifests that name delete files: where there are any, only reading tells how many rows
    # a file has.
    deletes: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.whole or self.mixed)

    @property
    def rows(self) -> int:
        """Rows of the whole files."""
        return sum(entry.data_file.record_count for entry in self.whole)

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(entry.data_file.file_size_in_bytes for entry in (*self.whole, *self.mixed))

    @property
    def mixed_paths(self) -> frozenset[str]:
        """Paths of the mixed files."""
        return _paths(self.mixed)

    @property
    def paths(self) -> frozenset[str]:
        """Paths of all files."""
        return _paths((*self.whole, *self.mixed))


def find_past_rows(
    table: Table, cutoff: Cutoff, max_bytes: int, only: frozenset[str] | None = None
) -> PastRows:
    """Looks at the manifests of the head; opens no data file.

    Files to be rewritten have at most `max_bytes`, but for one that is always allowed. `only`: the paths of
    those that are rewritten already; no other one will be.
    """
    deletes = delete_manifests(table)
    matching, judge = files_matching(table, cutoff.past), _judge(table, cutoff)
    files = [judge(entry) for entry in matching.entries]
    by = {age: tuple(f for f in files if f.age == age) for age in get_args(Age)}
    whole, due = ((), (*by["whole"], *by["due"])) if deletes else (by["whole"], by["due"])
    mixed = _oldest(due, max_bytes) if only is None else tuple(f for f in files if f.path in only)
    return PastRows(
        whole=tuple(f.entry for f in whole),
        mixed=tuple(f.entry for f in mixed),
        waiting=len(by["waiting"]) + len(due) - len(mixed),
        unjudged=len(by["unknown"]),
        named=matching.named,
        deletes=deletes,
    )


def count_past_rows(table: Table, past: PastRows, cutoff: Cutoff) -> int | None:
    """How many rows of the mixed files are past: reads their timestamps, and changes nothing.

    None where rows are deleted by equality, which PyIceberg can't read.
    """
    from pyiceberg.io.pyarrow import ArrowScan

    paths = past.mixed_paths
    try:
        scan = table.scan(cutoff.past, selected_fields=(cutoff.column,))
        tasks = [task for task in scan.plan_files() if task.file.file_path in paths]
    except ValueError:
        return None
    reader = ArrowScan(table.metadata, table.io, table.schema().select(cutoff.column), cutoff.past)
    return int(sum(batch.num_rows for batch in reader.to_record_batches(tasks)))


@dataclass(frozen=True, slots=True)
class _File:
    """A live data file, judged; `oldest` as in its statistics, 0 where there are none."""

    entry: ManifestEntry
    age: Age
    oldest: int = 0

    @property
    def path(self) -> str:
        return self.entry.data_file.file_path


def _oldest(files: Iterable[_File], max_bytes: int) -> tuple[_File, ...]:
    """The oldest files within the bytes; at least one."""
    ordered = sorted(files, key=lambda f: f.oldest)
    sizes = accumulate(f.entry.data_file.file_size_in_bytes for f in ordered)
    return tuple(ordered[: max(1, sum(size <= max_bytes for size in sizes))])


def _judge(table: Table, cutoff: Cutoff) -> Callable[[ManifestEntry], _File]:
    """Judges files of one table by their partition and their statistics."""
    field_id = table.schema().find_field(cutoff.column).field_id
    all_past = all_match(table, cutoff.past)

    def judge(entry: ManifestEntry) -> _File:
        bounds = _bounds(entry.data_file, field_id)
        if all_past(entry.data_file):
            return _File(entry, "whole", bounds[0] if bounds else 0)
        if bounds is None:
            return _File(entry, "unknown")
        return _File(entry, "due" if is_due(*bounds, cutoff.at) else "waiting", bounds[0])

    return judge


def oldest_in(entries: Iterable[ManifestEntry], field_id: int) -> float | None:
    """The least timestamp in the statistics of some files, in seconds since the epoch; None: not known."""
    bounds = [(e.data_file.lower_bounds or {}).get(field_id) for e in entries]
    return min((_micros(bound) / 1e6 for bound in bounds if bound), default=None)


def _bounds(file: DataFile, field_id: int) -> tuple[int, int] | None:
    """The oldest and the newest row, in milliseconds since the epoch."""
    low, high = (file.lower_bounds or {}).get(field_id), (file.upper_bounds or {}).get(field_id)
    return None if low is None or high is None else (_micros(low) // 1000, _micros(high) // 1000)


def _micros(bound: bytes) -> int:
    """A bound as Iceberg writes it: microseconds, eight bytes, the least first."""
    return int.from_bytes(bound, "little", signed=True)


def _paths(entries: Entries) -> frozenset[str]:
    return frozenset(entry.data_file.file_path for entry in entries)


def is_due(oldest: int, newest: int, cutoff: int) -> bool:
    """Whether a file that straddles the cutoff, or holds rows without a timestamp, is worth a rewrite.

    All times are milliseconds since the epoch.
    """
    if newest < cutoff:
        return True
    if oldest < 0:  # what stays would have it rewritten each time
        return False
    return cutoff - oldest >= min(_DAY, _SHARE * (newest - oldest))
