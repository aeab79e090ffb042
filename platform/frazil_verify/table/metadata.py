"""An Iceberg table of format version 2, read from its metadata file and its manifests.

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

_DELETED = 2  # status of a manifest's entry
_POSITIONS, _EQUALITY = 1, 2  # content of a delete file


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct: its id, its name, and its type as the metadata has it."""

    id: int
    name: str
    type: Any
    required: bool


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a snapshot holds."""

    path: str
    format: str
    rows: int


@dataclass(frozen=True)
class TableMetadata:
    """The table as one metadata file has it."""

    document: Mapping[str, Any]
    files: Files

    @classmethod
    def load(cls, location: str, files: Files) -> TableMetadata:
        """Reads the metadata file.

        Raises:
            UnverifiableError: Its format version is not 2.
        """
        document = json.loads(files.read(location))
        if document["format-version"] != 2:
            raise UnverifiableError(
                f"{location} has format version {document['format-version']}; only 2 is read"
            )
        return cls(document, files)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the current schema."""
        current = self.document["current-schema-id"]
        schema = next(s for s in self.document["schemas"] if s["schema-id"] == current)
        return columns_of(schema)

    @cached_property
    def history(self) -> tuple[Mapping[str, Any], ...]:
        """The snapshots that `main` consists of and that are kept, the oldest first."""
        by_id = {each["snapshot-id"]: each for each in self.document.get("snapshots", ())}
        newest = self.document.get("current-snapshot-id")
        found = []
        while (snapshot := by_id.get(newest)) is not None:
            found.append(snapshot)
            newest = snapshot.get("parent-snapshot-id")
        return tuple(reversed(found))

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
                    yield (
                        file["content"],
                        DataFile(file["file_path"], file["file_format"], file["record_count"]),
                    )

    def _avro(self, location: str) -> Iterator[dict[str, Any]]:
        return cast("Iterator[dict[str, Any]]", fastavro.reader(io.BytesIO(self.files.read(location))))


def columns_of(struct: Mapping[str, Any]) -> tuple[Column, ...]:
    """The fields of a schema, or of a type `struct`."""
    return tuple(Column(f["id"], f["name"], f["type"], f["required"]) for f in struct["fields"])
