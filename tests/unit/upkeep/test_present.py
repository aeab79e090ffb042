"""Metadata is read once more where a file of it goes meanwhile, however the storage's client says so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.errors import RepairError
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.upkeep.storage import read_present

GONE = (
    FileNotFoundError("m0.avro"),
    OSError("AWS Error NO_SUCH_KEY"),
    OSError("AWS Error RESOURCE_NOT_FOUND"),
)
NAME = TableName("n", "t")


@pytest.fixture
def catalog(tmp_path: Path) -> InMemoryCatalog:
    memory = InMemoryCatalog("test", warehouse=tmp_path.as_uri())
    memory.create_namespace("n")
    memory.create_table("n.t", pa.schema([("a", pa.int64())]))
    return memory


@pytest.mark.parametrize("gone", GONE, ids=str)
def test_a_file_that_goes_meanwhile_costs_another_look(catalog: InMemoryCatalog, gone: OSError) -> None:
    errors = [gone]

    def read(table: Table) -> str:
        if errors:
            raise errors.pop()
        return table.name()[-1]

    assert read_present(TableHandle(catalog, NAME), read, "Nothing was changed.") == "t"


@pytest.mark.parametrize("gone", GONE, ids=str)
def test_one_that_is_lost_is_named_in_the_end(catalog: InMemoryCatalog, gone: OSError) -> None:
    def read(_: Table) -> None:
        raise gone

    with pytest.raises(RepairError, match="is missing") as raised:
        read_present(TableHandle(catalog, NAME), read, "Nothing was changed.")

    assert raised.value.where == str(gone)


def test_a_storage_that_fails_otherwise_is_asked_once(catalog: InMemoryCatalog) -> None:
    asked = []

    def read(table: Table) -> None:
        asked.append(table)
        raise OSError("AWS Error INTERNAL_FAILURE")

    with pytest.raises(OSError, match="INTERNAL_FAILURE"):
        read_present(TableHandle(catalog, NAME), read, "Nothing was changed.")

    assert len(asked) == 1
