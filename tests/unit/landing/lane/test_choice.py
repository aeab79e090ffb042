"""Which landings take the lane, and of which the rows go through Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.formats.columns import record_columns, table_fields
from frazil.formats.logical import Field, Primitive
from frazil.formats.plain import Plain
from frazil.formats.protocol import KEY, VALUE, HalfSchemas
from frazil.formats.record import RecordDecoder
from frazil.landing.lane.job import lane_of
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.layout import create_table

SETTINGS = Settings.load()
SPEC = TableSpec(topic="t", namespace="n", key_format="string", value_format="string")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    yield create_table(catalog, TableName("n", "t"), table_fields(SPEC, decoder().columns), (), {})
    catalog.close()


def decoder() -> RecordDecoder:
    """Of keys and values that are text."""
    plain = Plain("string")
    key, value = (plain.decoder(HalfSchemas(half, plain, "s")) for half in (KEY, VALUE))
    return RecordDecoder(key, value, record_columns(SPEC, key.columns, value.columns))


def session(**said: str) -> Any:
    """All that is asked of a Spark session: whether its workers lack something, and whose they are."""
    names = {"spark.frazil.lane": "closed", "spark.sql.artifact.isolation.enabled": "isolated"}
    return SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: said.get(names[name], default)))


def spec(**said: Any) -> TableSpec:
    return TableSpec.model_validate({**SPEC.model_dump(exclude_unset=True), **said})


def takes(table: Table, spec: TableSpec = SPEC, settings: Settings = SETTINGS, **said: str) -> bool:
    return lane_of(settings, session(**said), spec, decoder(), table) is not None


def test_a_plain_landing_takes_the_lane_and_its_files_live_until_half_of_an_orphans_age(table: Table) -> None:
    lane = lane_of(SETTINGS, session(), spec(upkeep={"orphans_after": "4h"}), decoder(), table)

    assert lane
    assert lane.lives == 2 * 3600


@pytest.mark.parametrize("distribution", ["hash", "range"])
def test_rows_that_are_shuffled_or_sorted_are_sparks(table: Table, distribution: str) -> None:
    assert not takes(table, spec(write={"distribution": distribution}))


def test_a_sort_order_is_for_files_that_are_rewritten_and_keeps_no_landing_off_the_lane(table: Table) -> None:
    assert takes(table, spec(sort_by=["value"]))


def test_a_setting_keeps_landings_off_the_lane(table: Table) -> None:
    assert not takes(table, settings=SETTINGS.with_changes(spark={"lane": "spark"}))


def test_files_that_a_key_encrypts_keep_no_landing_off_the_lane(table: Table) -> None:
    assert takes(table, settings=SETTINGS.with_changes(s3={"kms_key": "arn:aws:kms:eu-central-1:1:key/k"}))


def test_a_session_whose_workers_lack_something_is_not_asked_again(table: Table) -> None:
    assert not takes(table, closed="closed")


def test_a_session_with_workers_of_its_own_would_leave_them_behind(table: Table) -> None:
    assert not takes(table, isolated="true")
    assert takes(table, isolated="false")


def test_files_that_go_as_orphans_soon_have_half_of_that_time(table: Table) -> None:
    lane = lane_of(SETTINGS, session(), spec(upkeep={"orphans_after": "30m"}), decoder(), table)

    assert lane
    assert lane.lives == 900


def test_a_column_of_a_type_that_arrow_can_not_make_of_the_records_is_sparks(tmp_path: Path) -> None:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    fields = [f for f in table_fields(SPEC, decoder().columns) if f.name != "value"]
    raw, time = (Field("value", Primitive(kind), optional=True) for kind in ("binary", "time"))

    assert takes(create_table(catalog, TableName("n", "raw"), [raw, *fields], (), {}))
    assert not takes(create_table(catalog, TableName("n", "time"), [time, *fields], (), {}))
    catalog.close()


@pytest.mark.parametrize("name", ["write.target-file-size-bytes", "write.parquet.page-size-bytes"])
def test_a_property_that_is_no_number_is_left_to_spark_which_says_so(table: Table, name: str) -> None:
    table.metadata.properties[name] = "much"

    assert not takes(table)


def test_versions_are_sparks_before_anything_is_asked() -> None:
    nobody: Any = None  # no decoder, no Spark, no table is looked at
    changes = TableSpec.model_construct(**{**SPEC.__dict__, "mode": "cdc", "versions": "all"})

    assert lane_of(SETTINGS, nobody, changes, nobody, nobody) is None
