"""A bucket that was copied elsewhere: its tables come back there, with metadata that names the new paths."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree, rmtree

import fastavro
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from frazil.clients import Clients
from frazil.errors import RepairError, UsageError
from frazil.settings.profile import Settings
from frazil.tables.format_v3.vectors import puffin_of
from frazil.upkeep.recovery.moves import Moves
from frazil.upkeep.recovery.rebuild import Order, rebuild_catalog
from frazil.upkeep.recovery.relocation import moved_vectors
from frazil.upkeep.recovery.report import Rebuilt
from kit.tables.commits import NAME, Lake, lake_on, landed
from kit.tables.delete_files import delete_by_position, live

OLD, NEW = "old", "new"


def catalog_of(folder: Path, name: str) -> SqlCatalog:
    return SqlCatalog("lake", uri=f"sqlite:///{folder}/{name}.db", warehouse=(folder / name).as_uri())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A table of two landings with a tag, and with deletes of another engine."""
    lake = lake_on(catalog_of(tmp_path, OLD))
    lake.table.manage_snapshots().create_tag(lake.head, "month").commit()
    landed(lake, 4, 5)
    first, second, _ = (entry.data_file for entry in live(lake.table))
    delete_by_position(lake.table, (first, [1]), (second, [0]))
    return lake


@pytest.fixture
def fresh(tmp_path: Path) -> SqlCatalog:
    return catalog_of(tmp_path, NEW)


def move(folder: Path) -> Moves:
    """Moves the bucket, and says so."""
    copytree(folder / OLD, folder / NEW, dirs_exist_ok=True)
    rmtree(folder / OLD)
    return Moves.parse([f"{(folder / OLD).as_uri()}/={(folder / NEW).as_uri()}"])


def rebuild(catalog: SqlCatalog, folder: Path, moves: Moves, *, dry_run: bool = False) -> Rebuilt:
    clients = Clients(Settings())
    clients.__dict__["catalog"] = catalog
    (done,) = rebuild_catalog(clients, Order((folder / NEW).as_uri(), moves=moves, dry_run=dry_run)).tables
    return done


def test_a_table_comes_back_at_its_new_place_with_its_rows_deletes_history_and_position(
    lake: Lake, fresh: SqlCatalog, tmp_path: Path
) -> None:
    before, quantities = lake.table.metadata, [0, 3, 4, 5]
    assert lake.quantities == quantities
    moves = move(tmp_path)
    old = {file: file.read_bytes() for file in (tmp_path / NEW).rglob("*") if file.is_file()}

    looked = rebuild(fresh, tmp_path, moves, dry_run=True)
    untouched = {*(tmp_path / NEW).rglob("*.*")} <= old.keys()
    done = rebuild(fresh, tmp_path, moves)

    here = Lake(fresh)
    assert (looked.outcome, untouched, done.outcome, done.unproven) == ("found", True, "rebuilt", ())
    assert looked.location == done.location == here.table.location()
    assert here.quantities == quantities
    assert [s.snapshot_id for s in here.table.snapshots()] == [s.snapshot_id for s in before.snapshots]
    assert here.table.metadata.refs == before.refs
    assert here.table.scan(snapshot_id=before.refs["month"].snapshot_id).to_arrow().num_rows == 4
    assert OLD not in texts_of(here.table)
    assert all(file.read_bytes() == content for file, content in old.items())

    landed(here, 6)
    assert here.quantities == [*quantities, 6]
    assert rebuild(fresh, tmp_path, moves).outcome == "there"


def test_a_rebuild_of_a_place_that_was_brought_there_before_needs_no_word_of_its_move(
    lake: Lake, fresh: SqlCatalog, tmp_path: Path
) -> None:
    rebuild(fresh, tmp_path, move(tmp_path))
    here = Lake(fresh)
    head = landed(here, 6)
    fresh.drop_table(NAME.identifier)

    done = rebuild(fresh, tmp_path, Moves())

    assert (done.outcome, done.unproven, here.head) == ("rebuilt", (), head)


def texts_of(table: Table) -> str:
    """All that a table's metadata says, its manifests and lists of them included, as fastavro reads them."""
    lists = [snapshot.manifest_list for snapshot in table.snapshots()]
    manifests = [m.manifest_path for snapshot in table.snapshots() for m in manifests_of(table, snapshot)]
    texts = [table.metadata.model_copy(update={"metadata_log": []}).model_dump_json()]
    for path in (*lists, *manifests):
        with Path(path.removeprefix("file://")).open("rb") as file:
            texts += map(repr, fastavro.reader(file))
    return " ".join(texts).replace(str(Path(table.location().removeprefix("file://")).parents[2]), "")


def manifests_of(table: Table, snapshot: Snapshot) -> list[ManifestFile]:
    return snapshot.manifests(table.io)


def test_manifests_keep_the_ids_and_the_numbers_that_they_had(
    lake: Lake, fresh: SqlCatalog, tmp_path: Path
) -> None:
    def sentences(table: Table) -> list[object]:
        return [
            (entry.status, entry.snapshot_id, entry.sequence_number, entry.file_sequence_number,
             entry.data_file.record_count, entry.data_file.column_sizes, entry.data_file.equality_ids)
            for snapshot in table.snapshots()
            for manifest in snapshot.manifests(table.io)
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        ]  # fmt: skip

    before = sentences(lake.table)
    rebuild(fresh, tmp_path, move(tmp_path))

    assert sentences(Lake(fresh).table) == before


def test_a_move_names_two_places_of_which_the_new_one_is_outside_of_the_old() -> None:
    moves = Moves.parse(["s3://a/b=s3://c", "s3a://d=s3://e/f/"])

    assert [moves.to(path) for path in ("s3://a/b/x=1/y", "s3://a/bc", "s3a://d/z", "s3://d")] == [
        "s3://c/x=1/y", "s3://a/bc", "s3://e/f/z", "s3://e/f",
    ]  # fmt: skip
    for wrong in ("s3://a", "s3://a=", "a=b", "s3://a=s3://a/", "s3://a=s3://a/copy"):
        with pytest.raises(UsageError, match="names no two places"):
            Moves.parse([wrong])


def test_a_file_of_vectors_whose_footer_is_compressed_is_refused() -> None:
    moves = Moves.parse(["s3://a=s3://b"])
    plain = puffin_of(b"vector", "s3://a/t/data/1.parquet", 1)
    compressed = bytearray(plain)
    compressed[-8] = 1

    assert b'"s3://b/t/data/1.parquet"' in moved_vectors(plain, moves)
    with pytest.raises(RepairError, match="compressed"):
        moved_vectors(bytes(compressed), moves)
