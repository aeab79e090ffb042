"""A table is not written again and again while old snapshots hold every copy of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from frazil.connections import Connections
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.spec.table import Write
from frazil.spec.upkeep import Upkeep
from frazil.tables.metadata.snapshots import summary_of
from frazil.upkeep.census import census_of
from frazil.upkeep.due import look_for_work
from frazil.upkeep.kind import Work
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import do_work
from frazil.upkeep.work import WorkReport
from kit.tables.foreign import ROWS, file_count, foreign_table

NAMESPACE = "upkeep_tests"
HOUR, MONTH = 3600.0, 30 * 86400.0


@pytest.fixture
def spec(fresh_name: str, connections: Connections) -> DerivedSpec:
    """A table made of others, of six small files; one more copy of all of them is too much for it."""
    table = foreign_table(connections.catalog, TableName(NAMESPACE, fresh_name), files=6)
    size = int(summary_of(table.current_snapshot())["total-files-size"])
    return DerivedSpec(
        table=fresh_name,
        namespace=NAMESPACE,
        sql=Path("any.sql"),
        write=Write(target_file_size=size),  # type: ignore[arg-type]
        upkeep=Upkeep(min_snapshots=1),
    )


def test_what_was_compacted_is_spared_until_old_copies_expire(
    spec: DerivedSpec, connections: Connections
) -> None:
    now, name = time.time(), TableName(NAMESPACE, spec.table)

    def keep_up(kind: str, later: float = 0.0) -> WorkReport:
        return do_work(KINDS[kind], spec, connections, now + later)

    def due(later: float) -> Work:
        works = look_for_work([spec], connections, now + later).due
        return next(work for work in works if work.kind.name == "compaction")

    assert due(0).numbers["files_to_rewrite"] == 6
    assert keep_up("compaction").numbers["files_after"] == 1
    for _ in range(2):
        connections.catalog.load_table(name.identifier).append(ROWS)

    thrifty = due(HOUR)
    assert (thrifty.numbers["files_to_rewrite"], thrifty.numbers["files_saved"]) == (2, 1)
    assert "files compacted before stay until old copies expire" in thrifty.reason
    assert keep_up("compaction").numbers["files_after"] == 2
    census = census_of(spec, connections.catalog.load_table(name.identifier), now)
    assert census.copies > census.most_copies == spec.write.target_file_size
    assert census.ideal == 2
    assert not keep_up("compaction").done

    assert keep_up("expiry", MONTH).done
    assert keep_up("compaction", MONTH).numbers["files_after"] == file_count(connections.catalog, name) == 1
    assert connections.catalog.load_table(name.identifier).scan().count() == 8
    assert not keep_up("row_expiry").done
