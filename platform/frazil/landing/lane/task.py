"""A task of the lane, in a worker of Spark: it decodes what it reads, writes data files, and counts."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.formats.entries import as_map
from frazil.formats.record_batch import ArrowRecords, Verdicts
from frazil.kafka.tally import SHIFT, Tally
from frazil.tables.conversion import fitted
from frazil.tables.parquet import FILES, HELD, DataFileWriter, FileLayout, refuse_others

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = 8 * 2**20
"""Bytes of bad records that one task hands back; of more the topic is read again."""

MOST_PLACES = 100_000
"""Places of bad records that one task names: so many in all end the landing."""

_NUMBERS, _TYPES = (
    pa.array([0, 1], pa.int32()),
    pa.array(["CREATE_TIME", "LOG_APPEND_TIME", "NO_TIMESTAMP_TYPE"]),
)

_BAD = pa.struct(
    [
        ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_type", pa.int32()), ("leader_epoch", pa.int32()),
        ("headers", pa.map_(pa.string(), pa.binary())), ("raw_key", pa.binary()), ("raw_value", pa.binary()),
        ("key_ok", pa.bool_()), ("value_ok", pa.bool_()),
    ]
)  # fmt: skip
RETURNED = pa.schema(
    [
        ("landing", pa.int32()), ("report", pa.string()), ("files", FILES),
        ("bad", pa.list_(_BAD)),
    ]
)  # fmt: skip
"""What a task returns, a row for each landing of which it saw records; `bad` is null where the bad records
are too large."""


@dataclass(slots=True)
class Counts:
    """What one task saw."""

    read: int = 0
    bad: int = 0
    skipped: int = 0
    bytes: int = 0
    max_timestamp: int | None = None
    mark: int = 0
    writers: list[int] = field(default_factory=list)
    bad_at: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Task:
    """What one landing asks of tasks, wherever they run."""

    records: ArrowRecords
    layout: FileLayout
    columns: tuple[str, ...]  # of the table, as decoder and metadata name them, in its order
    metadata: Mapping[str, str]  # column names by the word of the metadata column
    topic: str
    epochs: Mapping[int, Sequence[tuple[int, int]]]  # by partition (first offset, leader epoch), ascending
    keeps_bad: bool


@dataclass(frozen=True, slots=True)
class Tasks:
    """All landings of one job, by their numbers. One with few records shares a task with others."""

    landings: tuple[Task, ...]
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes what a Spark task reads; rows of `RETURNED`."""
        refuse_others(self.version)
        pa.set_cpu_count(1)  # Spark has given this task one core
        begun: dict[int, _Slice] = {}
        for batch in batches:
            for number, records in _by_landing(batch):
                if number not in begun:
                    begun[number] = _Slice(self.landings[number])
                begun[number].add(records)
            if sum(each.held for each in begun.values()) > HELD:
                for each in begun.values():
                    each.flush()
        yield from (each.close(number) for number, each in begun.items())


def _by_landing(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Runs of records of one landing each: partitions are read one after the other."""
    numbers = batch["landing"].to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
    for start, end in zip(starts, [*starts[1:], len(batch)], strict=True):
        if end > start:
            yield int(numbers[start]), batch.slice(start, end - start)


class _Slice:
    """What one task does for one landing."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._counts = Counts()
        self._seen: set[int] = set()
        self._bad: list[pa.RecordBatch] = []
        self._kept = 0
        self._writer = DataFileWriter(task.layout, f"00000-{uuid.uuid4()}")

    @property
    def held(self) -> int:
        """Bytes of rows that wait to be written."""
        return self._writer.held

    def flush(self) -> None:
        """Writes them."""
        self._writer.flush()

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes records in."""
        headers = batch.schema.get_field_index("headers")
        batch = batch.set_column(headers, "headers", as_map(batch.column(headers)))
        batch = batch.append_column("leader_epoch", self._epochs(batch))
        verdicts = self._task.records.decode(batch["raw_key"], batch["raw_value"])
        self._count(batch, verdicts)
        if verdicts.bad.any():
            self._set_aside(batch, verdicts)
        self._writer.write(self._rows(batch, verdicts))

    def close(self, number: int) -> pa.RecordBatch:
        """Finishes the files; the row of `RETURNED` of the landing that has this number."""
        self._counts.writers = sorted(self._seen)
        landing = pa.array([number], pa.int32())
        report = pa.array([json.dumps(asdict(self._counts))])
        files = pa.array([[asdict(f) for f in self._writer.close()]], FILES)
        return pa.RecordBatch.from_arrays([landing, report, files, self._given_back()], schema=RETURNED)

    def _epochs(self, batch: pa.RecordBatch) -> pa.Array:
        """A constant where, as nearly always, there is one for all."""
        epochs = self._task.epochs
        values = {epoch for steps in epochs.values() for _, epoch in steps}
        if len(values) <= 1:
            return pa.repeat(pa.scalar(next(iter(values), None), pa.int32()), len(batch))
        partitions, offsets = (batch[name].to_numpy() for name in ("partition", "offset"))
        found, known = np.zeros(len(batch), np.int32), np.zeros(len(batch), bool)
        for partition, steps in epochs.items():
            for first, epoch in steps:
                later = (partitions == partition) & (offsets >= first)
                found[later], known[later] = epoch, True
        return pa.array(found, mask=~known)

    def _rows(self, batch: pa.RecordBatch, verdicts: Verdicts) -> pa.RecordBatch:
        """The good records as the table's rows."""
        good = batch if verdicts.ok.all() else batch.filter(pa.array(verdicts.ok))
        known = self._metadata(good) | verdicts.columns()
        schema = self._task.layout.schema
        columns = [
            fitted(known[name], own.type) if name in known else pa.nulls(len(good), own.type)
            for name, own in zip(self._task.columns, schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _metadata(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        task, rows = self._task, len(batch)
        found = {
            "topic": lambda: pa.repeat(task.topic, rows),
            "leader-epoch": lambda: batch["leader_epoch"],
            "timestamp-type": lambda: _TYPES.take(pc.index_in(batch["timestampType"], _NUMBERS).fill_null(2)),
            "raw-key": lambda: batch["raw_key"],
            "raw-value": lambda: batch["raw_value"],
        }
        return {name: found[w]() if w in found else batch[w] for w, name in task.metadata.items()}

    def _count(self, batch: pa.RecordBatch, verdicts: Verdicts) -> None:
        counts, places = self._counts, _places(batch)
        counts.read += len(batch)
        counts.bad += int(verdicts.bad.sum())
        counts.skipped += int((~verdicts.ok & ~verdicts.bad).sum())
        counts.bytes += pc.sum(pc.binary_length(batch["raw_value"])).as_py() or 0
        counts.mark ^= Tally.of_places(places).mark
        newest = pc.max(batch["timestamp"]).cast(pa.int64()).as_py()
        if newest is not None:
            counts.max_timestamp = max(newest // 1000, counts.max_timestamp or newest // 1000)
        self._seen |= {w for w in pc.unique(verdicts.value.writer).to_pylist() if w is not None}
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
        told = {
            "timestamp_type": rows["timestampType"],
            "key_ok": verdicts.key.ok.filter(bad),
            "value_ok": verdicts.value.ok.filter(bad),
        }
        columns = [told[f.name] if f.name in told else rows[f.name] for f in _BAD]
        self._bad.append(pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(_BAD))))

    def _given_back(self) -> pa.ListArray:
        if self._kept > KEPT:
            return pa.nulls(1, RETURNED.field("bad").type)
        found = pa.concat_arrays([b.to_struct_array() for b in self._bad] or [pa.nulls(0, _BAD)])
        return pa.ListArray.from_arrays(pa.array([0, len(found)], pa.int32()), found)


def _places(batch: pa.RecordBatch) -> NDArray[np.int64]:
    partitions = batch["partition"].to_numpy().astype(np.int64)
    places: NDArray[np.int64] = (partitions << SHIFT) + batch["offset"].to_numpy()
    return places
