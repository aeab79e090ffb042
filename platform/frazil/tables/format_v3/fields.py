"""The fields that version 3 adds: their ids, and their places in PyIceberg's records. Imports nothing.

https://iceberg.apache.org/spec/#row-lineage, https://iceberg.apache.org/spec/#manifests
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestFile
    from pyiceberg.table import Table

ROW_ID, LAST_UPDATED = 2147483540, 2147483539
"""Ids of the columns that a data file has of rows which were in another one before."""

NAMES = {ROW_ID: "_row_id", LAST_UPDATED: "_last_updated_sequence_number"}

ROW_ID_COLUMN, LAST_UPDATED_COLUMN = NAMES[ROW_ID], NAMES[LAST_UPDATED]

PATH_OF_DELETES, PLACE_OF_DELETES = 2147483546, 2147483545
"""Ids of the columns of position delete files: https://iceberg.apache.org/spec/#reserved-field-ids"""

ROW_ID_OF_LIST = 15
"""Place in a `ManifestFile`, of field 520: the first row id of its files."""

FIRST_ROW_ID, REFERENCED_FILE, OFFSET, SIZE = 16, 17, 18, 19
"""Places in a `DataFile`, of the fields 142 to 145."""

_FIELDS_OF_FILE = 20

DeleteKey = tuple[str, int | None]
"""Path of a delete file, and the place of a vector in it."""


def has_row_ids(table: Table) -> bool:
    """Whether the rows of a table have ids."""
    return table.metadata.format_version >= 3


def has_field(manifest: ManifestFile) -> bool:
    """Whether a manifest was named by a list of version 3, and read as one."""
    return len(manifest) > ROW_ID_OF_LIST


def field_of(file: DataFile, place: int) -> Any:
    """One of the fields that version 3 adds to a file; None where its manifest has none."""
    return file[place] if len(file) > place else None


def delete_key(file: DataFile) -> DeleteKey:
    """What tells a delete file from others: several vectors may be in one file."""
    return file.file_path, field_of(file, OFFSET)


def is_vector(file: DataFile) -> bool:
    """Whether a delete file is a deletion vector."""
    return field_of(file, OFFSET) is not None


def bytes_of(file: DataFile) -> int:
    """Bytes of a file that a manifest names; of a vector only its own."""
    return int(field_of(file, SIZE) or file.file_size_in_bytes)


def missing_fields(file: DataFile) -> int:
    """How many fields a file lacks that version 3 has."""
    return _FIELDS_OF_FILE - len(file)
