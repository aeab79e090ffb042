"""What is worked out anew each time, left out: more than half of the CPU of a round.

Lists of manifests and manifests are kept as records, not as Avro; whoever reads one has copies of them. What
a snapshot says never changes: each ledger is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import metadata
from typing import Any

import pyiceberg.avro.file as avro
import pyiceberg.manifest as manifest
import pytest
from pyiceberg.manifest import DataFile, ManifestFile, ManifestWriter
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.snapshots import Snapshot

from frazil.tables.commits.ledger import Entry
from frazil.tables.format_v3.writing import FileManifest

__all__ = ["make_haste"]


def make_haste(patch: pytest.MonkeyPatch) -> None:
    """Has records written and read as they are, and metadata, which nobody changes, not copied."""
    for module in (avro, manifest):
        patch.setattr(module, "AvroFile", _Read)
        patch.setattr(module, "AvroOutputFile", _Written)
    for writing in (ManifestWriter, FileManifest):
        patch.setattr(writing, "new_writer", lambda writer: _Written(writer._output_file))
    patch.setattr(TableMetadataV2, "__deepcopy__", lambda of, _=None: of.model_copy())
    patch.setattr(Entry, "of", _read_once(Entry.__dict__["of"].__func__))
    patch.setattr(metadata, "distribution", cache(metadata.distribution))
    patch.setattr(metadata.Distribution, "version", property(cache(metadata.Distribution.version.fget)))


def _read_once(read: Callable[[type[Entry], Snapshot], Entry | None]) -> Any:
    known: dict[tuple[type[Entry], int], Entry | None] = {}

    def of(cls: type[Entry], snapshot: Snapshot) -> Entry | None:
        key = cls, snapshot.snapshot_id
        if key not in known:
            known[key] = read(cls, snapshot)
        return known[key]

    return classmethod(of)


class _Of:
    """What is called with the class of its records."""

    def __class_getitem__(cls, _: object) -> Any:
        return cls


class _Written(_Of):
    """Becomes a file when it is closed."""

    def __init__(self, output_file: Any, **_: Any) -> None:
        self.output_file, self._records = output_file, list[Any]()

    def __enter__(self) -> _Written:
        return self

    def __exit__(self, *_: object) -> None:
        self.output_file.store.put_records(self.output_file.location, self._records)

    def write_block(self, records: Sequence[Any]) -> None:
        self._records += map(_copied, records)


class _Read(_Of):
    """The records of a file."""

    def __init__(self, input_file: Any, *_: Any, **__: Any) -> None:
        self._input = input_file

    def __enter__(self) -> Iterator[Any]:
        records = self._input.store.records_of(self._input.location)
        # Manifests PyIceberg itself hands out again.
        return (record if type(record) is ManifestFile else _copied(record) for record in records)

    def __exit__(self, *_: object) -> None:
        pass


def _copied(record: Any) -> Any:
    """A record that may be changed, with the data file in it."""
    again = record.__class__.__new__(record.__class__)
    again._data = [_copied(each) if type(each) is DataFile else each for each in record._data]
    return again
