"""Files that no snapshot names go as orphans one day: before, they are published by one commit, or never."""

from __future__ import annotations

import time

import pytest

from frazil.errors import OvertakenError, RetryError
from frazil.landing.position.ledger import read_ledger
from frazil.landing.publication import Landed
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.writing.data_files import write_files
from kit.tables.commits import NAME, Lake, landed, ledger, rows


def written(lake: Lake, until: float) -> Landed:
    """A landing of offsets 4 and 5 that is written and audited."""
    files = StagedFiles(write_files(lake.table, rows(lake.table, 4, 5)), until=until)
    return Landed(files, ledger(4, 6), read_ledger(lake.table.metadata))


def test_one_commit_publishes_them(lake: Lake) -> None:
    before = lake.head

    publish(TableHandle(lake.catalog, NAME), written(lake, time.time() + 60))

    assert sorted(lake.quantities) == [0, 1, 2, 3, 4, 5]
    head = lake.table.current_snapshot()
    assert head
    assert head.parent_snapshot_id == before
    assert list(lake.table.metadata.refs) == ["main"]


def test_after_their_time_nothing_publishes_them(lake: Lake) -> None:
    with pytest.raises(RetryError, match="may be gone"):
        publish(TableHandle(lake.catalog, NAME), written(lake, time.time() - 1))

    assert sorted(lake.quantities) == [0, 1, 2, 3]


def test_another_landing_that_was_quicker_keeps_them_out(lake: Lake) -> None:
    late = written(lake, time.time() + 60)
    landed(lake, 4, 5)

    with pytest.raises(OvertakenError):
        publish(TableHandle(lake.catalog, NAME), late)

    assert sorted(lake.quantities) == [0, 1, 2, 3, 4, 5]
