"""A catalog in Glue that reads no head twice. Import it where it is used: it loads PyIceberg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.typedef import EMPTY_DICT

from frazil.tables.catalogs.kept_metadata import kept_heads
from frazil.tables.catalogs.pyiceberg import OWN_CODE, take_far_moments
from frazil.tables.format_v3.metadata import begun, refuse_stale, upgraded, writable

if TYPE_CHECKING:
    from botocore.session import Session as BotocoreSession
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata


def open_glue(properties: Mapping[str, str], identity: BotocoreSession, client: Any) -> GlueCatalog:
    """The catalog; `identity` opens S3."""
    take_far_moments()
    return _OwnGlueCatalog("frazil", client=client, botocore_session=identity, **properties)


class _OwnGlueCatalog(GlueCatalog):
    def __init__(self, name: str, client: Any, **properties: Any) -> None:
        self._heads = kept_heads()
        super().__init__(name, client, **properties)

    def _load_file_io(
        self, properties: Mapping[str, str] = EMPTY_DICT, location: str | None = None
    ) -> FileIO:
        return super()._load_file_io({**properties, **OWN_CODE}, location)

    def _convert_glue_to_iceberg(self, glue_table: Any) -> Table:
        known = self._heads.get((glue_table.get("DatabaseName"), glue_table.get("Name")))
        if known is None or not _names_still(glue_table, known):
            known = super()._convert_glue_to_iceberg(glue_table)
            self._heads.keep(known.name(), known)
        return Table(known.name(), known.metadata, known.metadata_location, known.io, self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """See `GlueCatalog.commit_table`. The head that it made is not read again."""
        answer = super().commit_table(table, requirements, updates)
        after = Table(table.name(), answer.metadata, answer.metadata_location, table.io, self)
        self._heads.keep(table.name(), after)
        return answer

    @staticmethod
    def _write_metadata(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
        GlueCatalog._write_metadata(writable(metadata), io, metadata_path)

    @staticmethod
    def _write_metadata_no_exist_check(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
        GlueCatalog._write_metadata_no_exist_check(writable(metadata), io, metadata_path)

    def _create_staged_table(self, *args: Any, **options: Any) -> StagedTable:
        staged = super()._create_staged_table(*args, **options)
        staged.metadata = begun(staged.metadata)
        return staged

    def _update_and_stage_table(
        self, current_table: Table | None, table_identifier: Any, requirements: Any, updates: Any
    ) -> StagedTable:
        if current_table is None:
            return super()._update_and_stage_table(None, table_identifier, requirements, updates)
        refuse_stale(current_table.metadata, updates)
        metadata, others = upgraded(current_table.metadata, updates)
        own = current_table.metadata_location, current_table.io, self
        base = Table(current_table.name(), metadata, *own)
        return super()._update_and_stage_table(base, table_identifier, requirements, others)


def _names_still(entry: Mapping[str, Any], known: Table) -> bool:
    """Whether an entry of Glue's is of Iceberg, and names the metadata that is known."""
    parameters = entry.get("Parameters") or {}
    is_iceberg = parameters.get("table_type", "").lower() == "iceberg"
    return is_iceberg and parameters.get("metadata_location") == known.metadata_location
