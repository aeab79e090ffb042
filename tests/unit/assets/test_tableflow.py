"""A pipeline whose topic stays with Tableflow: the same four assets, none of which writes the table."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from frazil.definitions import defs
from kit.deployments.tableflow import CLUSTER, TOPIC, Logs, Tableflow, clients
from kit.graph.checkout import edges
from resources.connections import FrazilConnections

PIPELINE = f"""\
type: assets.topic_tables.TopicTables
attributes:
  tables:
    - topic: {TOPIC}
      mode: tableflow
---
type: assets.derived_tables.DerivedTables
attributes:
  tables:
    - table: buys
      namespace: trading
      sql: buys.sql
      publish: []
"""
TABLE = f"iceberg/{CLUSTER}/{TOPIC}"
KEY = dg.AssetKey(["iceberg", CLUSTER, TOPIC])


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One topic of Tableflow's, and a table made of it."""
    folder = tmp_path / "trading"
    folder.mkdir()
    (folder / "defs.yaml").write_text(PIPELINE)
    (folder / "buys.sql").write_text(f"SELECT symbol, quantity FROM `{CLUSTER}`.`{TOPIC}` WHERE side = 'BUY'")
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))
    monkeypatch.setenv("FRAZIL_KAFKA__CLUSTER_ID", CLUSTER)
    monkeypatch.setenv("FRAZIL_CATALOG", "glue")
    return tmp_path


def test_topic_table_glue_and_snowflake_are_assets_and_a_table_is_derived_from_it(pipeline: Path) -> None:
    assert edges(defs()) == {
        f"kafka/{TOPIC}": [],
        TABLE: [f"kafka/{TOPIC}"],
        f"glue/{CLUSTER}/{TOPIC}": [TABLE],
        "snowflake/frazil/lkc_5w1k2/stock_trades": [f"glue/{CLUSTER}/{TOPIC}"],
        "iceberg/trading/buys": [TABLE],
    }


def test_tableflows_table_and_frazils_own_of_one_topic_stand_side_by_side(pipeline: Path) -> None:
    file = pipeline / "trading" / "defs.yaml"
    both = f"{{topic: {TOPIC}, metadata: full, namespace: trading, publish: []}}"
    file.write_text(PIPELINE.replace("  tables:\n", f"  tables:\n    - {both}\n", 1))

    graph_edges = edges(defs())

    assert graph_edges["iceberg/trading/stock_trades"] == graph_edges[TABLE] == [f"kafka/{TOPIC}"]


def test_nothing_lands_it(pipeline: Path) -> None:
    definitions = defs()

    spec = next(s for s in definitions.resolve_all_asset_specs() if s.key == KEY)
    steps = {node.name for node in definitions.resolve_implicit_global_asset_job_def().nodes}

    assert spec.kinds == {"iceberg", "confluent"}
    assert "changes nothing" in (spec.description or "")
    assert spec.automation_condition is not None
    assert "trading_landing" not in steps


def test_materializing_it_tells_how_it_stands(
    pipeline: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    instance: dg.DagsterInstance,
    topics_end_with_records: None,
) -> None:
    catalog = SqlCatalog("glue", uri=f"sqlite:///{tmp_path}/catalog.sqlite", warehouse=tmp_path.as_uri())
    tableflow = Tableflow(catalog, tmp_path.as_uri())
    tableflow.enable()
    tableflow.commit({0: (0, 30), 1: (5, 20)})
    before = tableflow.table.metadata_location
    clients_now = clients(catalog, Logs(spans={0: (0, 40), 1: (5, 20)}))
    monkeypatch.setattr(FrazilConnections, "connections", clients_now)
    definitions = defs()

    made = dg.materialize([definitions.resolve_assets_def(KEY)], instance=instance)

    (materialization,) = made.asset_materializations_for_node("iceberg__lkc_5w1k2__stock_trades")
    metadata = materialization.metadata
    assert metadata["dagster/row_count"].value == 45
    assert metadata["lag"].value == 10
    assert metadata["freshness"].value is not None
    assert tableflow.table.metadata_location == before
