"""The ids of rows as Iceberg's specification says them, read by fastavro and PyArrow: no code of Frazil's.

Files of a table on this machine's disk only, without delete files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fastavro
import pyarrow.parquet as pq

Row = dict[str, Any]


@dataclass(frozen=True)
class Identity:
    """What version 3 says of one row."""

    row_id: int | None
    last_updated: int | None


def _path(location: str) -> Path:
    return Path(urlsplit(location).path)


def records(location: str) -> list[Row]:
    """Those of an Avro file."""
    with _path(location).open("rb") as stream:
        return list(fastavro.reader(stream))  # type: ignore[arg-type]


def metadata(location: str) -> Row:
    """A metadata file."""
    found: Row = json.loads(_path(location).read_text())
    return found


def manifests(location: str) -> list[Row]:
    """Those that the head names."""
    head = metadata(location)
    snapshot = next(s for s in head["snapshots"] if s["snapshot-id"] == head["current-snapshot-id"])
    return records(snapshot["manifest-list"])


def live_files(location: str) -> Iterator[tuple[Row, int]]:
    """The data files of the head with their first row ids, and the sequence numbers of their data."""
    for manifest in manifests(location):
        following = manifest["first_row_id"]
        for entry in records(manifest["manifest_path"]):
            if entry["status"] == 2 or manifest["content"] != 0:
                continue
            file, number = {"first_row_id": None} | entry["data_file"], entry["sequence_number"]
            if following is not None and file["first_row_id"] is None:
                file["first_row_id"], following = following, following + file["record_count"]
            yield file, manifest["sequence_number"] if number is None else number


def identities(location: str, column: str) -> dict[Any, Identity]:
    """What the head's rows are by the values of a column, which tell them apart."""
    found: dict[Any, Identity] = {}
    for file, number in live_files(location):
        rows = pq.ParquetFile(_path(file["file_path"])).read().to_pylist()
        for place, row in enumerate(rows):
            assert row[column] not in found
            found[row[column]] = _identity(row, place, file["first_row_id"], number)
    return found


def _identity(row: Row, place: int, first: int | None, number: int) -> Identity:
    if first is None:
        return Identity(None, None)
    own, changed = row.get("_row_id"), row.get("_last_updated_sequence_number")
    return Identity(first + place if own is None else own, number if changed is None else changed)
