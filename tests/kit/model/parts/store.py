"""Storage in memory. A data file is the list of its rows: what is tried here is who names it, not Parquet."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pyiceberg.conversions import to_bytes
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestFile, read_manifest_list
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record

from frazil.tables.metadata.stored import StoredFile
from kit.model.parts.stage import Stage

__all__ = ["Store"]

Row = list[Any]
"""What a file holds of one row."""

_PATH = 2147483546
"""Field id of the path in files of deletes, as Iceberg reserves it."""


@dataclass(frozen=True)
class Named:
    """A file that a manifest names."""

    path: str
    sequence: int
    deletes: bool


@dataclass
class Store:
    """All files by path, and when each was written.

    Args:
        stage: Is told of each deletion before it is done.
        clock: Seconds since the epoch.
    """

    stage: Stage
    now: float
    files: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    lists: dict[str, list[ManifestFile]] = field(default_factory=dict)
    known: dict[str, list[Named]] = field(default_factory=dict)
    records: dict[str, list[Any]] = field(default_factory=dict)  # what files hold that are lists of things

    def put(self, path: str, content: bytes) -> None:
        """Writes a file."""
        self.files[path], self.written[path] = content, self.now

    def get(self, path: str) -> bytes:
        """Reads a file."""
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def put_records(self, path: str, records: list[Any]) -> None:
        """Writes a file of records: nobody may change them."""
        self.put(path, b"records")
        self.records[path] = records

    def records_of(self, path: str) -> list[Any]:
        """Reads it."""
        self.get(path)
        return self.records[path]

    def drop(self, path: str) -> None:
        """Deletes a file."""
        self.stage.step()
        self.stage.effect()
        self.get(path)
        del self.files[path]

    def listed(self, location: str) -> Iterator[StoredFile]:
        """All files below a location."""
        self.stage.step()
        below = [path for path in self.files if path.startswith(f"{location}/")]
        return iter([StoredFile(path, len(self.files[path]), self.written[path]) for path in below])

    def write_rows(self, table: Table, rows: Sequence[Row], times: Sequence[float | None] = ()) -> DataFile:
        """Writes a data file.

        Args:
            table: Whose it is to be.
            rows: What it holds.
            times: Of each row, in seconds since the epoch; None: it has none. Empty: no bounds are told.
        """
        self.stage.die_if_dead()
        path = f"{table.location()}/data/{uuid4().hex}.parquet"
        self.put_records(path, [[*row] for row in rows])
        return _file(table, path, len(rows), 1 + 20 * len(rows), DataFileContent.DATA, times)

    def write_deletes(self, table: Table, deletes: Sequence[tuple[str, int]]) -> DataFile:
        """Writes a file of deletes by position, all of one data file."""
        path = f"{table.location()}/data/{uuid4().hex}-deletes.parquet"
        self.put_records(path, [*deletes])
        file = _file(table, path, len(deletes), 1, DataFileContent.POSITION_DELETES, ())
        file[10], file[11] = ({_PATH: edge(path for path, _ in deletes).encode()} for edge in (min, max))
        return file

    def rows(self, table: Table, snapshot_id: int | None) -> list[Row]:
        """The rows that a reader finds at a snapshot."""
        return [row for _, row in self.live(table, snapshot_id)]

    def live(
        self, table: Table, snapshot_id: int | None, paths: Collection[str] | None = None
    ) -> list[tuple[str, Row]]:
        """The same, or those of some files only, each with the path of its file."""
        snapshot = table.metadata.snapshot_by_id(snapshot_id) if snapshot_id else None
        entries = [e for m in self.manifests(table, snapshot) for e in self.named(m)]
        deleted = {
            (path, at): entry.sequence
            for entry in entries
            if entry.deletes
            for path, at in self.records_of(entry.path)
        }
        return [
            (entry.path, row)
            for entry in entries
            if not entry.deletes and (paths is None or entry.path in paths)
            for at, row in enumerate(self.rows_of(entry.path))
            if deleted.get((entry.path, at), -1) < entry.sequence
        ]

    def manifests(self, table: Table, snapshot: Snapshot | None) -> list[ManifestFile]:
        """The manifests of a snapshot; their list is read once."""
        if snapshot is None:
            return []
        self.get(snapshot.manifest_list)
        if snapshot.manifest_list not in self.lists:
            self.lists[snapshot.manifest_list] = list(
                read_manifest_list(_Input(snapshot.manifest_list, self))
            )
        return self.lists[snapshot.manifest_list]

    def named(self, manifest: ManifestFile) -> list[Named]:
        """The live files that a manifest names; it is read once."""
        self.get(path := manifest.manifest_path)
        if path not in self.known:
            entries = manifest.fetch_manifest_entry(ModelIO(self), discard_deleted=True)
            self.known[path] = [
                Named(
                    e.data_file.file_path, e.sequence_number or 0, e.data_file.content != DataFileContent.DATA
                )
                for e in entries
            ]
        return self.known[path]

    def rows_of(self, path: str) -> list[Row]:
        """The rows of one file."""
        return [[*row] for row in self.records_of(path)]


def _file(
    table: Table, path: str, count: int, size: int, content: DataFileContent, times: Sequence[float | None]
) -> DataFile:
    known = sorted(round(at * 1_000_000) for at in times if at is not None)
    column = table.schema().find_field("$$timestamp") if times else None
    edges = (known[0], known[-1]) if known else ()
    low, high = ({column.field_id: to_bytes(column.field_type, at)} for at in edges) if edges else ({}, {})
    file = DataFile.from_args(
        content=content, file_path=path, file_format=FileFormat.PARQUET,
        partition=Record(*[None] * len(table.spec().fields)),
        record_count=count, file_size_in_bytes=size, lower_bounds=low or None, upper_bounds=high or None,
        null_value_counts={column.field_id: count - len(known)} if column else None,
    )  # fmt: skip
    file.spec_id = table.spec().spec_id
    return file


class ModelIO(FileIO):
    """Iceberg's way into a store."""

    def __init__(self, store: Store) -> None:
        super().__init__({})
        self.store = store

    def new_input(self, location: str) -> InputFile:
        """See `FileIO.new_input`."""
        return _Input(location, self.store)

    def new_output(self, location: str) -> OutputFile:
        """See `FileIO.new_output`."""
        return _Output(location, self.store)

    def delete(self, location: Any) -> None:
        """See `FileIO.delete`."""
        self.store.drop(str(getattr(location, "location", location)))


class _Input(InputFile):
    def __init__(self, location: str, store: Store) -> None:
        super().__init__(location)
        self.store = store

    def __len__(self) -> int:
        return len(self.store.get(self.location))

    def exists(self) -> bool:
        return self.location in self.store.files

    def open(self, seekable: bool = True) -> Any:
        return io.BytesIO(self.store.get(self.location))


class _Output(OutputFile):
    def __init__(self, location: str, store: Store) -> None:
        super().__init__(location)
        self.store = store

    def __len__(self) -> int:
        return len(self.store.get(self.location))

    def exists(self) -> bool:
        return self.location in self.store.files

    def to_input_file(self) -> InputFile:
        return _Input(self.location, self.store)

    def create(self, overwrite: bool = False) -> Any:
        return _Written(self.location, self.store)


class _Written(io.BytesIO):
    """Becomes a file when it is closed."""

    def __init__(self, path: str, store: Store) -> None:
        super().__init__()
        self._path, self._store = path, store

    def close(self) -> None:
        if not self.closed:
            self._store.put(self._path, self.getvalue())
        super().close()
