"""One task of the lane, in a worker of Spark: it decodes a slice, writes data files, and counts."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.formats.record_batch import ArrowRecords, Verdicts
from frazil.kafka.tally import SHIFT, Tally
from frazil.tables.fitting import fitted
from frazil.tables.parquet import DataFileWriter, FileLayout

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = 8 * 2**20
"""Bytes of bad records that one task hands back; of more the topic is read again."""

MOST_PLACES = 100_000
"""Places of bad records that one task names: so many in all end the landing."""

_LOADED = version("frazil")
"""Of the modules in memory: a worker that serves many sessions may be older than what is installed by now."""

_NUMBERS, _TYPES = (
    pa.array([0, 1], pa.int32()),
    pa.array(["CREATE_TIME", "LOG_APPEND_TIME", "NO_TIMESTAMP_TYPE"]),
)

_FILE = pa.struct(
    [("path", pa.string()), ("size", pa.int64()), ("footer", pa.binary()), ("partition", pa.binary())]
)
_BAD = pa.struct(
    [
        ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_type", pa.int32()), ("leader_epoch", pa.int32()),
        ("headers", pa.map_(pa.string(), pa.binary())), ("raw_key", pa.binary()), ("raw_value", pa.binary()),
        ("key_ok", pa.bool_()), ("value_ok", pa.bool_()),
    ]
)  # fmt: skip
RETURNED = pa.schema([("report", pa.string()), ("files", pa.list_(_FILE)), ("bad", pa.list_(_BAD))])
"""What a task returns, one row; `bad` is null where the bad records are too large."""


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
    """What a task needs, wherever it runs."""

    records: ArrowRecords
    layout: FileLayout
    columns: tuple[str, ...]  # of the table, as decoder and metadata name them, in its order
    metadata: Mapping[str, str]  # column names by the word of the metadata column
    topic: str
    keeps_bad: bool
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes a slice; one row of `RETURNS`."""
        if self.version != _LOADED:
            raise ModuleNotFoundError(f"frazil {self.version}: Spark's workers have {_LOADED}")
        pa.set_cpu_count(1)  # Spark has given this task one core
        yield _Slice(self).written(batches)


class _Slice:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._counts = Counts()
        self._seen: set[int] = set()
        self._bad: list[pa.RecordBatch] = []
        self._kept = 0

    def written(self, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
        writer = DataFileWriter(self._task.layout, f"00000-{uuid.uuid4()}")
        for batch in batches:
            verdicts = self._task.records.decode(batch["raw_key"], batch["raw_value"])
            self._count(batch, verdicts)
            if verdicts.bad.any():
                self._set_aside(batch, verdicts)
            writer.write(self._rows(batch, verdicts))
        self._counts.writers = sorted(self._seen)
        report = pa.array([json.dumps(asdict(self._counts))])
        files = pa.array([[asdict(f) for f in writer.close()]], RETURNED.field("files").type)
        return pa.RecordBatch.from_arrays([report, files, self._given_back()], schema=RETURNED)

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
