"""A pipeline chooses one of the profile's connections."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.derive.tables import known_tables
from frazil.errors import SpecError
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings
from frazil.spec.names import things
from kit.stack.clusters import EU, write_clusters

SETTINGS = Settings(connections={EU: {}})


def test_topics_of_one_name_are_told_apart_by_the_connection(tmp_path: Path) -> None:
    pipelines = load_pipelines([write_clusters(tmp_path)], SETTINGS).all()

    names = [things(spec, SETTINGS) for pipeline in pipelines for spec in pipeline.tables]

    assert [n.kafka_path for n in names] == [("kafka", "orders"), ("kafka", EU, "orders")]
    assert [n.iceberg_path for n in names] == [
        ("iceberg", "local", "orders"),
        ("iceberg", "orders_eu", "orders"),
    ]


def test_a_query_reads_the_tables_of_its_own_connection(tmp_path: Path) -> None:
    tables = known_tables(load_pipelines([write_clusters(tmp_path)], SETTINGS), SETTINGS)

    assert tables.pipelines.broken == ()
    assert [str(name) for name in tables.columns] == [
        "local.orders", "orders_eu.orders", "local.large", "orders_eu.large",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pipeline", "sql", "expected"),
    [
        ("here", "SELECT id FROM orders_eu.orders", f"orders_eu.orders: a table of connection {EU}"),
        ("there", "SELECT id FROM local.orders", "local.orders: a table of no named connection"),
    ],
)
def test_a_query_that_reads_those_of_another_is_refused(
    tmp_path: Path, pipeline: str, sql: str, expected: str
) -> None:
    folder = write_clusters(tmp_path)
    (folder / pipeline / "large.sql").write_text(sql)

    (broken,) = known_tables(load_pipelines([folder], SETTINGS), SETTINGS).pipelines.broken

    assert broken.name == pipeline
    assert f"large.sql:1:16: {expected}" in broken.error.what


def test_a_connection_that_is_not_there_is_told_with_its_line_and_the_nearest_name(tmp_path: Path) -> None:
    folder = write_clusters(tmp_path, "orders-ue")

    with pytest.raises(SpecError) as refused:
        load_pipelines([folder], SETTINGS).all()

    assert refused.value.what == (
        f"{folder}/there/defs.yaml:3: connection: the profile has no connection 'orders-ue'; "
        f"did you mean '{EU}'?"
    )


def test_one_table_may_choose_another_than_its_pipeline(tmp_path: Path) -> None:
    folder = write_clusters(tmp_path)
    file = folder / "here" / "defs.yaml"
    file.write_text(file.read_text().replace("{topic: orders,", f"{{topic: refunds, connection: {EU},"))

    (spec,) = load_pipelines([folder], SETTINGS).sound[0].tables

    assert spec.connection == EU


def test_tables_of_two_connections_may_not_have_one_name(tmp_path: Path) -> None:
    same = Settings(connections={EU: {"cluster": "local"}})

    with pytest.raises(SpecError, match="iceberg/local/orders is there already"):
        load_pipelines([write_clusters(tmp_path)], same).all()
