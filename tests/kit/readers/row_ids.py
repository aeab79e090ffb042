"""The ids of rows as Iceberg's specification says them, read by fastavro and PyArrow: no code of Frazil's.

Tables without delete files, on this machine's disk unless `Open` says where else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import fastavro
import pyarrow.parquet as pq

Row = dict[str, Any]
Open = Callable[[str], IO[bytes]]
"""Opens the file at a location."""


@dataclass(frozen=True)
class Identity:
    """What version 3 says of one row."""

    row_id: int | None
    last_updated: int | None


def _path(location: str) -> Path:
    return Path(urlsplit(location).path)


def _on_disk(location: str) -> IO[bytes]:
    return _path(location).open("rb")


def records(location: str, opened: Open = _on_disk) -> list[Row]:
    """Those of an Avro file."""
    with opened(location) as stream:
        return list(fastavro.reader(stream))  # type: ignore[arg-type]


def metadata(location: str, opened: Open = _on_disk) -> Row:
    """A metadata file."""
    with opened(location) as stream:
        document: Row = json.loads(stream.read())
    return document


def manifests(location: str, opened: Open = _on_disk) -> list[Row]:
    """Those that the head names."""
    head = metadata(location, opened)
    snapshot = next(s for s in head["snapshots"] if s["snapshot-id"] == head["current-snapshot-id"])
    return records(snapshot["manifest-list"], opened)


def live_files(location: str, opened: Open = _on_disk) -> Iterator[tuple[Row, int]]:
    """The data files of the head with their first row ids, and the sequence numbers of their data."""
    for manifest in manifests(location, opened):
        following = manifest["first_row_id"]
        for entry in records(manifest["manifest_path"], opened):
            if entry["status"] == 2 or manifest["content"] != 0:
                continue
            file, number = {"first_row_id": None} | entry["data_file"], entry["sequence_number"]
            if following is not None and file["first_row_id"] is None:
                file["first_row_id"], following = following, following + file["record_count"]
            yield file, manifest["sequence_number"] if number is None else number


def identities(location: str, column: str) -> dict[Any, Identity]:
    """What the head's rows are by the values of a column, which tell them apart."""
    identities_by: dict[Any, Identity] = {}
    for file, number in live_files(location):
        rows = pq.ParquetFile(_path(file["file_path"])).read().to_pylist()
        for place, row in enumerate(rows):
            assert row[column] not in identities_by
            identities_by[row[column]] = identity(row, place, file["first_row_id"], number)
    return identities_by


def identity(row: Row, place: int, first: int | None, number: int) -> Identity:
    """That of the row at a place of a file, by the file's first row id and the number of its data."""
    if first is None:
        return Identity(None, None)
    own, changed = row.get("_row_id"), row.get("_last_updated_sequence_number")
    return Identity(first + place if own is None else own, number if changed is None else changed)
