"""A catalog is rebuilt from files: which state of a table is taken, and what is said of the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from frazil.clients import Clients
from frazil.errors import (
    ConfigureError,
    FrazilError,
    MissingError,
    RepairError,
    UnnamedTableError,
    UsageError,
)
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.unnamed import give_up_unnamed, refuse_unnamed
from frazil.upkeep.recovery.rebuild import Order, rebuild_catalog
from frazil.upkeep.recovery.remaking import remake
from frazil.upkeep.recovery.report import Rebuilt
from frazil.upkeep.recovery.states import State
from kit.tables.commits import NAME, Lake, lake_on, landed


def catalog_of(folder: Path, name: str) -> SqlCatalog:
    return SqlCatalog("lake", uri=f"sqlite:///{folder}/{name}.db", warehouse=(folder / "bucket").as_uri())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A table of two landings, in a catalog that will be lost."""
    return lake_on(catalog_of(tmp_path, "lost"))


Rebuild = Callable[..., list[Rebuilt]]


@pytest.fixture
def fresh(tmp_path: Path) -> SqlCatalog:
    """A catalog without any table."""
    return catalog_of(tmp_path, "fresh")


@pytest.fixture
def rebuild(tmp_path: Path, fresh: SqlCatalog) -> Rebuild:
    """Rebuilds the fresh catalog from the bucket."""
    clients = Clients(Settings())
    clients.__dict__["catalog"] = fresh

    def rebuilt(prefix: str = (tmp_path / "bucket").as_uri(), **order: object) -> list[Rebuilt]:
        return list(rebuild_catalog(clients, Order(prefix, **order)).tables)  # type: ignore[arg-type]

    return rebuilt


def path_of(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def manifest_list(table: Table) -> Path:
    head = table.current_snapshot()
    assert head
    return path_of(head.manifest_list)


def why(done: list[Rebuilt]) -> FrazilError:
    (error,) = (each.error for each in done if each.error)
    return error


def test_a_table_comes_back_with_its_head_and_its_position(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog
) -> None:
    (done,) = rebuild()

    assert fresh.load_table(NAME.identifier).metadata == lake.table.metadata
    assert (done.outcome, done.rows, done.holds, done.unproven) == ("rebuilt", 4, "topic t up to 0: 4", ())


def test_a_table_that_the_catalog_has_is_left_alone(lake: Lake, rebuild: Rebuild, fresh: SqlCatalog) -> None:
    rebuild()
    own = Lake(fresh)
    landed(own, 4)
    head = own.head
    landed(lake, 4, 5)

    (again,) = rebuild()

    assert (again.outcome, own.head, again.unproven) == ("there", head, ())


def test_of_a_table_that_was_made_in_place_of_the_lost_one_it_is_said(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog, tmp_path: Path
) -> None:
    """A landing was quicker than the rebuild."""
    fresh.create_namespace(NAME.namespace)
    fresh.create_table(NAME.identifier, lake.table.schema(), location=(tmp_path / "else").as_uri())

    (done,) = rebuild()

    assert done.outcome == "there"
    assert "another table of that name" in done.unproven[0]


def test_a_dry_run_changes_nothing(lake: Lake, rebuild: Rebuild, fresh: SqlCatalog) -> None:
    (dry,) = rebuild(dry_run=True)

    assert (dry.outcome, dry.snapshot_id) == ("found", lake.head)
    assert fresh.list_namespaces() == []


def test_of_a_head_whose_files_are_gone_the_state_before_is_taken_and_it_is_said(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog
) -> None:
    sound = lake.head
    landed(lake, 4)
    newest = {task.file.file_path for task in lake.table.scan().plan_files()}
    before = {task.file.file_path for task in lake.table.scan(snapshot_id=sound).plan_files()}
    (added,) = newest - before
    path_of(added).unlink()

    (done,) = rebuild()

    assert Lake(fresh).head == sound
    assert done.outcome == "rebuilt"
    (doubt,) = done.unproven
    assert "passed over" in doubt
    assert added in doubt


def test_a_table_comes_back_as_it_was_at_a_moment(lake: Lake, rebuild: Rebuild, fresh: SqlCatalog) -> None:
    then, head = lake.table.metadata.last_updated_ms, lake.head
    landed(lake, 4)

    rebuild(as_of=datetime.fromtimestamp((then + 1) / 1000, UTC))

    assert Lake(fresh).head == head


def test_of_a_moment_before_all_that_is_there_it_is_said_when_that_began(
    lake: Lake, rebuild: Rebuild
) -> None:
    error = why(rebuild(as_of=datetime(2020, 1, 1, tzinfo=UTC)))

    assert isinstance(error, RepairError)
    assert "2020-01-01" in error.what
    assert f"{datetime.now(UTC):%F}" in error.todo
    assert [each.outcome for each in rebuild(as_of=datetime.now(UTC))] == ["rebuilt"]


def test_a_file_of_a_commit_that_was_refused_is_not_taken(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog, tmp_path: Path
) -> None:
    """The refused one is of the same number, and younger than the one that went through."""
    refused(lake, tmp_path)
    landed(lake, 4, 5)
    landed(lake, 6)

    (done,) = rebuild()

    assert Lake(fresh).head == lake.head
    assert done.unproven == ()


def test_where_two_files_may_be_the_newest_it_is_said(lake: Lake, rebuild: Rebuild, tmp_path: Path) -> None:
    other = refused(lake, tmp_path)
    landed(lake, 4)

    (done,) = rebuild()

    (doubt,) = done.unproven
    assert all(path in doubt for path in (other, lake.table.metadata_location))


def refused(lake: Lake, folder: Path) -> str:
    """Leaves the metadata file of a landing that another catalog took, and this one does not know."""
    elsewhere = catalog_of(folder, "elsewhere")
    elsewhere.create_namespace(NAME.namespace)
    elsewhere.register_table(NAME.identifier, lake.table.metadata_location)
    landed(Lake(elsewhere), 4, 5, 6)
    return Lake(elsewhere).table.metadata_location


def test_a_table_without_metadata_files_is_refused_and_what_is_there_is_said(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog
) -> None:
    files = {file: file.read_bytes() for file in path_of(lake.table.location()).rglob("*.metadata.json")}
    for file in files:
        file.unlink()

    error = why(rebuild())

    assert "no metadata file" in error.what
    assert "2 parquet" in error.where
    assert fresh.list_namespaces() == []
    for file, content in files.items():
        file.write_bytes(content)
    assert [each.outcome for each in rebuild()] == ["rebuilt"]


def test_a_table_of_which_no_state_with_rows_is_whole_comes_back_once_its_files_are_there_again(
    lake: Lake, rebuild: Rebuild
) -> None:
    lists = list(path_of(lake.table.location()).rglob("snap-*.avro"))
    files = {file: file.read_bytes() for file in lists}
    for file in files:
        file.unlink()

    error = why(rebuild())

    assert "no state of which all files are there" in error.what
    for file, content in files.items():
        file.write_bytes(content)
    assert [each.outcome for each in rebuild()] == ["rebuilt"]


def test_a_copy_of_a_bucket_at_another_place_is_refused(lake: Lake, rebuild: Rebuild, tmp_path: Path) -> None:
    location = lake.table.location()
    copytree(tmp_path / "bucket", tmp_path / "copy")
    rmtree(tmp_path / "bucket")

    error = why(rebuild((tmp_path / "copy").as_uri()))

    assert location in error.where
    assert "moved or copied" in error.where


def test_a_tag_whose_files_are_gone_is_named_and_the_table_comes_back(lake: Lake, rebuild: Rebuild) -> None:
    tagged = lake.table
    tagged.manage_snapshots().create_tag(lake.head, "month").commit()
    landed(lake, 4)
    manifest_list(tagged).unlink()

    (done,) = rebuild()

    assert (done.outcome, done.refs) == ("rebuilt", ("month",))
    assert any("tag month" in doubt for doubt in done.unproven)


def test_a_metadata_file_that_is_cut_is_passed_over(lake: Lake, rebuild: Rebuild, fresh: SqlCatalog) -> None:
    head = lake.head
    landed(lake, 4)
    newest = path_of(lake.table.metadata_location)
    newest.write_bytes(newest.read_bytes()[:1000])

    (done,) = rebuild()

    assert Lake(fresh).head == head
    assert any(newest.name in doubt for doubt in done.unproven)


def test_only_tables_that_are_named_come_back_and_a_name_that_is_not_there_is_an_error(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog
) -> None:
    with pytest.raises(MissingError, match=r"n\.other"):
        rebuild(tables=frozenset({TableName("n", "other")}))

    assert [each.table for each in rebuild(dry_run=True)] == [str(NAME)]
    assert [each.table for each in rebuild(tables=frozenset({NAME}))] == [str(NAME)]


def test_a_place_that_is_empty_or_none_is_an_error(lake: Lake, rebuild: Rebuild, tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no table below"):
        rebuild(f"{lake.table.location()}/data")
    with pytest.raises(UsageError):
        rebuild(f"{tmp_path}/bucket")
    assert [each.outcome for each in rebuild((tmp_path / "bucket").as_uri())] == ["rebuilt"]


def test_a_table_that_was_given_up_is_guarded_again_once_it_came_back(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog
) -> None:
    fresh.create_namespace(NAME.namespace)
    handle = TableHandle(fresh, NAME)
    give_up_unnamed(handle, dry_run=False)
    refuse_unnamed(handle, None)
    rebuild()

    fresh.drop_table(NAME.identifier)

    with pytest.raises(UnnamedTableError):
        refuse_unnamed(handle, None)


def test_what_a_rebuild_left_that_was_killed_while_it_asked_is_removed_by_the_next(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog
) -> None:
    fresh.create_namespace(NAME.namespace)
    left = fresh.create_table((NAME.namespace, "frazil_rebuild_1700000000_0a1b2c3d"), lake.table.schema())
    asking = (NAME.namespace, f"frazil_rebuild_{int(time.time())}_0a1b2c3d")
    fresh.create_table(asking, lake.table.schema())

    assert [each.table for each in rebuild()] == [str(NAME)]

    assert sorted(fresh.list_tables(NAME.namespace)) == [asking, NAME.identifier]
    assert not path_of(left.metadata_location).exists()


def test_a_catalog_that_would_count_partition_specs_otherwise_is_left_without_the_table(
    lake: Lake, rebuild: Rebuild, fresh: SqlCatalog
) -> None:
    metadata = lake.table.metadata
    later = [spec.model_copy(update={"spec_id": 1}) for spec in metadata.partition_specs]
    state = State("v1.metadata.json", metadata.model_copy(update={"partition_specs": later}))

    with pytest.raises(ConfigureError, match="can't name"):
        remake(TableHandle(fresh, NAME), state)

    assert fresh.list_namespaces() == []
    assert [each.outcome for each in rebuild()] == ["rebuilt"]  # as Glue does: it reads what it registers
