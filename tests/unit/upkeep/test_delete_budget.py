"""Delete files that another engine left are applied by upkeep once they are a burden, and then dropped."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table

from frazil.clients import Clients
from frazil.formats.logical import Field, Primitive
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.metadata.snapshots import number, summary_of
from frazil.upkeep.census import census_of
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.facts import read_facts, read_history
from frazil.upkeep.kind import Finding, Known, Order, View
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.work import WorkReport
from kit.runs.tasks_here import spark_here
from kit.tables.delete_files import delete_by_equality, delete_by_position, live

NAME = TableName("n", "t")
ROWS = 100


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[Clients]:
    """An in-memory catalog, and a Spark that runs tasks here."""
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    clients = Clients(Settings())
    clients.__dict__ |= {"catalog": catalog, "_background_session": spark_here()}
    yield clients
    catalog.close()


def spec(**upkeep: Any) -> TableSpec:
    """Every file is of the right size here."""
    small = {"small_file": 1e-9}
    return TableSpec.model_validate({"topic": "t", "namespace": "n", "table": "t", "upkeep": small | upkeep})


def make(clients: Clients, files: int = 3) -> Table:
    table = create_table(TableHandle(clients.catalog, NAME), (Field("id", Primitive("int")),), (), {})
    for number_ in range(files):
        append(table, range(number_ * ROWS, (number_ + 1) * ROWS))
    return table.refresh()


def append(table: Table, ids: Iterable[int]) -> None:
    table.refresh().append(pa.Table.from_pylist([{"id": n} for n in ids], schema=table.schema().as_arrow()))


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def delete_files(table: Table) -> set[str]:
    head = table.refresh().current_snapshot()
    assert head
    deletes = [m for m in head.manifests(table.io) if m.content == ManifestContent.DELETES]
    return {e.data_file.file_path for m in deletes for e in m.fetch_manifest_entry(table.io)}


def compacted(clients: Clients, order: Order | None = None, **upkeep: Any) -> WorkReport:
    return compact(spec(**upkeep), clients, 0.0, order or Order())


def due(clients: Clients, **upkeep: Any) -> str:
    """Why a compaction is due; empty where none is."""
    table, kind, now = clients.catalog.load_table(NAME.identifier), KINDS["compaction"], 2e9
    facts, history = read_facts(table.metadata), read_history(table.metadata)
    known = Known(spec(**upkeep), str(NAME), facts, history)
    finding = Finding(now, facts, kind.look(View(table), known, now))
    reason = kind.why_due(replace(known, findings={kind.name: finding}), now)
    return reason.text if reason else ""


@pytest.mark.parametrize(("deleted", "rewritten"), [(9, 0), (10, 1)])
def test_a_file_is_rewritten_when_a_share_of_its_rows_is_deleted(
    clients: Clients, deleted: int, rewritten: int
) -> None:
    table = make(clients)
    delete_by_position(table, (live(table)[1].data_file, range(deleted)))

    report = compacted(clients, deleted_share=0.1)

    assert report.numbers["files_rewritten"] == rewritten
    assert ids(table) == [n for n in range(3 * ROWS) if not ROWS <= n < ROWS + deleted]
    assert len(delete_files(table)) == 1 - rewritten


@pytest.mark.parametrize(("commits", "rewritten"), [(2, 0), (3, 1)])
def test_a_file_is_rewritten_when_a_reader_must_open_many_delete_files_for_it(
    clients: Clients, commits: int, rewritten: int
) -> None:
    table = make(clients)
    for at in range(commits):
        delete_by_position(table, (live(table)[0].data_file, [at]))

    report = compacted(clients, delete_files=2)

    assert report.numbers["files_rewritten"] == rewritten
    assert report.numbers["delete_files_after"] == len(delete_files(table)) == commits * (1 - rewritten)
    assert ids(table) == list(range(commits, 3 * ROWS))


def test_upkeep_says_why_and_the_census_counts(clients: Clients) -> None:
    table = make(clients)
    for at in range(2):
        delete_by_position(table, (live(table)[0].data_file, [at, at + 10]))

    reason = due(clients, delete_files=1)
    census = census_of(spec(), table.refresh(), 2e9)

    assert "1 over the budget of deletes, 30% of its rows or 1 delete files for each: there was no" in reason
    assert due(clients) == ""
    assert (census.deletes.files, census.most_deletes, census.idle_deletes) == (2, 2, 0)
    assert [(p.deleted_rows, p.delete_files) for p in census.partitions] == [(4, 2)]


def test_a_delete_file_of_several_data_files_stays_until_the_last_of_them_is_rewritten(
    clients: Clients,
) -> None:
    table = make(clients)
    first, second, _ = (e.data_file for e in live(table))
    both = delete_by_position(table, (first, [0]), (second, [1]))
    alone = delete_by_position(table, (first, range(50)))

    compacted(clients)
    after_one = delete_files(table)
    compacted(clients, delete_files=0)

    assert after_one == {both}
    assert alone not in after_one
    assert delete_files(table) == set()
    assert ids(table) == [n for n in range(50, 3 * ROWS) if n != ROWS + 1]
    summary = summary_of(table.current_snapshot())
    assert [number(summary, f"total-{word}") for word in ("delete-files", "position-deletes")] == [0, 0]


def test_delete_files_of_one_commit_go_one_by_one(clients: Clients) -> None:
    table = make(clients)
    ours = [
        delete_by_position(table, (e.data_file, range(40 - 30 * n))) for n, e in enumerate(live(table)[:2])
    ]
    table.refresh().manage_snapshots().create_tag(table.metadata.current_snapshot_id or 0, "before").commit()

    compacted(clients)

    assert delete_files(table) == {ours[1]}
    assert ids(table) == [*range(40, ROWS), *range(ROWS + 10, 3 * ROWS)]


def test_a_file_of_which_every_row_is_deleted_goes(clients: Clients) -> None:
    table = make(clients)
    delete_by_position(table, (live(table)[0].data_file, range(ROWS)))

    assert compacted(clients).numbers["files_after"] == 2
    assert ids(table) == list(range(ROWS, 3 * ROWS))
    assert delete_files(table) == set()


def test_delete_files_whose_data_files_are_gone_are_dropped_without_a_rewrite(clients: Clients) -> None:
    table = make(clients)
    delete_by_position(table, (live(table)[1].data_file, [0]))
    table.refresh().delete(f"id >= {ROWS} and id < {2 * ROWS}")  # as a landing writes files anew
    assert len(delete_files(table)) == 1

    reason = due(clients)
    would = compacted(clients, Order(dry_run=True))
    did = compacted(clients)

    assert reason == "delete files that take no row away any more: 1; there was no compaction yet."
    assert would.text == "1 delete file would go."
    assert ", 1 delete file went;" in did.text
    assert (delete_files(table), due(clients)) == (set(), "")
    assert ids(table) == [*range(ROWS), *range(2 * ROWS, 3 * ROWS)]


def test_deletes_by_equality_count_for_each_older_file(clients: Clients) -> None:
    table = make(clients, files=2)
    for n in range(2):
        delete_by_equality(table, id=n)
    append(table, [0])

    census = census_of(spec(), table.refresh(), 2e9)

    assert (census.deletes.equality, census.most_deletes) == (2, 2)
    assert due(clients, delete_files=1).startswith("2 files of ")


def test_ids_of_columns_are_written_as_java_reads_them(clients: Clients) -> None:
    table = make(clients, files=1)
    delete_by_equality(table, id=1)

    head = table.refresh().current_snapshot()
    assert head
    (deletes,) = (m for m in head.manifests(table.io) if m.content == ManifestContent.DELETES)
    with table.io.new_input(deletes.manifest_path).open() as stream:
        schema = fastavro.reader(io.BytesIO(stream.read())).writer_schema
    (entry,) = deletes.fetch_manifest_entry(table.io)

    (ids,) = (f["type"][1] for f in schema["fields"][-1]["type"]["fields"] if f["name"] == "equality_ids")
    assert (ids["items"], ids["element-id"]) == ("int", 136)
    assert entry.data_file.equality_ids == [1]
