"""A table that has one row per key, into which tasks of the lane land without Spark and Kafka."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from frazil.formats.columns.columns import names_by_word, table_fields
from frazil.formats.record import RecordDecoder
from frazil.landing.lane.intake import Task
from frazil.landing.lane.task import Tasks
from frazil.landing.upsert.lane import deal
from frazil.landing.upsert.lane.deal import Deal
from frazil.landing.upsert.lane.merge import Merge
from frazil.landing.upsert.lane.met import HeadFile
from frazil.landing.upsert.lane.newest import Identity
from frazil.landing.upsert.lane.one_task import Upserts
from frazil.landing.upsert.lane.rules import Rules
from frazil.landing.upsert.lane.soft import Soft
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.format_v3.row_ids import Origin
from frazil.tables.format_v3.vector_files import WrittenVector
from frazil.tables.format_v3.vectors import OFFSET_IN_FILE
from frazil.tables.reading.columns import stored_file
from frazil.tables.reading.deleted import DeleteFile, Vector
from frazil.tables.reading.rows import batches_in
from frazil.tables.writing.data_files import file_layout
from frazil.tables.writing.presence import Moves, moved_wrongly, total_of, values_in_manifests
from frazil.tables.writing.sorting import SortKey
from frazil.tables.writing.transfer import OldFile, files_written

__all__ = ["Raw", "Upserted", "batch"]

MB = 2**20
Divided = Sequence[tuple[str, str]]
BUCKETS: Divided = (("bucket[4]", "key"),)

Raw = tuple[bytes | None, bytes | None, int, int, int]
"""Key, value, partition, offset, and milliseconds."""


class Upserted:
    """A table, and landings into it by two tasks in each step, or by one task that does both."""

    one_task = False

    def __init__(
        self, folder: Path, spec: TableSpec, decoder: RecordDecoder, divided: Divided = BUCKETS,
        *, order: tuple[SortKey, ...] = (), row_ids: bool = False, vectors: float = 0.0, small: int = MB,
    ) -> None:  # fmt: skip
        self.catalog = InMemoryCatalog("unit", warehouse=folder.as_uri())
        self._spec, self._decoder, self._order = spec, decoder, order
        self._whole = any(column != "key" for _, column in divided)
        self.table: Table = create_table(
            TableHandle(self.catalog, TableName("n", "t")), table_fields(spec, decoder.columns), divided, {}
        )
        self.files: dict[str, tuple[HeadFile, ...]] = {}
        self._written: list[DataFile] = []
        self.wrong = ""
        """What an audit of values says of the last landing."""
        self.layout = replace(file_layout(self.table), row_ids=row_ids)
        self._next_id, self._landings = 0, 0
        self._vectors, self._small = vectors, small
        self.deleted: dict[str, str] = {}
        """The files of vectors, by the paths of their data files."""
        names = dict(zip((f.name for f in self.table.schema().fields), self.layout.schema.names, strict=True))
        own = {word: names[name] for word, name in names_by_word(spec).items()}
        at = (own[word] for word in ("partition", "offset", "timestamp"))
        self.identity = Identity(("key",), *at, own["source-lsn"] if spec.by_lsn else "")
        self.soft: Soft | None = None
        if spec.keeps_deleted:
            marks = (own[word] for word in ("op", "deleted", "deleted-at", "source-lsn"))
            self.soft = Soft(self.identity, tuple(own.values()), *marks)

    def land(self, *slices: Sequence[Raw], anew: bool = False) -> dict[str, int]:
        """Lands what each task of the first step reads; the counts of all of the second."""
        merge = Merge(
            self.layout, Rules(self.identity, self.soft, anew), self.files, apart=False,
            small=self._small, most=2 * self._small, tasks=2, version=version("frazil"), order=self._order,
            vectors=self._vectors, vectors_from=self._small,
        )  # fmt: skip
        returned = pa.Table.from_batches([*self._merged(slices, merge)])
        merges = [json.loads(text) for text in returned["merge"].drop_null().to_pylist()]
        self._audit(returned, merges)
        self._put(returned.filter(returned["merge"].is_valid()), {p for m in merges for p in m["removed"]})
        for vector in (WrittenVector(**v) for m in merges for v in m["vectors"]):
            self._delete(vector)
        reports = [json.loads(text) for text in returned["report"].drop_null().to_pylist()]
        names = {name for m in merges for name, number in m.items() if isinstance(number, int)}
        sent = {name: sum(r[name] for r in reports) for name in ("sent", "bad", "read")}
        return sent | {name: sum(m[name] for m in merges) for name in names}

    def _merged(self, slices: Sequence[Sequence[Raw]], merge: Merge) -> Iterator[pa.RecordBatch]:
        """By two tasks in each step, or by one that does both."""
        batches = [batch(of) for of in slices]
        if self.one_task:
            numbered = (b.append_column("landing", pa.array([0] * len(b), pa.int32())) for b in batches)
            yield from Tasks((Upserts.of(self._deal(), merge),), version("frazil")).run(numbered)
            return
        dealt = pa.Table.from_batches([b for of in batches for b in self._deal().run([of])])
        for task in (0, 1):
            yield from merge.run(dealt.filter(pc.equal(dealt["task"], task)).to_batches())

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """The row of each key, which is there once."""
        paths = {each.file.path for of in self.files.values() for each in of}
        files = [file for file in self._written if file.file_path in paths]
        rows = [row for file in files for row in self._left(file)]
        rows_by = {row["key"]: row for row in rows}
        assert len(rows_by) == len(rows)
        return rows_by

    def _left(self, file: DataFile) -> Iterator[dict[str, Any]]:
        every = (r for b in batches_in(self.table, self.table.schema(), [file]) for r in b.to_pylist())
        gone = self._places(file.file_path)
        return (row for place, row in enumerate(every) if place not in gone)

    @property
    def identities(self) -> dict[str, tuple[int, int]]:
        """The id of each key's row, and the landing that last changed it, as Iceberg's specification says."""
        ids: dict[str, tuple[int, int]] = {}
        for file in (each.file for of in self.files.values() for each in of):
            assert file.origin
            for place, row in enumerate(pq.read_table(urlsplit(file.path).path).to_pylist()):
                if place in self._places(file.path):
                    continue
                own, changed = row["_row_id"], row["_last_updated_sequence_number"]
                number = file.origin.sequence if changed is None else changed
                ids[row["key"]] = file.origin.first_row_id + place if own is None else own, number
        return ids

    def _audit(self, returned: pa.Table, merges: Sequence[dict[str, Any]]) -> None:
        """As the driver does, with the files themselves in the place of manifests."""
        schema, removed = self.table.schema(), {path for m in merges for path in m["removed"]}
        old = [file for file in self._written if file.file_path in removed]
        new = files_written(self.table, returned.filter(returned["merge"].is_valid()))
        gone, added = (total_of(m[name] for m in merges) for name in ("values_gone", "values_added"))
        moves = Moves(gone, added, fewer=bool(self.deleted))
        self.wrong = moved_wrongly(values_in_manifests(old, schema), values_in_manifests(new, schema), moves)

    def _put(self, returned: pa.Table, removed: set[str]) -> None:
        new = files_written(self.table, returned)
        self._written += new
        self._landings += 1
        for file in new:
            origin = Origin(self._next_id, self._landings)
            self._next_id += file.record_count
            old = OldFile(file.file_path, file.file_size_in_bytes, origin=origin, rows=file.record_count)
            each = HeadFile(old, (None,))
            fields = () if self._whole else range(len(self.table.spec().fields))
            place = deal.place_of(file.partition[n] for n in fields)
            self.files[place] = (*self.files.get(place, ()), each)
        left = {p: tuple(f for f in of if f.file.path not in removed) for p, of in self.files.items()}
        self.files = left

    def _delete(self, vector: WrittenVector) -> None:
        """Notes a vector in the place of the one that its file had, as a commit does."""
        self.deleted[vector.of] = vector.path
        own = Vector(vector.of, OFFSET_IN_FILE, vector.length, vector.rows)
        deletes = (DeleteFile(stored_file(vector.path, vector.size), vector=own),)
        self.files = {
            place: tuple(
                replace(f, file=replace(f.file, deletes=deletes)) if f.file.path == vector.of else f
                for f in of
            )
            for place, of in self.files.items()
        }

    def _places(self, path: str) -> set[int]:
        """The rows of a file that are deleted, as PyIceberg reads vectors."""
        if path not in self.deleted:
            return set()
        puffin = PuffinFile(Path(urlsplit(self.deleted[path]).path).read_bytes())
        (vector,) = deletion_vectors_from_puffin_file(puffin)
        assert vector.referenced_data_file == path
        return set(vector.to_vector().to_pylist())

    def _deal(self) -> Deal:
        records = self._decoder.arrow()
        assert records
        task = Task(
            records=records,
            layout=self.layout,
            metadata=names_by_word(self._spec),
            topic="t",
            epochs={0: [(0, 1)]},
            keeps_bad=True,
        )
        known = deal.tasks_by_place(self.files, 2)
        return Deal(task, self.soft or self.identity, 2, known, version("frazil"), self._whole)


def batch(changes: Iterable[Raw]) -> pa.RecordBatch:
    """Records as Spark gives them to tasks."""
    keys, values, partitions, offsets, times = zip(*changes, strict=True)
    moments = [dt.datetime.fromtimestamp(t / 1000, dt.UTC) for t in times]
    return pa.RecordBatch.from_pydict(
        {
            "raw_key": pa.array(keys, pa.binary()),
            "raw_value": pa.array(values, pa.binary()),
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array(moments, pa.timestamp("us", "UTC")),
            "timestampType": pa.array([0 for _ in keys], pa.int32()),
            "too_large": pa.nulls(len(keys), pa.string()),
            "header_keys": pa.array([[] for _ in keys], pa.list_(pa.string())),
            "header_values": pa.array([[] for _ in keys], pa.list_(pa.binary())),
        }
    )
