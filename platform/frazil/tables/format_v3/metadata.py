"""Metadata files of version 3, where no server writes them: tables that Glue owns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableUpdate


def writable(metadata: TableMetadata) -> TableMetadata:
    """The same metadata; PyIceberg's own of version 3 refuses to become JSON."""
    from pyiceberg.table.metadata import TableMetadataV3
    from pyiceberg.typedef import IcebergBaseModel

    class Writable(TableMetadataV3):
        def model_dump_json(self, *args: Any, **options: Any) -> str:
            return IcebergBaseModel.model_dump_json(self, *args, **options)

    return Writable.model_construct(**dict(metadata)) if metadata.format_version >= 3 else metadata


def begun(metadata: TableMetadata) -> TableMetadata:
    """The metadata of a new table: the row ids of version 3 begin at 0, which PyIceberg leaves out."""
    return metadata.model_copy(update={"next_row_id": 0}) if metadata.format_version >= 3 else metadata


def upgraded(
    metadata: TableMetadata, updates: Iterable[TableUpdate]
) -> tuple[TableMetadata, tuple[TableUpdate, ...]]:
    """The metadata in version 3 where an update asks for it, as PyIceberg can't; and the other updates."""
    from pyiceberg.table.metadata import TableMetadataV3
    from pyiceberg.table.update import UpgradeFormatVersionUpdate

    every = tuple(updates)
    others = tuple(update for update in every if not isinstance(update, UpgradeFormatVersionUpdate))
    if len(others) == len(every) or metadata.format_version >= 3:
        return metadata, others
    raised = {**metadata.model_dump(), "format-version": 3, "next-row-id": 0}
    return TableMetadataV3.model_validate(raised), others


def refuse_stale(metadata: TableMetadata, updates: Iterable[TableUpdate]) -> None:
    """Raises CommitFailedException where another branch was committed meanwhile.

    PyIceberg compares sequence numbers of version 2 only.
    """
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table.metadata import TableMetadataV3
    from pyiceberg.table.update import AddSnapshotUpdate

    newest = metadata.last_sequence_number if isinstance(metadata, TableMetadataV3) else -1
    for update in updates:
        if isinstance(update, AddSnapshotUpdate) and (update.snapshot.sequence_number or 0) <= newest:
            raise CommitFailedException(
                f"sequence number {update.snapshot.sequence_number} is not newer than {newest}"
            )
