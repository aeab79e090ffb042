"""Views that Frazil keeps in the catalog: Spark and Trino read by them what DuckDB finds in the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from pyiceberg.exceptions import CommitFailedException, NoSuchViewError
from pyspark.sql import SparkSession

from frazil.checks.run import run_check
from frazil.checks.targets.finding import find_drift, repair_drift
from frazil.connections import Connections
from frazil.doctor.catalog import ProbeTable
from frazil.errors import CommitConflictError, DifferentError, SpecError
from frazil.publishing.views import held
from frazil.publishing.views.target import Views
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.client_properties import spark_properties
from frazil.tables.spark.session import open_spark
from kit.engines import trino
from kit.engines.tables.made import Landed, Maker, opt
from kit.formats.formats import NAMESPACE
from kit.readers.duck import duckdb_on

FIELDS = {"id": "long", "name": opt("string")}
LOUD = "-- in Spark's SQL\nSELECT upper(name) AS loud, count(*) AS times FROM {table} GROUP BY name;\n"


def customers(connections: Connections, folder: Path) -> Landed:
    """Changes in two landings; the newest of `b` is a null value, which ends it."""
    (folder / "loud.sql").write_text(LOUD)
    settings = {"key_format": "string", "on_null_value": "keep", "current_by": ["key"]}
    more = {"publish": ["views"], "views": {"loud": folder / "loud.sql"}}
    made = Maker(connections).empty(FIELDS, **settings, **more)
    made.changed([("a", {"id": 1, "name": "old"}), ("b", {"id": 2, "name": "b"})])
    return made.changed([("a", {"id": 1, "name": "new"}), ("b", None), ("c", {"id": 3, "name": "c"})])


@cache
def with_views(connections: Connections) -> SparkSession:
    """A session whose catalog `viewed` is the stack's, with the setting that docs/views.md names."""
    spark = open_spark(connections.settings)
    own = {**spark_properties(connections.settings), "view-endpoints-supported": "true"}
    spark.conf.set("spark.sql.catalog.viewed", "org.apache.iceberg.spark.SparkCatalog")
    for name, value in own.items():
        spark.conf.set(f"spark.sql.catalog.viewed.{name}", value)
    return spark


def by_spark(made: Landed, end: str, columns: str) -> list[tuple[Any, ...]]:
    """Rows of a view, in order."""
    sql = f"SELECT {columns} FROM viewed.{made.source.name}_{end}"
    return sorted(map(tuple, with_views(made.connections).sql(sql).collect()), key=str)


def by_duckdb(made: Landed, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a query over the table `t`, in order."""
    with duckdb_on(made.connections.settings) as duck:
        duck.execute(f"CREATE VIEW t AS SELECT * FROM iceberg_scan('{made.table.metadata_location}')")
        return sorted(duck.execute(sql).fetchall(), key=str)


def test_spark_reads_by_each_view_what_duckdb_finds_in_the_table_also_when_that_gets_a_column(
    connections: Connections, tmp_path: Path
) -> None:
    made = customers(connections, tmp_path)
    target = Views(made.source.spec, connections.settings)

    first = target.sync(connections)
    clean, newest = by_spark(made, "clean", "*"), by_spark(made, "current", "key, name")
    loud = by_spark(made, "loud", "*")
    again = target.sync(connections)
    made.changed([("d", {"id": 4, "name": "d", "city": "Ulm"})], {**FIELDS, "city": opt("string")})
    later = run_check("views_current", made.source.spec, connections)
    (drift,) = find_drift([made.source.spec], connections)
    (repaired,), (followed,) = repair_drift(made.source.spec, [drift], connections)

    assert (first.changed, again.changed, followed.changed) == (True, False, True)
    assert clean == by_duckdb(made, "SELECT key, id, name FROM t WHERE key <> 'd'")
    assert newest == [("a", "new"), ("c", "c")]
    own = "SELECT upper(name), count(*) FROM t WHERE key <> 'd' GROUP BY name"
    assert loud == by_duckdb(made, own)
    table = made.source.things.table.table
    assert later.failed
    assert f"column {table}_clean.city is missing" in later.text
    assert (drift.state, repaired.state, repaired.repaired) == ("columns", "in step", True)
    assert by_spark(made, "clean", "*") == by_duckdb(made, "SELECT key, id, name, city FROM t")
    assert by_spark(made, "current", "key, city")[-1] == ("d", "Ulm")


def test_a_view_that_the_spec_names_no_more_goes_and_none_of_somebody_elses_is_touched(
    connections: Connections, tmp_path: Path
) -> None:
    made = customers(connections, tmp_path)
    namespace, table = made.source.things.table.identifier
    spark, catalog = with_views(connections), connections.catalog
    spark.sql(f"CREATE VIEW viewed.{namespace}.{table}_mine AS SELECT 1 AS one").collect()
    spark.sql(f"CREATE VIEW viewed.{namespace}.{table}_current AS SELECT 2 AS two").collect()
    target = Views(made.source.spec, connections.settings)

    with pytest.raises(DifferentError, match=f"{table}_current"):
        target.sync(connections)
    catalog.drop_view((namespace, f"{table}_current"))
    target.sync(connections)
    shown = Views(spec_without(made.source.spec), connections.settings).sync(connections)

    assert shown.facts == {"views": f"{table}_clean, {table}_current"}
    with pytest.raises(NoSuchViewError):
        catalog.load_view((namespace, f"{table}_loud"))
    target.drop(connections)
    assert target.read(connections) is None
    assert [name for *_, name in catalog.list_views(namespace) if name.startswith(table)] == [f"{table}_mine"]


def spec_without(spec: TableSpec) -> TableSpec:
    """The same without views of its own."""
    return spec.model_copy(update={"views": {}})


def test_what_is_no_query_is_refused_before_anything_is_made_of_it(
    connections: Connections, tmp_path: Path
) -> None:
    made = customers(connections, tmp_path)
    target = Views(made.source.spec, connections.settings)

    for text in ("DROP TABLE {table}", "SELECT nothing FROM {table}", "SELECT id, id FROM {table}"):
        (tmp_path / "loud.sql").write_text(text)
        with pytest.raises(SpecError, match=r"loud\.sql"):
            target.sync(connections)

    (tmp_path / "loud.sql").write_text(LOUD)
    assert target.sync(connections).changed


def test_a_view_that_somebody_changed_in_between_is_made_by_the_next_sync(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = customers(connections, tmp_path)
    target = Views(made.source.spec, connections.settings)
    target.sync(connections)
    (tmp_path / "loud.sql").write_text("SELECT count(*) AS every FROM {table}")

    def overtaken(*_: object) -> None:
        raise CommitFailedException("another uuid")

    with monkeypatch.context() as patched:
        patched.setattr(held, "replace_view", overtaken)
        with pytest.raises(CommitConflictError, match="_loud"):
            target.sync(connections)
    target.sync(connections)

    assert by_spark(made, "loud", "*") == by_duckdb(made, "SELECT count(*) FROM t")


def test_the_doctor_makes_a_view_and_leaves_none(connections: Connections) -> None:
    probe = ProbeTable(connections, NAMESPACE)
    probe.make()

    probe.view()
    probe.drop()

    assert not [n for *_, n in connections.catalog.list_views(NAMESPACE) if n.startswith(probe.name.table)]


def ask_trino(address: str, sql: str) -> list[list[Any]]:
    """The rows of a query."""
    headers = {"X-Trino-User": "tests"}
    page = json.load(urlopen(Request(f"{address}/v1/statement", sql.encode(), headers)))
    rows: list[list[Any]] = []
    while "nextUri" in page:
        page = json.load(urlopen(Request(page["nextUri"], headers=headers)))
        rows += page.get("data", [])
    assert "error" not in page, page["error"]["message"]
    return rows


@pytest.mark.nightly
@pytest.mark.skipif(not trino.is_there(), reason="Trino is not fetched, or has no Java: `make readers`")
def test_trino_reads_the_views_where_it_is_known_how_it_calls_the_catalog(
    connections: Connections, tmp_path: Path
) -> None:
    made = customers(connections, tmp_path)
    rest: Mapping[str, Any] = {"rest": connections.settings.rest.model_copy(update={"trino_catalog": "lake"})}
    Views(made.source.spec, connections.settings.model_copy(update=rest)).sync(connections)
    (tmp_path / "trino").mkdir()

    with trino.trino_on(connections.settings, tmp_path / "trino") as address:
        read = {
            end: sorted(
                map(tuple, ask_trino(address, f"SELECT * FROM lake.{made.source.name}_{end}")), key=str
            )
            for end in ("clean", "current")
        }

    assert read["clean"] == by_duckdb(made, "SELECT key, id, name FROM t")
    assert [row[:3] for row in read["current"]] == [("a", 1, "new"), ("c", 3, "c")]
