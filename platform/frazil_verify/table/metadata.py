"""An Iceberg table of format version 2 or 3, read from its metadata file and its manifests.

Source: https://iceberg.apache.org/spec/. Read here by JSON and fastavro, for the engine reads by PyIceberg.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import fastavro

from frazil_verify.findings import UnverifiableError
from frazil_verify.table.storage import Files

_VERSIONS = (2, 3)
_DELETED = 2  # status of a manifest's entry
_POSITIONS, _EQUALITY = 1, 2  # content of a delete file


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct: its id, its name, and its type as the metadata has it.

    Args:
        default: What rows of files without it have, as the metadata writes it.
    """

    id: int
    name: str
    type: Any
    required: bool
    default: Any = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a snapshot holds.

    Args:
        rows: Rows, or positions that it deletes.
        of: The data file that a deletion vector is of; `at` and `size` say where the vector stands.
    """

    path: str
    format: str
    rows: int
    of: str = ""
    at: int = 0
    size: int = 0

    @property
    def is_vector(self) -> bool:
        """Whether it is a deletion vector."""
        return self.format.upper() == "PUFFIN"


@dataclass(frozen=True, slots=True)
class SnapshotRows:
    """How many rows the files of a snapshot have.

    Args:
        added: Those of files that came with it.
        rows: Those of all files; what delete files take away is not left out.
        has_deletes: Whether there are delete files.
    """

    added: int
    rows: int
    has_deletes: bool


@dataclass(frozen=True)
class TableMetadata:
    """The table as one metadata file has it."""

    document: Mapping[str, Any]
    files: Files

    @classmethod
    def load(cls, location: str, files: Files) -> TableMetadata:
        """Reads the metadata file.

        Raises:
            UnverifiableError: Its format version is neither 2 nor 3.
        """
        document = json.loads(files.read(location))
        if document["format-version"] not in _VERSIONS:
            raise UnverifiableError(
                f"{location} has format version {document['format-version']}; only 2 and 3 are read"
            )
        return cls(document, files)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the current schema."""
        return columns_of(self.schema)

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The current schema."""
        return self.schemas[self.document["current-schema-id"]]

    @cached_property
    def schemas(self) -> dict[int, Mapping[str, Any]]:
        """All schemas that the metadata still has, by their ids, the oldest first."""
        return {each["schema-id"]: each for each in self.document["schemas"]}

    @cached_property
    def history(self) -> tuple[Mapping[str, Any], ...]:
        """The snapshots that `main` consists of and that are kept, the oldest first."""
        by_id = {each["snapshot-id"]: each for each in self.document.get("snapshots", ())}
        newest = self.document.get("current-snapshot-id")
        snapshots = []
        while (snapshot := by_id.get(newest)) is not None:
            snapshots.append(snapshot)
            newest = snapshot.get("parent-snapshot-id")
        return tuple(reversed(snapshots))

    def rows_of(self, snapshot: Mapping[str, Any]) -> SnapshotRows:
        """The rows of a snapshot, as its list of manifests counts them."""
        listed = [*self._avro(snapshot["manifest-list"])]
        data = [each for each in listed if each["content"] == 0]
        own = [each for each in data if each["added_snapshot_id"] == snapshot["snapshot-id"]]
        added = sum(each["added_rows_count"] for each in own)
        rows = sum(each["added_rows_count"] + each["existing_rows_count"] for each in data)
        return SnapshotRows(added, rows, len(data) < len(listed))

    def data_files(self) -> Iterator[DataFile]:
        """The files with the rows of the newest snapshot."""
        return (each for content, each in self._files() if content == 0)

    def position_deletes(self) -> Iterator[DataFile]:
        """The files that say which rows of others are gone.

        Raises:
            UnverifiableError: Rows are deleted by equality.
        """
        for content, each in self._files():
            if content == _EQUALITY:
                raise UnverifiableError(f"{each.path} deletes rows by equality")
            if content == _POSITIONS:
                yield each

    def _files(self) -> Iterator[tuple[int, DataFile]]:
        if not self.history:
            return
        for manifest in self._avro(self.history[-1]["manifest-list"]):
            for entry in self._avro(manifest["manifest_path"]):
                if entry["status"] != _DELETED:
                    file = entry["data_file"]
                    yield file["content"], _data_file(file)

    def _avro(self, location: str) -> Iterator[dict[str, Any]]:
        """The records of a file without logical types: a partition may be a day that no Python date holds."""
        blocks = fastavro.block_reader(io.BytesIO(self.files.read(location)))
        bare = fastavro.parse_schema(_without_logical_types(blocks.writer_schema))
        block: Any  # its stub lacks the stream of its records
        for block in blocks:
            for _ in range(block.num_records):
                yield cast("dict[str, Any]", fastavro.schemaless_reader(block.bytes_, bare, None))


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {k: _without_logical_types(v) for k, v in schema.items() if k != "logicalType"}
    return [_without_logical_types(each) for each in schema] if isinstance(schema, list) else schema


def _data_file(entry: Mapping[str, Any]) -> DataFile:
    return DataFile(
        entry["file_path"], entry["file_format"], entry["record_count"],
        entry.get("referenced_data_file") or "", entry.get("content_offset") or 0,
        entry.get("content_size_in_bytes") or 0,
    )  # fmt: skip


def columns_of(struct: Mapping[str, Any]) -> tuple[Column, ...]:
    """The fields of a schema, or of a type `struct`."""
    return tuple(
        Column(f["id"], f["name"], f["type"], f["required"], f.get("initial-default"))
        for f in struct["fields"]
    )
