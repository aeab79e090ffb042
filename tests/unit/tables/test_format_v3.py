"""Tables of format version 3, which Glue owns: what Frazil writes is what Iceberg's specification says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile, FileFormat, ManifestEntry
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation

from frazil.clients import Clients
from frazil.errors import (
    AuditFailedError,
    CommitConflictError,
    ConfigureError,
    DifferentError,
    RepairError,
)
from frazil.formats.logical import Field, Primitive
from frazil.landing.schema.upgrade import upgrade
from frazil.publishing.adoption import adopt
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import is_conflict
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits import rewrite
from frazil.tables.commits.append import _Append
from frazil.tables.commits.commit import commit
from frazil.tables.commits.replacement import replacing, same_rows
from frazil.tables.commits.rewrite import stage_new_rows, stage_same_rows
from frazil.tables.commits.stage import StagedFiles, append_files, put_in_place
from frazil.tables.creation import create_table
from frazil.tables.format_v3.row_ids import Origin
from frazil.tables.format_v3.vector_files import vector_entry, write_vector
from frazil.tables.metadata.manifests import Head, HeadReader
from frazil.tables.metadata.snapshots import summary_of
from frazil.tables.metadata.unnamed import give_up_unnamed
from frazil.tables.reading.delete_files import deletes_by_file
from frazil.tables.writing.data_files import data_file, file_layout, write_files
from frazil.tables.writing.transfer import Bins, FileBin, files_written, move_rows, old_file
from kit.readers.row_ids import Identity, identities, live_files, manifests, metadata
from kit.wires.lying import glue_in_process

HANDLE = TableName("v3", "t")
FIELDS = (Field("n", Primitive("long")), Field("text", Primitive("string"), optional=True))


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    folder = tmp_path_factory.mktemp("v3")
    with glue_in_process(folder) as url:
        yield Clients(
            Settings.load(
                catalog="glue",
                glue={"endpoint": url, "warehouse": (folder / "lake").as_uri()},
                aws={"access_key": "key", "secret_key": "secret"},
            )
        )


@pytest.fixture(scope="module")
def catalog(clients: Clients) -> Catalog:
    return clients.catalog


@pytest.fixture
def handle(catalog: Catalog) -> Iterator[TableHandle]:
    handle = TableHandle(catalog, HANDLE)
    create_table(handle, FIELDS, (), {"format-version": "3"})
    yield handle
    catalog.drop_table(HANDLE.identifier)
    give_up_unnamed(handle, dry_run=False)


def append(handle: TableHandle, *files: Sequence[int]) -> Table:
    """Adds files with these numbers, in one commit."""

    def stage(table: Table) -> Transaction:
        tx = transaction(table)
        append_files(tx, [f for numbers in files for f in written(table, numbers)], {})
        return tx

    return commit(handle, stage, work="test").table


def written(table: Table, numbers: Sequence[int]) -> tuple[DataFile, ...]:
    rows = [{"n": n, "text": f"t{n}"} for n in numbers]
    return write_files(table, pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))


def head_of(table: Table) -> Head:
    head = HeadReader().read(table)
    assert head
    return head


def moved(table: Table, entries: Sequence[ManifestEntry], gone: Sequence[int] = ()) -> tuple[DataFile, ...]:
    """The rows of some files in a new one, as tasks write it, without those of some numbers."""
    old = tuple(old_file(table, e.data_file, (), Origin.of(e)) for e in entries)
    layout = file_layout(table)
    keys = pa.table({"n": pa.array(gone, layout.schema.field("n").type)}) if gone else None
    work = Bins(layout, (FileBin(old),), "moved", version("frazil"), keys)
    returned = pa.Table.from_batches(
        work.run([pa.RecordBatch.from_pydict({"id": pa.array([0], pa.int64())})])
    )
    return files_written(table, returned)


def ids(table: Table) -> dict[int, int | None]:
    return {n: each.row_id for n, each in identities(table.metadata_location, "n").items()}


def test_rows_get_ids_in_the_order_of_their_commits(handle: TableHandle) -> None:
    append(handle, [5, 6], [7])
    table = append(handle, [1, 2])

    document = metadata(table.metadata_location)
    assert (document["format-version"], document["next-row-id"]) == (3, 5)
    assert [(s["first-row-id"], s["added-rows"]) for s in document["snapshots"]] == [(0, 0), (0, 3), (3, 2)]
    assert {m["manifest_path"]: m["first_row_id"] for m in manifests(table.metadata_location)}
    assert identities(table.metadata_location, "n") == {
        5: Identity(0, 2), 6: Identity(1, 2), 7: Identity(2, 2), 1: Identity(3, 3), 2: Identity(4, 3),
    }  # fmt: skip
    assert sorted(table.scan().to_arrow()["n"].to_pylist()) == [1, 2, 5, 6, 7]


def test_a_manifest_of_many_files_is_written_in_blocks(handle: TableHandle) -> None:
    table = handle.load()
    one = written(table, [1])[0]
    files = []
    for number in range(2_500):
        file = type(one)(*[one[place] for place in range(len(one))])
        file[1], file.spec_id = f"{one.file_path}-{number}", one.spec_id
        files.append(file)

    tx = transaction(table)
    append_files(tx, files, {})
    after = tx.commit_transaction()

    live = list(live_files(after.metadata_location))
    assert [file["first_row_id"] for file, _ in live] == list(range(2_500))
    assert head_of(after).manifests[0].manifest_length < 100_000  # entry by entry these are 700 kB


def test_rows_keep_their_ids_when_they_move(handle: TableHandle) -> None:
    append(handle, [5, 6], [7])
    table = append(handle, [1, 2])
    before = identities(table.metadata_location, "n")
    head = head_of(table)
    entries = list(head.entries.values())

    def stage(fresh: Table) -> Transaction:
        tx = transaction(fresh)
        stage_same_rows(tx, same_rows(head, set(head.entries), moved(fresh, entries)), {})
        return tx

    table = commit(handle, stage, work="test").table
    assert len(head_of(table).entries) == 1
    assert identities(table.metadata_location, "n") == before

    table = append(handle, [9])  # past the numbers that the moved file could have given
    assert ids(table) == {n: each.row_id for n, each in before.items()} | {9: 10}


def test_rows_keep_their_ids_when_others_of_their_file_go(handle: TableHandle) -> None:
    append(handle, [5, 6, 7])
    table = append(handle, [1, 2])
    before = identities(table.metadata_location, "n")
    head = head_of(table)
    first = next(e for e in head.entries.values() if e.data_file.record_count == 3)

    def stage(fresh: Table) -> Transaction:
        tx = transaction(fresh)
        new = moved(fresh, [first], gone=[6])
        stage_new_rows(tx, replacing(head.named, {first.data_file.file_path}, new), {})
        return tx

    table = commit(handle, stage, work="test").table
    left = identities(table.metadata_location, "n")
    assert left == {n: each for n, each in before.items() if n != 6}

    again = head_of(table)  # a file that moved once moves again
    entries = list(again.entries.values())

    def stage_again(fresh: Table) -> Transaction:
        tx = transaction(fresh)
        stage_same_rows(tx, same_rows(again, set(again.entries), moved(fresh, entries)), {})
        return tx

    assert identities(commit(handle, stage_again, work="test").table.metadata_location, "n") == left


def test_files_without_ids_do_not_take_the_place_of_others(handle: TableHandle) -> None:
    table = append(handle, [5, 6])
    head, tx = head_of(table), transaction(table)
    what = same_rows(head, set(head.entries), written(table, [5, 6]))

    with pytest.raises(AuditFailedError, match="does not add up"):
        stage_same_rows(tx, what, {})


@pytest.mark.parametrize("rows", [(), (9,)], ids=["no rows", "rows"])
def test_a_commit_after_one_of_another_branch_is_a_conflict(
    handle: TableHandle, rows: tuple[int, ...]
) -> None:
    table = append(handle, [1])
    tx = transaction(table)
    append_files(tx, written(table, [2]), {})
    table.manage_snapshots().create_branch(head_of(table).snapshot.snapshot_id, "other").commit()
    other = transaction(handle.load())
    added = _Append(Operation.APPEND, other, table.io, branch="other")
    for file in written(table, rows) if rows else ():
        added.append_data_file(file)
    added.commit()
    other.commit_transaction()

    with pytest.raises(Exception, match=r"row id|sequence number") as refused:
        handle.catalog.commit_table(table, tx._requirements, tx._updates)

    assert is_conflict(refused.value)
    assert sorted(append(handle, [3]).scan().to_arrow()["n"].to_pylist()) == [1, 3]


def vector(table: Table, entry: ManifestEntry, *gone: int) -> DataFile:
    """Deletes rows of a file, by their places among those that are left."""
    ((file, deletes),) = deletes_by_file(table, [entry])
    old = old_file(table, file, deletes, Origin.of(entry))
    written = write_vector(file_layout(table), str(uuid4()), old, np.array(gone))
    return vector_entry(written, entry.data_file)


def put(handle: TableHandle, read: Table, vectors: Sequence[DataFile], *added: int) -> Table:
    """Commits vectors that were written for a head, and a file with some numbers."""
    heeded = head_of(read).delete_manifests

    def stage(table: Table) -> Transaction:
        tx = transaction(table)
        files = moved_in(table, added) if added else ()
        put_in_place(tx, table, (), StagedFiles(files), {}, heeded, vectors)
        return tx

    return commit(handle, stage, work="test").table


def moved_in(table: Table, numbers: Sequence[int]) -> tuple[DataFile, ...]:
    """A file of new rows, with columns for their ids."""
    layout = file_layout(table)
    rows = pa.Table.from_pylist([{"n": n, "text": ""} for n in numbers], schema=layout.schema)
    result = move_rows(layout, str(uuid4()), (), None, rows.to_batches())
    return tuple(data_file(table, file) for file in result.files)


def numbers(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["n"].to_pylist())


def test_a_vector_takes_the_place_of_the_one_before_and_totals_tell_it(handle: TableHandle) -> None:
    table = append(handle, [1, 2, 3, 4], [5, 6])
    (first,) = (e for e in head_of(table).entries.values() if e.data_file.record_count == 4)
    table = put(handle, table, [vector(table, first, 1)], 20)
    assert numbers(table) == [1, 3, 4, 5, 6, 20]

    table = put(handle, table, [vector(table, first, 2)])  # the third of those that are left

    assert numbers(table) == [1, 3, 5, 6, 20]
    (entry,) = head_of(table).deleting
    assert (entry.data_file.record_count, entry.data_file.file_format) == (2, FileFormat.PUFFIN)
    summary = summary_of(table.current_snapshot())
    totals = {name: summary[f"total-{name}"] for name in ("records", "delete-files", "position-deletes")}
    assert totals == {"records": "7", "delete-files": "1", "position-deletes": "2"}
    operations = [s.summary.operation for s in table.snapshots()[-2:] if s.summary]
    assert operations == [Operation.OVERWRITE, Operation.DELETE]


def test_a_vector_of_a_head_that_others_changed_is_refused(handle: TableHandle) -> None:
    table = append(handle, [1, 2, 3, 4])
    (first,) = head_of(table).entries.values()
    late = vector(table, first, 0)
    now = put(handle, table, [vector(table, first, 1)])

    with pytest.raises(CommitConflictError, match="deleted rows"):
        put(handle, table, [late])
    assert numbers(handle.load()) == [1, 3, 4]

    stale, head = vector(now, first, 0), head_of(now)
    replace_file(handle, head)
    with pytest.raises(CommitConflictError, match=r"deleted rows|written anew"):
        put(handle, now, [stale])
    assert numbers(handle.load()) == [1, 3, 4]


def replace_file(handle: TableHandle, head: Head) -> None:
    """Writes all files of a head anew, as a compaction does."""

    def stage(table: Table) -> Transaction:
        by_file = deletes_by_file(table, head.entries.values())
        old = [old_file(table, f, d, Origin.of(head.entries[f.file_path])) for f, d in by_file]
        result = move_rows(file_layout(table), str(uuid4()), old, None, ())
        files = [data_file(table, file) for file in result.files]
        tx = transaction(table)
        stage_same_rows(tx, same_rows(head, head.entries.keys(), files), {})
        return tx

    commit(handle, stage, work="test")


def test_a_column_may_not_be_called_as_row_ids_are(catalog: Catalog) -> None:
    handle = TableHandle(catalog, TableName("v3", "taken"))
    table = create_table(handle, (Field("_row_id", Primitive("long")),), (), {"format-version": "3"})

    with pytest.raises(DifferentError, match="has a column _row_id"):
        file_layout(table)

    table.update_schema().rename_column("_row_id", "row_number").commit()
    assert file_layout(handle.load())


def test_a_catalog_that_makes_an_older_version_is_refused_until_the_spec_asks_for_that(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = catalog.create_table

    def made(*args: Any, properties: dict[str, str], **more: Any) -> Table:
        return make(*args, properties={**properties, "format-version": "2"}, **more)

    monkeypatch.setattr(catalog, "create_table", made)
    handle = TableHandle(catalog, TableName("v3", "older"))

    with pytest.raises(DifferentError, match="of Iceberg's format version 2, not 3") as refused:
        create_table(handle, FIELDS, (), {"format-version": "3"})

    assert "Write format_version: 2" in refused.value.todo
    assert create_table(handle, FIELDS, (), {"format-version": "2"}).metadata.format_version == 2


def test_a_table_that_tableflow_writes_has_the_version_that_tableflow_gives_it() -> None:
    with pytest.raises(ValueError, match="format_version: 3 is for tables that Frazil makes"):
        TableSpec.model_validate({"topic": "t", "mode": "tableflow", "format_version": 3})


def upgradable(catalog: Catalog, name: str, fields: Sequence[Field] = FIELDS) -> TableHandle:
    handle = TableHandle(catalog, TableName("v3", name))
    create_table(handle, fields, (), {})
    return handle


def spec_of(name: str, **more: Any) -> TableSpec:
    return TableSpec.model_validate({"topic": name, "namespace": "v3", "table": name, "publish": [], **more})


def test_an_upgrade_gives_ids_to_all_rows_in_one_commit(catalog: Catalog, clients: Clients) -> None:
    handle = upgradable(catalog, "old")
    append(handle, [5, 6], [7])
    before = append(handle, [1])

    planned = upgrade(spec_of("old"), clients, dry_run=True)
    assert handle.load().metadata_location == before.metadata_location
    report = upgrade(spec_of("old"), clients)

    assert (planned.rows, planned.dry_run) == (4, True)
    assert (report.before, report.after, report.rows) == (2, 3, 4)
    table = handle.load()
    assert table.metadata.format_version == 3
    assert len(table.snapshots()) == len(before.snapshots()) + 1
    ids_given = ids(table)
    assert set(ids_given.values()) == set(range(4))
    assert ids(append(handle, [9])) == ids_given | {9: 4}
    assert upgrade(spec_of("old"), clients).snapshot_id is None


def test_an_upgrade_is_refused_where_somebody_could_not_read_it(catalog: Catalog, clients: Clients) -> None:
    handle = upgradable(catalog, "shown")
    spec = spec_of("shown", publish=["glue"])

    with pytest.raises(ConfigureError, match="glue shows it"):
        upgrade(spec, clients)

    assert handle.load().metadata.format_version == 2
    assert upgrade(spec, clients, ["glue"]).after == 3


def test_a_table_with_a_column_of_that_name_is_not_upgraded(catalog: Catalog, clients: Clients) -> None:
    handle = upgradable(catalog, "named", (Field("_row_id", Primitive("long")),))

    with pytest.raises(DifferentError, match="has a column _row_id"):
        upgrade(spec_of("named"), clients)

    assert handle.load().metadata.format_version == 2


@pytest.mark.parametrize("with_ids", [True, False])
def test_files_of_another_engine_are_taken_over_with_the_ids_of_their_rows_or_not_at_all(
    handle: TableHandle, monkeypatch: pytest.MonkeyPatch, with_ids: bool
) -> None:
    table = append(handle, [1, 2], [3])
    begun, head = identities(table.metadata_location, "n"), head_of(table)
    monkeypatch.setattr(rewrite, "_refuse_without_ids", lambda *_: None)  # another engine might write so
    files = moved(table, list(head.entries.values())) if with_ids else written(table, [1, 2, 3])
    swap(handle, head, files)
    monkeypatch.undo()
    foreign = handle.load().metadata_location
    handle.catalog.drop_table(HANDLE.identifier)
    handle.catalog.register_table(HANDLE.identifier, table.metadata_location)
    after = append(handle, [9])

    if not with_ids:
        with pytest.raises(RepairError, match="do not say which rows had which ids"):
            adopt(handle, foreign)
        assert handle.load().metadata_location == after.metadata_location
        return
    adopt(handle, foreign)

    assert identities(handle.load().metadata_location, "n") == identities(after.metadata_location, "n")
    assert begun.items() <= identities(handle.load().metadata_location, "n").items()
    assert len(head_of(handle.load()).entries) == 2


def swap(handle: TableHandle, head: Head, files: Sequence[DataFile]) -> None:
    """Puts files in the place of all of a head."""

    def stage(table: Table) -> Transaction:
        tx = transaction(table)
        stage_same_rows(tx, same_rows(head, head.entries.keys(), files), {})
        return tx

    commit(handle, stage, work="test")
