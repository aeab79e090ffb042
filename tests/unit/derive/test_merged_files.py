"""A derivation that was merged with files of its table: others may change their rows meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.publish import Derived
from frazil.errors import CommitConflictError
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.metadata.manifests import delete_manifests
from kit.tables.commits import NAME, Lake, lake_on
from kit.tables.delete_files import delete_by_equality, delete_by_position, live


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_on(InMemoryCatalog("memory", warehouse=tmp_path.as_uri()))


def merged(lake: Lake) -> Derived:
    """Of a table with a file of the rows 0 and 1, and another one: the first of them goes."""
    first = live(lake.table)[0].data_file
    entry = DerivedLedger(inputs={}, query="q", derivation="deriving_1", rows=0)
    removed, deletes = {first.file_path: first.record_count}, delete_manifests(lake.table)
    return Derived(StagedFiles(), entry, "", removed=removed, deletes=deletes)


@pytest.mark.parametrize("how", ["position", "equality"])
def test_rows_that_another_engine_deletes_meanwhile_do_not_come_back(lake: Lake, how: str) -> None:
    work = merged(lake)
    if how == "position":
        delete_by_position(lake.table, (live(lake.table)[0].data_file, [1]))
    else:
        delete_by_equality(lake.table, quantity=1)

    with pytest.raises(CommitConflictError, match="Others deleted rows"):
        publish(TableHandle(lake.catalog, NAME), work)

    publish(TableHandle(lake.catalog, NAME), merged(lake))
    assert len(live(lake.table)) == 1
