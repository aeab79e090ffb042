"""Manifests and their lists, read with the fields of version 3: PyIceberg's readers leave these out.

Without them a rewritten manifest would give other ids to its rows, and nobody would notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from frazil.tables.format_v3.fields import FIRST_ROW_ID, ROW_ID_OF_LIST, has_field

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestEntry, ManifestFile
    from pyiceberg.schema import Schema


def read_list(io: FileIO, location: str) -> tuple[ManifestFile, ...]:
    """The manifests that a list of version 3 names: PyIceberg's cache has none of its fields."""
    from pyiceberg.avro.file import AvroFile
    from pyiceberg.manifest import (
        MANIFEST_LIST_FILE_SCHEMAS,
        ManifestContent,
        ManifestFile,
        PartitionFieldSummary,
    )

    with AvroFile[ManifestFile](
        io.new_input(location),
        MANIFEST_LIST_FILE_SCHEMAS[3],
        read_types={-1: ManifestFile, 508: PartitionFieldSummary},
        read_enums={517: ManifestContent},
    ) as manifests:
        return tuple(manifests)


def entry_schema(manifest: ManifestFile) -> Schema:
    """The fields that are read of a manifest's entries."""
    from pyiceberg.manifest import DEFAULT_READ_VERSION, MANIFEST_ENTRY_SCHEMAS

    return MANIFEST_ENTRY_SCHEMAS[3 if has_field(manifest) else DEFAULT_READ_VERSION]


def with_row_ids(manifest: ManifestFile, live: Iterable[ManifestEntry]) -> Iterator[ManifestEntry]:
    """The live entries of a manifest, in its order, with the first row id of each file.

    Those that have none take the next ones of the manifest; of a list from before an upgrade none has any:
    https://iceberg.apache.org/spec/#first-row-id-inheritance
    """
    following = manifest[ROW_ID_OF_LIST] if has_field(manifest) else None
    for entry in live:
        file = entry.data_file
        if has_field(manifest) and following is None:
            file[FIRST_ROW_ID] = None
        elif following is not None and file[FIRST_ROW_ID] is None:
            file[FIRST_ROW_ID] = following
            following += file.record_count
        yield entry
