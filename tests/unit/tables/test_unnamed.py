"""A new table begins only where no other one lies that has rows and that the catalog does not name."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from frazil.errors import UnnamedTableError
from frazil.formats.logical import Field, Primitive
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table, load_with_head
from frazil.tables.metadata.unnamed import give_up_unnamed, refuse_unnamed
from kit.tables.commits import NAME, Lake, lake_on


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A table of two landings, in a catalog that will be lost."""
    return lake_on(_catalog(tmp_path, "lost"))


@pytest.fixture
def fresh(tmp_path: Path) -> TableHandle:
    """The same name in a catalog without any table."""
    return TableHandle(_catalog(tmp_path, "fresh"), NAME)


def _catalog(folder: Path, name: str) -> SqlCatalog:
    return SqlCatalog("lake", uri=f"sqlite:///{folder}/{name}.db", warehouse=(folder / "bucket").as_uri())


def begin(handle: TableHandle, location: str | None = None) -> Table:
    return create_table(handle, [Field("quantity", Primitive("long"), optional=True)], (), {}, location)


def test_no_table_is_made_on_the_files_of_one_that_its_catalog_lost(lake: Lake, fresh: TableHandle) -> None:
    with pytest.raises(UnnamedTableError) as met:
        begin(fresh)

    assert lake.table.metadata_location in met.value.where
    assert "4 rows" in met.value.where
    assert f"rebuild-catalog --from {lake.table.location().rpartition('/')[0]} --table n.t" in met.value.todo
    assert fresh.load_or_none() is None


def test_one_that_is_given_up_stays_and_a_later_one_with_rows_is_guarded_again(
    lake: Lake, fresh: TableHandle
) -> None:
    old = {file for file in _folder(lake).rglob("*") if file.is_file()}
    with pytest.raises(UnnamedTableError):
        begin(fresh)
    given_up = give_up_unnamed(fresh, dry_run=True)
    with pytest.raises(UnnamedTableError):
        begin(fresh)

    assert given_up == give_up_unnamed(fresh, dry_run=False)
    assert given_up
    begin(fresh).append(pa.table({"quantity": pa.array([1], pa.int64())}))
    fresh.catalog.drop_table(NAME.identifier)

    assert old <= {*_folder(lake).rglob("*")}
    with pytest.raises(UnnamedTableError, match=r"no table n\.t"):
        begin(fresh)


def test_what_is_left_of_a_table_that_never_had_rows_stops_none(lake: Lake, fresh: TableHandle) -> None:
    """Its maker died before the catalog knew of it, or just behind."""
    place = f"{lake.table.location()}_other"
    for _ in range(3):
        begin(fresh, place)
        fresh.catalog.drop_table(NAME.identifier)

    assert load_with_head(fresh) is None
    assert begin(fresh, place).current_snapshot()


def test_one_whose_folder_has_another_id_behind_its_name_counts(lake: Lake, fresh: TableHandle) -> None:
    """Some catalogs give each table a place of its own."""
    place, other = (f"{lake.table.location()}-{uuid4()}" for _ in range(2))

    with pytest.raises(UnnamedTableError, match="where it would be made"):
        begin(fresh, place)

    assert begin(fresh, other.replace("/t-", "/u-")).location().endswith(other[-36:])


def test_a_table_that_the_catalog_names_by_now_is_no_lost_one(lake: Lake) -> None:
    """Somebody else made it a moment ago."""
    refuse_unnamed(TableHandle(lake.catalog, NAME), None)

    assert begin(TableHandle(lake.catalog, NAME)).location() == lake.table.location()


def _folder(lake: Lake) -> Path:
    return Path(lake.table.location().removeprefix("file://"))


def test_the_newest_state_is_known_by_its_number_where_all_files_are_of_one_second(
    lake: Lake, fresh: TableHandle
) -> None:
    for number in range(10):
        lake.append(number)
    for file in _folder(lake).rglob("*.metadata.json"):
        os.utime(file, (1_700_000_000, 1_700_000_000))

    with pytest.raises(UnnamedTableError) as met:
        begin(fresh)

    assert lake.table.metadata_location in met.value.where
