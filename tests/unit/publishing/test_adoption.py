"""`foreign_commits: adopt`: whole files of another engine take the place of those that they stand for."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.types import StringType

from frazil.checks.run import run_check
from frazil.errors import RepairError
from frazil.publishing.adoption import ADOPTED, adopt
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.replacement import same_rows
from frazil.tables.commits.rewrite import stage_same_rows
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.metadata.snapshots import summary_of
from frazil.tables.writing.data_files import write_files
from kit.readers.mirrored import NAME, Mirror, Standing
from kit.wires.wire import Fate, Wire


@pytest.fixture
def mirror(standing: Standing) -> Mirror:
    """Three rows in a file each, which Glue shows."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"], foreign_commits="adopt")
    return standing.shown(spec, 3)


def athena(mirror: Mirror) -> Table:
    """The table as another engine finds it, through Glue."""
    return GlueCatalog("athena", client=mirror.connections.glue).load_table((mirror.folder.name, NAME.table))


def optimize(table: Table) -> None:
    """All rows in one file, as Athena's OPTIMIZE does it."""
    head = HeadReader().read(table)
    assert head
    file = write_files(table, table.scan().to_arrow())
    tx = table.transaction()
    stage_same_rows(tx, same_rows(head, head.entries.keys(), file), {})
    tx.commit_transaction()


def operation(mirror: Mirror) -> Operation:
    """Of the commit that took over what Athena did."""
    (own,) = (s for s in mirror.table.snapshots() if ADOPTED in summary_of(s))
    assert own.summary
    return own.summary.operation


def rows(mirror: Mirror) -> list[int]:
    return mirror.athena(mirror.table.metadata_location)


def files(mirror: Mirror) -> int:
    return len(list(mirror.table.scan().plan_files()))


def in_step(mirror: Mirror) -> bool:
    return not run_check("glue_pointer", mirror.spec, mirror.connections).failed


@pytest.mark.parametrize("landings", [0, 2])
def test_files_that_were_put_together_are_taken_over(mirror: Mirror, landings: int) -> None:
    optimize(athena(mirror))
    mirror.land(landings)

    mirror.sync()

    assert mirror.shown == mirror.table.metadata_location
    assert (rows(mirror), files(mirror)) == ([*range(3 + landings)], 1 + landings)
    assert operation(mirror) == Operation.REPLACE  # which no check of rows minds
    assert in_step(mirror)


def test_rows_that_were_deleted_are_gone_here_too_and_wait_to_be_accepted(mirror: Mirror) -> None:
    athena(mirror).delete("quantity = 1")

    mirror.sync()

    assert rows(mirror) == [0, 2]
    assert operation(mirror) == Operation.DELETE
    assert not [word for word in summary_of(mirror.table.current_snapshot()) if word.startswith("frazil.")]
    assert in_step(mirror)


def test_a_second_foreign_commit_is_taken_over_as_well(mirror: Mirror) -> None:
    optimize(athena(mirror))
    mirror.sync()
    mirror.land(2)
    mirror.sync()
    optimize(athena(mirror))

    mirror.sync()

    assert (rows(mirror), files(mirror)) == ([0, 1, 2, 3, 4], 1)


def test_what_was_taken_over_is_not_taken_over_again(mirror: Mirror) -> None:
    optimize(athena(mirror))
    adopt(
        TableHandle(mirror.connections.catalog, NAME), mirror.shown
    )  # as a sync that was killed behind its commit
    adopted = mirror.table.current_snapshot()

    mirror.sync()

    assert mirror.table.current_snapshot() == adopted
    assert mirror.shown == mirror.table.metadata_location


@pytest.mark.parametrize("fate", ["dropped", "failed", "replayed", "unsent"])
def test_an_answer_of_glue_that_is_lost_changes_nothing(
    mirror: Mirror, wire_and_url: tuple[Wire, str], fate: Fate
) -> None:
    optimize(athena(mirror))
    wire_and_url[0].once(fate)

    mirror.sync()

    assert mirror.shown == mirror.table.metadata_location
    assert (rows(mirror), files(mirror)) == ([0, 1, 2], 1)


def insert(mirror: Mirror) -> None:
    table = athena(mirror)
    table.append(pa.table({"quantity": [99]}, schema=table.schema().as_arrow()))


def add_a_column(mirror: Mirror) -> None:
    with athena(mirror).update_schema() as update:
        update.add_column("note", StringType())


def replace_here_too(mirror: Mirror) -> None:
    optimize(athena(mirror))
    optimize(mirror.table)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (insert, "it brings 1 rows, which have no offsets"),
        (add_a_column, "it has other columns"),
        (replace_here_too, "files that it replaced were replaced here, too"),
    ],
)
def test_what_cannot_be_taken_over_is_left_alone_and_says_why(
    mirror: Mirror, change: Callable[[Mirror], None], why: str
) -> None:
    change(mirror)
    foreign = mirror.shown

    with pytest.raises(RepairError, match=why) as refused:
        mirror.sync()

    assert mirror.shown == foreign in str(refused.value)
    assert rows(mirror) == [0, 1, 2]
