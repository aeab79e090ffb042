"""Which dead letters a redrive takes: those asked for that their table does not hold yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.exact import values_of
from frazil.formats.columns.columns import names_by_word
from frazil.landing.position.ledger import EMPTY, Ledger, Span, read_ledger
from frazil.landing.repairs.acceptance import foreign_commits
from frazil.landing.repairs.bad_records import MOST
from frazil.landing.repairs.dead_letters import DeadLetter, letters_schema, of_log, read_letters
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.erasure import forgettings
from frazil.tables.filters import parse_filter
from frazil.tables.keys import NAMES, Key, keys_in, within

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table


@dataclass(frozen=True, slots=True)
class Chosen:
    """The dead letters of one redrive.

    Attributes:
        letters: By partition and offset; at most `MOST`.
        count: How many were asked for.
        already_in: How many of those the table holds.
        past: How many of those are older than rows that expired, or were deleted: they may have been in.
        head: The table's snapshot that was looked at.
        ledger: The newest one at that snapshot.
        names: The table's columns of partition and offset.
        among: The rows of the table that may be of these dead letters.
        forgettings: How often rows of the table had been looked for to be forgotten.
    """

    letters: tuple[DeadLetter, ...]
    count: int
    already_in: int
    head: int
    ledger: Ledger
    names: tuple[str, str]
    past: int = 0
    among: BooleanExpression | None = None
    forgettings: int = 0

    @property
    def waiting(self) -> int:
        """How many are beyond `MOST`."""
        return self.count - self.already_in - self.past - len(self.letters)


def choose(spec: TableSpec, handle: TableHandle, where: str) -> Chosen:
    """Dead letters by a filter over their table, without those that were redriven before.

    What a landing that died kept, beyond the table's position, is left to the landing that follows.

    Raises:
        UsageError: The filter is no filter.
    """
    names = offset_columns(spec)
    _filter(letters_schema(), where)
    table = handle.load_or_none()  # first: dead letters are forgotten before rows are
    kept = handle.dead_letters.load_or_none()
    ledger = read_ledger(table.metadata) if table else None
    head = table.current_snapshot() if table else None
    if kept is None or table is None or ledger is None or head is None:
        return Chosen((), 0, 0, 0, EMPTY, names)
    rows = _rows(kept, where, ledger.log)
    asked = {key: at for key, at in _keys(kept, rows) if ledger.covers(*key)}
    among = _of_times(spec, asked.values()) if ledger.earlier_logs else None
    present = keys_in(table, asked, names, among)
    cutoff = _cutoff(table, ledger)
    missing = {key for key, at in asked.items() if key not in present and not _is_past(at, cutoff)}
    letters = read_letters(kept, rows, set(sorted(missing)[:MOST]))
    past = len(asked) - len(present) - len(missing)
    return Chosen(
        tuple(letters), len(asked), len(present), head.snapshot_id, ledger, names, past, among,
        forgettings(table.metadata),
    )  # fmt: skip


def letters_within(handle: TableHandle, ledger: Ledger, spans: Mapping[int, Span]) -> set[Key]:
    """The dead letters of some spans, redriven or not, of the log that the table stands in."""
    kept = handle.dead_letters.load_or_none()
    if kept is None:
        return set()
    keys = (key for key, _ in _keys(kept, _of_log(kept, within(spans), ledger.log)))
    return {(p, at) for p, at in keys if p in spans and spans[p][0] <= at < spans[p][1]}


def offset_columns(spec: TableSpec) -> tuple[str, str]:
    """What a table calls its columns of partition and offset."""
    names = names_by_word(spec)
    return names["partition"], names["offset"]


def _of_times(spec: TableSpec, times: Iterable[int | None]) -> BooleanExpression:
    """Rows with one of these timestamps: partition and offset alone may be those of another log's record."""
    from pyiceberg.expressions import In

    name = names_by_word(spec)["timestamp"]
    return In(term=name, literals={at for at in times if at is not None})


def _keys(kept: Table, where: BooleanExpression) -> Iterator[tuple[Key, int | None]]:
    """Each one's partition and offset, and its timestamp in microseconds."""
    rows = kept.scan(where, selected_fields=(*NAMES, "timestamp")).to_arrow()
    partitions, offsets, timestamps = (values_of(rows[name]) for name in (*NAMES, "timestamp"))
    return zip(zip(partitions, offsets, strict=True), timestamps, strict=True)


def _cutoff(table: Table, ledger: Ledger) -> int | None:
    """Milliseconds since the epoch before which rows may have expired, or been redriven and then deleted."""
    deleted = [s.timestamp_ms for s in foreign_commits(table.metadata)] if ledger.total_redriven else []
    return max([*deleted, *([] if ledger.expired_before is None else [ledger.expired_before])], default=None)


def _is_past(at: int | None, cutoff: int | None) -> bool:
    """Whether its row, had it one, may be gone: then it would be landed a second time."""
    return cutoff is not None and at is not None and 0 <= at < cutoff * 1000


def _rows(kept: Table, where: str, log: str) -> BooleanExpression:
    """What a user's filter means, among the dead letters of the log that the table stands in."""
    return _of_log(kept, _filter(kept.schema(), where), log)


def _of_log(kept: Table, asked: BooleanExpression, log: str) -> BooleanExpression:
    from pyiceberg.expressions import And

    return And(asked, of_log(log)) if "topic_id" in kept.schema().column_names else asked


def _filter(schema: Schema, where: str) -> BooleanExpression:
    return parse_filter(schema, where, "dead letters", "Nothing was redriven.")
