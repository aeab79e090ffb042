"""Which data files hold rows that are past their time, and which of those are worth a rewrite.

Files whose rows are all past go by metadata alone. A file that straddles the cutoff is rewritten once
half of the time that it spans is past, or once its oldest row is past by a day: so rows do go, and no
file is rewritten again and again for a few rows each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, get_args

from frazil.quoting import quoted

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.table import Table

__all__ = ["Cutoff", "PastRows", "find_past_rows", "is_due"]

Age = Literal["young", "waiting", "due", "whole", "unknown"]
"""Of a file: nothing is past; some is, but too little; enough is; everything is; nobody knows."""

_DAY = 24 * 3600 * 1000
_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The moment before which rows are past.

    Args:
        column: The table's column of the record's timestamp.
        at: Milliseconds since the epoch; a row of that very moment stays.
    """

    column: str
    at: int

    @property
    def past(self) -> BooleanExpression:
        """What Iceberg is asked. A record without a timestamp (-1 in Kafka) has no age, and stays."""
        from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan

        return And(
            GreaterThanOrEqual(term=self.column, value=0),
            LessThan(term=self.column, value=self.at * 1000),
        )

    @property
    def sql(self) -> str:
        """The same for Spark; null where the timestamp is."""
        column = quoted(self.column)
        return f"({column} >= timestamp_millis(0) AND {column} < timestamp_millis({self.at}))"


@dataclass(frozen=True, slots=True)
class PastRows:
    """The files of one snapshot that hold rows which are past.

    Args:
        whole: Those in which all rows are.
        mixed: Those to be read, and rewritten without such rows: the oldest ones, as many as may be.
        waiting: How many straddle the cutoff, and are left for later.
        unjudged: How many have no statistics of the timestamp.
        touched: Paths of the manifests that name those.
        deletes: Paths of the manifests that name delete files: where there are any, only reading tells
            how many rows a file has.
    """

    whole: tuple[ManifestEntry, ...] = ()
    mixed: tuple[ManifestEntry, ...] = ()
    waiting: int = 0
    unjudged: int = 0
    touched: frozenset[str] = frozenset()
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
        return frozenset(entry.data_file.file_path for entry in self.mixed)


def find_past_rows(
    table: Table, cutoff: Cutoff, max_bytes: int, only: frozenset[str] | None = None
) -> PastRows:
    """Looks at the manifests of the head; opens no data file.

    Args:
        table: As loaded.
        cutoff: The moment.
        max_bytes: Most bytes of files to be rewritten; one file is always allowed.
        only: Paths of the files that are rewritten already: no other one will be.
    """
    from pyiceberg.manifest import ManifestContent

    head = table.current_snapshot()
    manifests = head.manifests(table.io) if head else []
    deletes = frozenset(m.manifest_path for m in manifests if m.content == ManifestContent.DELETES)
    judge = _Judge(table, cutoff)
    files = list(judge.files([m for m in manifests if m.content == ManifestContent.DATA]))
    by = {age: tuple(f for f in files if f.age == age) for age in get_args(Age)}
    whole, due = ((), (*by["whole"], *by["due"])) if deletes else (by["whole"], by["due"])
    mixed = _oldest(due, max_bytes) if only is None else tuple(f for f in files if f.path in only)
    return PastRows(
        whole=tuple(f.entry for f in whole),
        mixed=tuple(f.entry for f in mixed),
        waiting=len(by["waiting"]) + len(due) - len(mixed),
        unjudged=len(by["unknown"]),
        touched=frozenset(f.manifest for f in (*whole, *mixed)),
        deletes=deletes,
    )


@dataclass(frozen=True, slots=True)
class _File:
    """A live data file, judged; `oldest` as in its statistics, 0 where there are none."""

    manifest: str
    entry: ManifestEntry
    age: Age
    oldest: int

    @property
    def path(self) -> str:
        return self.entry.data_file.file_path


def _oldest(files: Iterable[_File], max_bytes: int) -> tuple[_File, ...]:
    """The oldest ones within the bytes; at least one."""
    ordered = sorted(files, key=lambda f: f.oldest)
    sizes = accumulate(f.entry.data_file.file_size_in_bytes for f in ordered)
    return tuple(ordered[: max(1, sum(size <= max_bytes for size in sizes))])


class _Judge:
    """Judges the files of one table by their partition and their statistics."""

    def __init__(self, table: Table, cutoff: Cutoff) -> None:
        from pyiceberg.expressions.visitors import (
            _InclusiveMetricsEvaluator,
            _StrictMetricsEvaluator,
            residual_evaluator_of,
        )

        self._table = table
        self._cutoff = cutoff
        self._field = table.schema().find_field(cutoff.column).field_id
        self._all_past = _StrictMetricsEvaluator(table.schema(), cutoff.past).eval
        self._some_past = _InclusiveMetricsEvaluator(table.schema(), cutoff.past).eval
        self._residuals = {
            i: residual_evaluator_of(spec, cutoff.past, True, table.schema())
            for i, spec in table.specs().items()
        }

    def files(self, manifests: Sequence[ManifestFile]) -> Iterator[_File]:
        """The live files of those manifests that may name such as hold rows which are past."""
        from pyiceberg.expressions.visitors import inclusive_projection, manifest_evaluator
        from pyiceberg.utils.concurrent import ExecutorFactory

        schema, specs = self._table.schema(), self._table.specs()
        fitting = {
            i: manifest_evaluator(specs[i], schema, inclusive_projection(schema, specs[i])(self._cutoff.past))
            for i in {m.partition_spec_id for m in manifests}
        }
        chosen = [m for m in manifests if fitting[m.partition_spec_id](m)]
        read = ExecutorFactory.get_or_create().map(lambda m: m.fetch_manifest_entry(self._table.io), chosen)
        for manifest, entries in zip(chosen, read, strict=True):
            for entry in entries:
                oldest = (self._bounds(entry.data_file) or (0, 0))[0]
                yield _File(manifest.manifest_path, entry, self._age(entry.data_file), oldest)

    def _age(self, file: DataFile) -> Age:
        if not self._some_past(file):
            return "young"
        if self._all_past(file) or self._partition_is_past(file):
            return "whole"
        bounds = self._bounds(file)
        if bounds is None:
            return "unknown"
        return "due" if is_due(*bounds, self._cutoff.at) else "waiting"

    def _partition_is_past(self, file: DataFile) -> bool:
        from pyiceberg.expressions import AlwaysTrue

        return bool(self._residuals[file.spec_id].residual_for(file.partition) == AlwaysTrue())

    def _bounds(self, file: DataFile) -> tuple[int, int] | None:
        low = (file.lower_bounds or {}).get(self._field)
        high = (file.upper_bounds or {}).get(self._field)
        return None if low is None or high is None else (_millis(low), _millis(high))


def _millis(micros: bytes) -> int:
    """A bound as Iceberg writes it: microseconds, eight bytes, the least first."""
    return int.from_bytes(micros, "little", signed=True) // 1000


def is_due(oldest: int, newest: int, cutoff: int) -> bool:
    """Whether a file that straddles the cutoff, or holds rows without a timestamp, is worth a rewrite.

    Args:
        oldest: Its oldest row, in milliseconds since the epoch.
        newest: Its newest row.
        cutoff: The moment before which rows are past.
    """
    if newest < cutoff:
        return True
    if oldest < 0:  # what stays would have it rewritten each time
        return False
    return cutoff - oldest >= min(_DAY, _SHARE * (newest - oldest))
