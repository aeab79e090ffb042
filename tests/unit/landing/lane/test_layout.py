"""How a landing's tasks write, and what is refused before they begin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.errors import DifferentError
from frazil.formats.columns.columns import record_columns, table_fields
from frazil.formats.plain import Plain
from frazil.formats.protocol import KEY, VALUE, HalfSchemas
from frazil.formats.record import RecordDecoder
from frazil.landing.lane.job import Lane, lane_of
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table

SPEC = TableSpec(topic="t", namespace="n", key_format="string", value_format="string")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    yield create_table(
        TableHandle(catalog, TableName("n", "t")), table_fields(SPEC, decoder().columns), (), {}
    )
    catalog.close()


def decoder() -> RecordDecoder:
    """Of keys and values that are text."""
    plain = Plain("string")
    key, value = (plain.decoder(HalfSchemas(half, plain, "s")) for half in (KEY, VALUE))
    return RecordDecoder(key, value, record_columns(SPEC, key.columns, value.columns))


def lane(table: Table, **fields: Any) -> Lane:
    spec = TableSpec.model_validate({**SPEC.model_dump(exclude_unset=True), **fields})
    return lane_of(spec, decoder(), table)


@pytest.mark.parametrize(("age", "hours"), [("4h", 2), ("30m", 0.25), ("3d", 6)])
def test_files_that_go_as_orphans_soon_have_half_of_that_time_and_six_hours_at_most(
    table: Table, age: str, hours: float
) -> None:
    assert lane(table, upkeep={"orphans_after": age}).lives == hours * 3600


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.target-file-size-bytes", "much"), ("write.parquet.page-size-bytes", "1 MB"),
        ("write.format.default", "orc"), ("encryption.key-id", "k"),
    ],
)  # fmt: skip
def test_what_no_task_can_give_a_files_table_is_refused_before_anything_is_read(
    table: Table, name: str, value: str
) -> None:
    table.metadata.properties[name] = value

    with pytest.raises(DifferentError, match="asks something of its data files") as refused:
        lane(table)

    assert f"{name}={value}" in refused.value.where
    assert f"UNSET TBLPROPERTIES ('{name}')" in (refused.value.todo or "")
