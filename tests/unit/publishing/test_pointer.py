"""A target may name anything as a table's metadata: what no file can be is another's, and is not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.table import Table

from frazil.publishing.pointer import is_foreign, metadata_shown
from frazil.publishing.target import Shown
from kit.tables.commits import lake_of
from kit.wires.lying import LyingCatalog


@pytest.fixture
def table(two_landings: tuple[Path, str]) -> Table:
    folder, metadata = two_landings
    return lake_of(LyingCatalog(folder), metadata).table


def shown(location: str) -> Shown:
    return Shown(("glue", "n", "t"), ("iceberg", "n", "t"), "n.t", location, False, put="x")


@pytest.mark.parametrize("name", ["x" * 300 + ".json", "", ".", "..", "a\0b", "\ud800", "\u00fc" * 200])
def test_a_name_that_no_file_has_is_foreign(table: Table, name: str) -> None:
    location = f"{table.metadata_location.rpartition('/')[0]}/{name}"

    assert metadata_shown(table, location) is None
    assert is_foreign(table, shown(location))


@pytest.mark.usefixtures("garbage_waits")
@pytest.mark.parametrize(
    "text", ["", "[]", "7", '{"format-version": 2}', '{"format-version": "x"}', "[" * 10_000]
)
def test_a_file_that_is_no_metadata_is_foreign(table: Table, text: str) -> None:
    location = f"{table.metadata_location.rpartition('/')[0]}/other.metadata.json"
    Path(location.removeprefix("file://")).write_text(text, encoding="utf-8")

    assert metadata_shown(table, location) is None
    assert is_foreign(table, shown(location))


def test_a_file_that_is_gone_is_nobodys(table: Table) -> None:
    location = f"{table.metadata_location.rpartition('/')[0]}/gone.metadata.json"

    assert metadata_shown(table, location) is None
    assert not is_foreign(table, shown(location))
