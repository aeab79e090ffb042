"""What a materialization says of its table costs the same, however many files the table has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.errors import RepairError
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.pyiceberg import live_entries
from frazil.upkeep.census import FILES_READ
from kit.graph.many_tables import Topics, clients_of
from kit.tables.commits import NAME, lake_on
from resources.metadata import table_metadata

SPEC = TableSpec(topic="t", namespace="n", publish=[])
MANY, FEW = FILES_READ + 1, FILES_READ - 100


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    """A table of a manifest with very many files, and two of a landing each."""
    catalog = SqlCatalog("n", uri=f"sqlite:///{tmp_path}/catalog.sqlite", warehouse=tmp_path.as_uri())
    lake = lake_on(catalog)
    append(lake.table, MANY)
    return clients_of(Settings(), Topics({"t": 4}), catalog=catalog)


def append(table: Table, many: int) -> None:
    """Names files that nobody wrote, in one manifest."""
    with table.transaction() as tx, tx.update_snapshot().fast_append() as snapshot:
        for n in range(many):
            file = DataFile.from_args(
                content=DataFileContent.DATA, file_path=f"{n}.parquet", file_format=FileFormat.PARQUET,
                partition=Record(), record_count=1, file_size_in_bytes=1000,
            )  # fmt: skip
            file.spec_id = 0
            snapshot.append_data_file(file)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each manifest names that was opened."""
    counts: list[int] = []

    def noted(io: FileIO, manifest: ManifestFile) -> Iterator[ManifestEntry]:
        counts.append(manifest.added_files_count or 0)
        return live_entries(io, manifest)

    monkeypatch.setattr("frazil.tables.metadata.manifests.live_entries", noted)
    return counts


def first_rows(clients: Clients, **changes: Any) -> list[Any]:
    metadata = table_metadata(SPEC.model_copy(update=changes), clients)
    return [record.data for record in metadata["first_rows"].records] if "first_rows" in metadata else []


def test_rows_are_shown_where_the_spec_says_so_and_of_the_newest_file_without_columns_of_frazils_own(
    clients: Clients,
) -> None:
    assert first_rows(clients) == []
    assert first_rows(clients, first_rows=1) == [{"quantity": "2"}]
    assert first_rows(clients, first_rows=5) == [{"quantity": "2"}, {"quantity": "3"}]


def test_a_file_that_can_not_be_read_is_no_failure(clients: Clients) -> None:
    append(clients.catalog.load_table(NAME.identifier), 1)

    assert first_rows(clients, first_rows=5) == []


def test_a_materialization_opens_no_manifest_of_very_many_files_and_tells_how_many_it_left(
    clients: Clients, opened: list[int]
) -> None:
    metadata = table_metadata(SPEC, clients)

    assert opened == [1, 1]
    assert (metadata["total_files"], metadata["files_not_looked_into"], metadata["small_files"]) == (
        MANY + 2,
        MANY,
        2,
    )
    assert metadata["manifests"] == 3


def test_nor_does_the_check_that_runs_with_it(clients: Clients, opened: list[int]) -> None:
    result = run_check("file_health", SPEC, clients)

    assert opened == [1, 1]
    assert result.passed
    assert result.numbers["files"] == MANY + 2


def test_where_the_files_are_not_very_many_all_are_looked_into(clients: Clients, opened: list[int]) -> None:
    append(clients.catalog.load_table(NAME.identifier), FEW)

    assert table_metadata(SPEC, clients)["small_files"] == FEW + 2
    assert sorted(opened) == [1, 1, FEW]


def test_a_list_of_manifests_that_is_gone_is_named_as_a_lost_file(clients: Clients) -> None:
    head = clients.catalog.load_table(NAME.identifier).current_snapshot()
    assert head
    Path(head.manifest_list.removeprefix("file://")).unlink()

    with pytest.raises(RepairError, match="no longer in the bucket"):
        table_metadata(SPEC, clients)
