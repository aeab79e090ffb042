"""The first step of a task of the lane: it decodes records, counts them, and sets bad ones aside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import value_of, values_of
from frazil.formats.batches.entries import as_map
from frazil.formats.batches.oversize import TOO_LARGE
from frazil.formats.debezium.envelope_batch import DELETE, TRUNCATE
from frazil.formats.record_batch import ArrowRecords, Verdicts
from frazil.kafka.tally import SHIFT, Tally
from frazil.landing.checking.tally import CheckTally
from frazil.landing.lane.metadata import record_metadata
from frazil.landing.lane.times import Times
from frazil.tables.writing.conversion import rows_fitted, table_name
from frazil.tables.writing.parquet import FileLayout
from frazil.tables.writing.presence import count_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = 8 * 2**20
"""Bytes of bad records that one task hands back; of more the topic is read again."""

MOST_PLACES = 100_000
"""Most places of bad records that one task names: the same number in all ends the landing."""

BAD = pa.struct(
    [
        ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_type", pa.int32()), ("leader_epoch", pa.int32()),
        ("headers", pa.map_(pa.string(), pa.binary())), ("raw_key", pa.binary()), ("raw_value", pa.binary()),
        ("key_ok", pa.bool_()), ("value_ok", pa.bool_()), (TOO_LARGE, pa.string()), ("fault", pa.string()),
    ]
)  # fmt: skip
"""A bad record, as a task hands it back."""

OP, TIME, LSN = "op", "source-time", "source-lsn"
"""Columns of good records that are within envelopes: what the source says of a change."""


def deletes(good: pa.RecordBatch) -> pa.BooleanArray:
    """Which good records end the row of their key."""
    tombstones = good["raw_value"].is_null()
    return pc.or_(tombstones, _does(good, DELETE)) if OP in good.schema.names else tombstones


def truncates(good: pa.RecordBatch) -> pa.BooleanArray | None:
    """Which good records end all rows; None where none can."""
    return _does(good, TRUNCATE) if OP in good.schema.names else None


def _does(good: pa.RecordBatch, op: str) -> pa.BooleanArray:
    return pc.equal(good[OP], op).fill_null(False)


@dataclass(slots=True)
class Counts:
    """What one task saw."""

    read: int = 0
    bad: int = 0
    skipped: int = 0
    filtered: int = 0
    bytes: int = 0
    max_timestamp: int | None = None
    mark: int = 0
    writers: list[int] = field(default_factory=list)
    bad_at: list[int] = field(default_factory=list)
    values: dict[str, int] = field(default_factory=dict)  # that were decoded, by column
    in_rows: dict[str, int] = field(default_factory=dict)  # of these in the table's rows


@dataclass(frozen=True, slots=True)
class Task:
    """What one landing asks of tasks, wherever they run."""

    records: ArrowRecords
    layout: FileLayout
    metadata: Mapping[str, str]  # column names by the word of the metadata column
    topic: str
    epochs: Mapping[int, Sequence[tuple[int, int]]]  # by partition (first offset, leader epoch), ascending
    keeps_bad: bool


class Intake:
    """What one task does with the records of one landing before it writes anything."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._counts = Counts()
        self._seen: set[int] = set()
        self._times = Times()
        self._bad: list[pa.RecordBatch] = []
        self._kept = 0
        checks = task.records.checks
        self._checks = CheckTally(checks) if checks else None

    def take_all(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Takes records in, some at a time; see `take`."""
        yield from map(self.take, self._task.records.pieces(batch))

    def take(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Takes records in; gives the good ones, and the rows that they are."""
        names, values = batch["header_keys"], batch["header_values"]
        headers = as_map(names, values)
        batch = batch.drop_columns(["header_keys", "header_values"]).append_column("headers", headers)
        batch = batch.append_column("leader_epoch", self._epochs(batch))
        records = self._task.records
        asked = record_metadata(batch, records.metadata_asked, self._task.topic)
        verdicts = records.decode(batch["raw_key"], batch["raw_value"], names, values, asked)
        verdicts = verdicts.without(batch[TOO_LARGE].is_valid())
        if change := verdicts.change:
            for name, array in ((OP, change.op), (TIME, change.time), (LSN, change.lsn)):
                batch = batch.append_column(name, array)
        self._count(batch, verdicts)
        if self._checks:
            self._checks.add(verdicts, batch["partition"], batch["offset"])
        if verdicts.bad.any():
            self._set_aside(batch, verdicts)
        good = batch if verdicts.ok.all() else batch.filter(pa.array(verdicts.ok))
        return good, self._rows(good, verdicts)

    def report(self, **more: Any) -> pa.Array:
        """The counts, and what else there is to tell, as one text."""
        self._counts.writers = sorted(self._seen)
        checked = {"checks": self._checks.report()} if self._checks else {}
        seen = {**asdict(self._counts), "times": self._times.report()}
        return pa.array([json.dumps(seen | more | checked)])

    def given_back(self) -> pa.ListArray:
        """One list of the bad records; null where they are too large."""
        if self._kept > KEPT:
            return pa.nulls(1, pa.list_(BAD))
        bad = pa.concat_arrays([b.to_struct_array() for b in self._bad] or [pa.nulls(0, BAD)])
        return pa.ListArray.from_arrays(pa.array([0, len(bad)], pa.int32()), bad)

    def _epochs(self, batch: pa.RecordBatch) -> pa.Array:
        """A constant where, as nearly always, there is one for all."""
        epochs = self._task.epochs
        values = {epoch for steps in epochs.values() for _, epoch in steps}
        if len(values) <= 1:
            return pa.repeat(pa.scalar(next(iter(values), None), pa.int32()), len(batch))
        partitions, offsets = (batch[name].to_numpy() for name in ("partition", "offset"))
        by_row, known = np.zeros(len(batch), np.int32), np.zeros(len(batch), bool)
        for partition, steps in epochs.items():
            for first, epoch in steps:
                later = (partitions == partition) & (offsets >= first)
                by_row[later], known[later] = epoch, True
        return pa.array(by_row, mask=~known)

    def _rows(self, good: pa.RecordBatch, verdicts: Verdicts) -> pa.RecordBatch:
        """The good records as the table's rows."""
        decoded, schema = verdicts.columns(), self._task.layout.schema
        rows = rows_fitted(self._metadata(good) | decoded, schema, len(good))
        count_values(self._counts.values, decoded)
        made = ((table_name(own), column) for own, column in zip(schema, rows.columns, strict=True))
        count_values(self._counts.in_rows, {name: column for name, column in made if name in decoded})
        return rows

    def _metadata(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Those that the table has: a spec may ask for more of a table that was made before."""
        task = self._task
        names = {table_name(own) for own in task.layout.schema}
        values = {
            "op": lambda: batch[OP].fill_null(DELETE),
            "deleted": lambda: deletes(batch),
            "deleted-at": lambda: pc.if_else(
                deletes(batch), pc.coalesce(batch[TIME], batch["timestamp"]), None
            ),
        }
        asked = {word: name for word, name in task.metadata.items() if name in names}
        own = {name: values[word]() for word, name in asked.items() if word in values}
        others = {word: name for word, name in asked.items() if word not in values}
        return own | record_metadata(batch, others, task.topic)

    def _count(self, batch: pa.RecordBatch, verdicts: Verdicts) -> None:
        counts, places = self._counts, _places(batch)
        counts.read += len(batch)
        counts.bad += int(verdicts.bad.sum())
        counts.skipped += int((~verdicts.ok & ~verdicts.bad).sum())
        if verdicts.unwanted is not None:
            counts.filtered += int(verdicts.unwanted.sum())
        counts.bytes += value_of(pc.sum(pc.binary_length(batch["raw_value"]))) or 0
        counts.mark ^= Tally.of_places(places).mark
        self._times.add(batch["timestamp"])
        newest = value_of(pc.max(batch["timestamp"]))
        if newest is not None:
            counts.max_timestamp = max(newest // 1000, counts.max_timestamp or newest // 1000)
        self._seen |= {w for w in values_of(pc.unique(verdicts.value.writer)) if w is not None}
        if self._task.keeps_bad:
            room = MOST_PLACES - len(counts.bad_at)
            counts.bad_at += places[verdicts.bad].tolist()[:room]

    def _set_aside(self, batch: pa.RecordBatch, verdicts: Verdicts) -> None:
        """Keeps the bad records, to be explained where the landing was planned."""
        bad = pa.array(verdicts.bad)
        rows = batch.filter(bad)
        self._kept += rows.nbytes
        if not self._task.keeps_bad or self._kept > KEPT:
            self._bad = []
            return
        faults = pa.nulls(len(batch), pa.string()) if verdicts.fault is None else verdicts.fault
        own = {
            "timestamp_type": rows["timestampType"],
            "key_ok": verdicts.key.ok.filter(bad),
            "value_ok": verdicts.value.ok.filter(bad),
            "fault": faults.filter(bad),
        }
        columns = [own[f.name] if f.name in own else rows[f.name] for f in BAD]
        self._bad.append(pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(BAD))))


def _places(batch: pa.RecordBatch) -> NDArray[np.int64]:
    partitions = batch["partition"].to_numpy().astype(np.int64)
    places: NDArray[np.int64] = (partitions << SHIFT) + batch["offset"].to_numpy()
    return places
