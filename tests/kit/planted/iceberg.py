"""Iceberg tables on disk without a catalog: Parquet by PyArrow, manifests by PyIceberg, snapshots by hand.

A commit by PyIceberg takes a second of CPU for a wide table; a thousand tables are made here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

_FIRST = 1_700_000_000_000  # milliseconds


@cache
def _begun(schema: pa.Schema) -> dict[str, Any]:
    """The metadata of an empty table of these columns."""
    catalog = InMemoryCatalog("planted", warehouse="file:///nowhere")
    catalog.create_namespace("n")
    metadata = catalog.create_table_transaction("n.t", schema).table_metadata
    once = {"schemas": metadata.schemas[:1], "partition_specs": metadata.partition_specs[:1]}
    begun = metadata.model_copy(update={**once, "sort_orders": metadata.sort_orders[:1]})
    document: dict[str, Any] = json.loads(begun.model_dump_json())
    return document


@cache
def _schema(text: str) -> Schema:
    """Kept, for its maps from ids are made when they are asked for."""
    return Schema.model_validate_json(text)


class Written:
    """A table, and what was committed to it so far."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        folder.mkdir(parents=True)
        self._folder, self._io = folder, PyArrowFileIO()
        self._document = deepcopy(_begun(schema)) | {"location": folder.as_uri()}
        self._manifests: list[ManifestFile] = []

    def evolve(self, schema: pa.Schema) -> None:
        """Adds the numbers that the table does not have yet as optional columns."""
        fields = list(self._document["schemas"][-1]["fields"])
        known = {field["name"] for field in fields}
        for name in (name for name in schema.names if name not in known):
            self._document["last-column-id"] += 1
            number = self._document["last-column-id"]
            fields.append({"id": number, "name": name, "type": "int", "required": False})
        if len(fields) > len(known):
            newest = self._document["schemas"][-1] | {"fields": fields, "schema-id": 1}
            self._document["schemas"].append(newest)
            self._document["current-schema-id"] = 1

    def append(self, rows: pa.Table, says: Mapping[str, str]) -> None:
        """A snapshot with a file more."""
        self._commit("append", rows, self._manifests, says)

    def replace(self, rows: pa.Table) -> None:
        """A snapshot with one file in the place of all others."""
        self._commit("replace", rows, [], {})

    def metadata(self) -> str:
        """Path of its metadata file."""
        file = self._folder / "table.metadata.json"
        file.write_text(json.dumps(self._document))
        return file.as_uri()

    def _commit(self, operation: str, rows: pa.Table, kept: list[ManifestFile],
                says: Mapping[str, str]) -> None:  # fmt: skip
        number = self._document["last-sequence-number"] + 1
        listed = self._listed(number, [*kept, self._manifest(number, rows)])
        snapshot = {
            "snapshot-id": number, "sequence-number": number, "timestamp-ms": _FIRST + number,
            "manifest-list": listed, "schema-id": self._document["current-schema-id"],
            "summary": {"operation": operation, **says},
        }  # fmt: skip
        parent = {"parent-snapshot-id": number - 1} if number > 1 else {}
        self._manifests = [*read_manifest_list(self._io.new_input(listed))]
        self._document["snapshots"].append(snapshot | parent)
        self._document |= {
            "last-sequence-number": number, "current-snapshot-id": number, "last-updated-ms": _FIRST + number,
            "refs": {"main": {"snapshot-id": number, "type": "branch"}},
        }  # fmt: skip

    def _manifest(self, number: int, rows: pa.Table) -> ManifestFile:
        schema = _schema(json.dumps(self._document["schemas"][-1]))
        file = self._folder / f"{number}.parquet"
        pq.write_table(rows.cast(schema_to_pyarrow(schema)), file)
        output = self._io.new_output((self._folder / f"{number}.avro").as_uri())
        with write_manifest(2, UNPARTITIONED_PARTITION_SPEC, schema, output, number, "null") as manifest:
            added = DataFile.from_args(
                content=DataFileContent.DATA, file_path=file.as_uri(), file_format=FileFormat.PARQUET,
                partition=Record(), record_count=len(rows), file_size_in_bytes=file.stat().st_size,
            )  # fmt: skip
            entry = ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=added
            )
            manifest.add_entry(entry)
        return manifest.to_manifest_file()

    def _listed(self, number: int, manifests: list[ManifestFile]) -> str:
        file = (self._folder / f"list-{number}.avro").as_uri()
        parent = number - 1 or None
        with write_manifest_list(2, self._io.new_output(file), number, parent, number, "null") as written:
            written.add_manifests(manifests)
        return file
