"""Expiry and orphan removal on real tables on disk: no file too many goes, and none too few."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import RepairError
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil.upkeep.expiry import expiry
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.kind import Order
from frazil.upkeep.orphans import remove_orphans
from frazil.upkeep.storage import key_of, list_files, named_keys
from kit.drawn.examples import examples

pytestmark = pytest.mark.filterwarnings("ignore:Delete operation did not match any records")

SCHEMA = pa.schema([pa.field("n", pa.int64())])
MERGES = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"}
"""So that one file is named by several manifests, of which some expire."""
UPKEEP = Upkeep(min_snapshots=1, keep_snapshots_for=timedelta(days=1))
SPEC = TableSpec(topic="things", namespace="unit", table="things", publish=[], upkeep=UPKEEP)
STEPS = st.lists(
    st.one_of(
        st.just(("append", 0)),
        st.tuples(st.sampled_from(["overwrite", "delete", "branch", "back"]), st.integers(0, 9)),
        st.sampled_from([("tag", 0), ("expire", 0)]),
    ),
    max_size=12,
)


@contextmanager
def lake(*, merges: bool = False) -> Iterator[tuple[Connections, Table]]:
    """A catalog on disk with an empty table in it."""
    with TemporaryDirectory() as folder:
        catalog = InMemoryCatalog("unit", warehouse=Path(folder).as_uri())
        catalog.create_namespace("unit")
        connections = Clients(Settings())
        connections.__dict__["catalog"] = catalog
        yield (
            connections,
            catalog.create_table(("unit", "things"), SCHEMA, properties=MERGES if merges else {}),
        )
        catalog.engine.dispose()


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": numbers}, schema=SCHEMA)


def follow(connections: Connections, table: Table, step: tuple[str, int], number: int) -> None:
    name, choice = step
    table.refresh()
    head = table.current_snapshot()
    match name:
        case "append":
            table.append(rows(number, -number))
        case "overwrite" if head:
            table.overwrite(rows(number), EqualTo("n", choice))
        case "delete" if head:
            table.delete(EqualTo("n", choice))
        case "branch" if head:
            table.manage_snapshots().create_branch(head.snapshot_id, f"branch{number}").commit()
            table.append(rows(1000 + number), branch=f"branch{number}")
        case "tag" if head:
            table.manage_snapshots().create_tag(head.snapshot_id, f"tag{number}").commit()
        case "back" if head:
            past = table.history()
            table.manage_snapshots().set_current_snapshot(past[choice % len(past)].snapshot_id).commit()
        case "expire":
            expire(SPEC, connections, next_week())


def next_week() -> float:
    return time.time() + 7 * 86400.0


def contents(table: Table) -> dict[int, list[int]]:
    """The rows of every snapshot that is there."""
    table.refresh()
    ids = [s.snapshot_id for s in table.snapshots()]
    return {i: sorted(table.scan(snapshot_id=i).to_arrow()["n"].to_pylist()) for i in ids}


def strays(table: Table) -> list[str]:
    named = named_keys(table.refresh())
    return [file.path for file in list_files(table) if key_of(file.path) not in named]


@examples(15, allowed=HealthCheck)
@given(steps=STEPS, merges=st.booleans())
def test_what_stays_reads_as_before_and_what_goes_leaves_no_file(
    steps: list[tuple[str, int]], merges: bool
) -> None:
    with lake(merges=merges) as (connections, table):
        for number, step in enumerate(steps):
            follow(connections, table, step, number)
        before, left = contents(table), strays(table)

        report = expire(SPEC, connections, next_week())

        after = contents(table)
        assert after == {i: before[i] for i in after}
        assert len(after) == report.numbers["snapshots_after"]
        assert {ref.snapshot_id for ref in table.metadata.refs.values()} <= set(after)
        assert set(strays(table)) <= set(left)
        remove_orphans(SPEC, connections, next_week())
        assert strays(table) == []
        assert contents(table) == after


def test_an_expiry_that_died_before_it_deleted_leaves_orphans_and_nothing_worse() -> None:
    with lake() as (connections, table):
        for number in range(3):
            table.overwrite(rows(number))
        gone = [s.snapshot_id for s in table.snapshots()][:-1]
        table.maintenance.expire_snapshots().by_ids(gone).commit()  # which deletes no file

        report = remove_orphans(SPEC, connections, next_week())

        assert report.numbers["files"] >= len(gone)
        assert strays(table) == []
        assert contents(table) == {table.metadata.refs["main"].snapshot_id: [2]}


def test_nothing_is_deleted_where_what_tells_is_missing() -> None:
    with lake() as (connections, table):
        table.append(rows(1))
        table.append(rows(2))
        stray = f"{table.location()}/data/stray.parquet"
        with table.io.new_output(stray).create() as file:
            file.write(b"nobody's")
        head: Any = table.current_snapshot()
        table.io.delete(head.manifest_list)

        with pytest.raises(RepairError, match=r"A metadata file of unit\.things is missing"):
            remove_orphans(SPEC, connections, next_week())

        assert stray in [f.path for f in list_files(table)]


@pytest.mark.parametrize("which", ["an older one", "the newest"])
def test_a_snapshot_that_can_not_be_read_expires_and_orphans_are_looked_for_again(which: str) -> None:
    """A rollback alone, which was advised, ended the same way again: the snapshot is still there."""
    with lake() as (connections, table):
        table.append(rows(1))
        first: Any = table.current_snapshot()
        table.append(rows(2))
        head: Any = table.current_snapshot()
        table.io.delete((head if which == "the newest" else first).manifest_list)
        with pytest.raises(RepairError, match="A metadata file of") as raised:
            remove_orphans(SPEC, connections, next_week())
        assert raised.value.todo.startswith("Bring the file back. Else `frazil expire unit.things`")

        if which == "the newest":
            table.manage_snapshots().set_current_snapshot(first.snapshot_id).commit()
        expire(SPEC, connections, next_week())
        remove_orphans(SPEC, connections, next_week())

        assert list(contents(table).values()) == [[1] if which == "the newest" else [1, 2]]
        assert strays(table) == []


@pytest.mark.parametrize("spelling", ["//data", "/../link/data"])
def test_a_live_file_that_is_named_by_another_path_is_no_orphan(spelling: str) -> None:
    with lake() as (connections, table):
        home = Path(table.location().removeprefix("file://"))
        (home.parent / "link").symlink_to(home)
        with table.transaction() as tx:
            tx.set_properties({"write.data.path": table.location() + spelling})
        table.append(rows(1))

        with suppress(RepairError):
            remove_orphans(SPEC, connections, next_week())

        assert table.refresh().scan().to_arrow()["n"].to_pylist() == [1]


def test_files_that_may_be_live_ones_by_another_path_are_told() -> None:
    with lake() as (connections, table):
        home = Path(table.location().removeprefix("file://"))
        (home.parent / "link").symlink_to(home)
        with table.transaction() as tx:
            tx.set_properties({"write.data.path": f"{home.parent.as_uri()}/link/data"})
        table.append(rows(1))

        with pytest.raises(RepairError, match=r"names a file by another path[\s\S]*no file was deleted"):
            remove_orphans(SPEC, connections, next_week())

        with table.transaction() as tx:
            tx.remove_properties("write.data.path")
        table.overwrite(rows(1))  # as `frazil compact --everything` writes files anew
        expire(SPEC, connections, next_week())
        remove_orphans(SPEC, connections, next_week())

        assert list(contents(table).values()) == [[1]]
        assert strays(table) == []


def test_of_two_copies_the_one_that_the_table_does_not_name_is_deleted_by_hand() -> None:
    """Which one was not said: with the other one, the rows would have gone."""
    with lake() as (connections, table):
        home = Path(table.location().removeprefix("file://"))
        with table.transaction() as tx:
            tx.set_properties({"write.data.path": f"{home.parent.as_uri()}/elsewhere"})
        table.append(rows(1))
        named = Path(next(iter(table.scan().plan_files())).file.file_path.removeprefix("file://"))
        (home / "data").mkdir()
        copy = home / "data" / named.name
        copy.write_bytes(named.read_bytes())
        with pytest.raises(RepairError, match="names a file by another path") as raised:
            remove_orphans(SPEC, connections, next_week())
        assert f"stored as {copy.as_uri()}" in raised.value.where

        copy.unlink()
        remove_orphans(SPEC, connections, next_week())

        assert list(contents(table).values()) == [[1]]


def three_rows(table: Table) -> None:
    for number in range(3):
        table.append(rows(number))


def test_a_dry_run_tells_and_touches_nothing() -> None:
    with lake() as (connections, table):
        three_rows(table)
        before, files = table.refresh().metadata_location, list(list_files(table))

        report = expire(SPEC, connections, next_week(), Order(dry_run=True))

        assert report.text == "Would expire snapshots: 2 of 3 of unit.things; with them 2 manifest lists."
        assert (report.done, report.dry_run, report.numbers["snapshots_after"]) == (True, True, 1)
        assert table.refresh().metadata_location == before
        assert list(list_files(table)) == files


def test_a_table_with_nothing_to_expire_is_left_alone() -> None:
    with lake() as (connections, table):
        three_rows(table)
        expire(SPEC, connections, next_week())
        before = table.refresh().metadata_location

        report = expire(SPEC, connections, next_week())

        assert (report.done, report.text) == (False, "Expired snapshots: 0 of 1 of unit.things.")
        assert table.refresh().metadata_location == before


def test_a_table_that_shares_its_files_is_left_alone() -> None:
    with lake() as (connections, table):
        three_rows(table)
        with table.transaction() as tx:
            tx.set_properties({"gc.enabled": "false"})
        stray = f"{table.location()}/data/perhaps-anothers.parquet"
        with table.io.new_output(stray).create() as file:
            file.write(b"somebody's")

        assert not expire(SPEC, connections, next_week()).done
        assert not remove_orphans(SPEC, connections, next_week()).done
        assert len(table.refresh().snapshots()) == 3


def test_many_snapshots_go_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "_BATCH", 2)
    with lake() as (connections, table):
        three_rows(table)
        three_rows(table)

        report = expire(SPEC, connections, next_week())

        assert (report.numbers["snapshots_before"], report.numbers["snapshots_after"]) == (6, 1)
        assert report.numbers["manifest_lists_deleted"] == 5
        assert strays(table) == []


def test_snapshots_that_another_expiry_takes_meanwhile_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    with lake() as (connections, table):
        three_rows(table)
        first = min(table.snapshots(), key=lambda s: s.sequence_number or 0).snapshot_id
        other = table.maintenance.expire_snapshots().by_id(first).commit
        commit, others = connections.catalog.commit_table, [other]

        def commit_table(*args: Any) -> Any:
            if others:
                others.pop()()
            return commit(*args)

        monkeypatch.setattr(connections.catalog, "commit_table", commit_table)

        expire(SPEC, connections, next_week())

        assert others == []
        assert len(table.refresh().snapshots()) == 1
        assert strays(table) == []
