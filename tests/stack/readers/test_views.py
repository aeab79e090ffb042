"""A view in the embedded catalog, as docs/readers.md makes it: Spark reads the newest record of each key."""

from __future__ import annotations

import re
from pathlib import Path

from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from frazil.connections import Connections
from frazil.tables.catalogs.client_properties import spark_properties
from frazil.tables.spark.session import open_spark
from kit.engines.tables.made import Landed, Maker, opt

PAGE = Path(__file__).parents[3] / "docs" / "readers.md"
FIELDS = {"id": "long", "name": opt("string")}


def customers(maker: Maker) -> Landed:
    """Changes in two landings; the newest of `b` is a null value, which ends it."""
    told = {"key_format": "string", "on_null_value": "keep", "current_by": ["key"]}
    made = maker.empty(FIELDS, **told)
    made.changed([("a", {"id": 1, "name": "old"}), ("b", {"id": 2, "name": "b"})])
    return made.changed([("a", {"id": 1, "name": "new"}), ("b", None), ("c", {"id": 3, "name": "c"})])


def with_views(connections: Connections) -> SparkSession:
    """A session whose catalog `viewed` is the stack's, with the setting that the page names."""
    spark = open_spark(connections.settings)
    own = {**spark_properties(connections.settings), "view-endpoints-supported": "true"}
    spark.conf.set("spark.sql.catalog.viewed", "org.apache.iceberg.spark.SparkCatalog")
    for name, value in own.items():
        spark.conf.set(f"spark.sql.catalog.viewed.{name}", value)
    return spark


def test_spark_reads_the_newest_records_by_a_view_in_the_catalog(connections: Connections) -> None:
    made = customers(Maker(connections))
    namespace, table = made.source.things.table.identifier
    (statement,) = re.findall(r"```sql\n(CREATE OR REPLACE VIEW .*?)```", PAGE.read_text(), re.DOTALL)
    own = statement.replace("customer_id", "key").replace("customers", f"viewed.{namespace}.{table}")

    with_views(connections).sql(own).collect()

    view = f"{namespace}.{table}_current"
    rows = with_views(connections).sql(f"SELECT key, name FROM viewed.{view}").collect()
    assert {row[0]: row[1] for row in rows} == {"a": "new", "c": "c"}
    assert len(rows) == 2
    told = {**connections.catalog.properties, "view-endpoints-supported": "true"}
    assert load_catalog("viewed", **told).view_exists(view)
