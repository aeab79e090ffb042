"""Tables made of others in the asset graph, without any server: what each says, and when it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.description import op_name
from frazil.cli.selection import select_derived, select_topics
from frazil.definitions import defs
from frazil.doctor.run import SYSTEMS
from frazil.errors import ConfigureError, SpecError

PIPELINE = """\
type: assets.topic_tables.TopicTables
attributes:
  tables:
    - topic: orders
      value_schema: order.avsc
---
type: assets.derived_tables.DerivedTables
attributes:
  owners: [team:shop]
  tables:
    - table: large_orders
      sql: large_orders.sql
      parameters: {large: 100}
      freshness: 5m
      tags: {domain: shop}
    - table: large_orders_by_customer
      kind: totals
      sql: large_orders_by_customer.sql
      publish: []
"""
LARGE = """\
SELECT customer, amount, amount * 2 AS twice, IF(amount < 0, 'amount is negative', NULL) AS `$$error`
FROM orders
WHERE amount > :large OR amount < 0
"""
TOTALS = "SELECT customer, count(*) AS orders, sum(amount) AS amount FROM large_orders GROUP BY customer\n"
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "customer", "type": "string"}, {"name": "amount", "type": "int"}],
}

ORDERS, LARGE_ORDERS = "iceberg/local/orders", "iceberg/local/large_orders"
GLUE, SNOWFLAKE = "glue/local/large_orders", "snowflake/frazil/local/large_orders"
LETTERS, BY_CUSTOMER = f"{LARGE_ORDERS}__dead_letters", "iceberg/local/large_orders_by_customer"
DERIVED = {LARGE_ORDERS, GLUE, SNOWFLAKE, LETTERS, BY_CUSTOMER}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's pipeline."""
    folder = tmp_path / "mine" / "shop"
    folder.mkdir(parents=True)
    (folder / "defs.yaml").write_text(PIPELINE)
    (folder / "order.avsc").write_text(json.dumps(ORDER))
    (folder / "large_orders.sql").write_text(LARGE)
    (folder / "large_orders_by_customer.sql").write_text(TOTALS)
    monkeypatch.setenv("FRAZIL_PIPELINES", str(folder.parent))
    return folder


@pytest.fixture
def specs(folder: Path) -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in defs().resolve_all_asset_specs()}


def key(path: str) -> dg.AssetKey:
    return dg.AssetKey.from_user_string(path)


def test_a_derived_table_hangs_on_its_inputs_and_its_readers_on_it(specs: dict[str, dg.AssetSpec]) -> None:
    edges = {path: [d.asset_key.to_user_string() for d in spec.deps] for path, spec in specs.items()}

    assert {path: edges[path] for path in DERIVED} == {
        LARGE_ORDERS: [ORDERS],
        LETTERS: [LARGE_ORDERS],
        GLUE: [LARGE_ORDERS],
        SNOWFLAKE: [GLUE],
        BY_CUSTOMER: [LARGE_ORDERS],
    }


def test_it_says_what_people_ask_for(specs: dict[str, dg.AssetSpec]) -> None:
    spec = specs[LARGE_ORDERS]

    assert (spec.group_name, list(spec.owners)) == ("shop", ["team:shop"])
    assert spec.tags.items() >= {"domain": "shop", "frazil/kind": "rows", "frazil/layer": "iceberg"}.items()
    assert spec.kinds == {"iceberg", "spark", "sql"}
    assert spec.freshness_policy is None, "quiet inputs make no table stale; the check inputs_read tells"
    assert "WHERE amount > :large" in spec.metadata["query"].value


def test_it_leads_to_its_lines_its_query_and_the_engine(specs: dict[str, dg.AssetSpec]) -> None:
    spec, sql, engine = specs[LARGE_ORDERS].metadata["dagster/code_references"].code_references

    assert (Path(spec.file_path).name, spec.line_number) == ("defs.yaml", 11)
    assert Path(sql.file_path).name == "large_orders.sql"
    assert engine.label == "derive"


def test_its_columns_and_where_they_come_from_are_known_before_the_first_run(
    specs: dict[str, dg.AssetSpec],
) -> None:
    columns = {c.name: c.type for c in specs[BY_CUSTOMER].metadata["dagster/column_schema"].columns}
    lineage = specs[BY_CUSTOMER].metadata["dagster/column_lineage"].deps_by_column

    assert columns == {"customer": "string", "orders": "long", "amount": "long"}
    assert "$$error" not in specs[LARGE_ORDERS].metadata["dagster/column_lineage"].deps_by_column
    assert lineage["amount"] == [dg.TableColumnDep(key(LARGE_ORDERS), "amount")]
    assert [c.name for c in specs[LARGE_ORDERS].metadata["dagster/column_schema"].columns] == [
        "customer", "amount", "twice",
    ]  # fmt: skip


def test_each_is_guarded_by_its_checks(folder: Path) -> None:
    by_asset: dict[str, set[str]] = {}
    for check in defs().resolve_asset_graph().asset_check_keys:
        by_asset.setdefault(check.asset_key.to_user_string(), set()).add(check.name)

    assert {path: names for path, names in by_asset.items() if path in DERIVED} == {
        LARGE_ORDERS: {"row_count", "schema", "inputs_read", "query_agrees", "file_health"},
        GLUE: {"glue_pointer"},
        SNOWFLAKE: {"snowflake_current"},
        BY_CUSTOMER: {"row_count", "schema", "inputs_read", "query_agrees", "file_health"},
    }


def requested(instance: dg.DagsterInstance, *events: Any) -> set[str]:
    """Which derived assets are asked for after something happened to a graph that was up to date."""
    graph, wanted = defs(), dg.AssetSelection.assets(*map(key, [ORDERS, *DERIVED]))
    for path in (ORDERS, LARGE_ORDERS, GLUE, SNOWFLAKE, LETTERS, BY_CUSTOMER):
        instance.report_runless_asset_event(dg.AssetMaterialization(key(path)))
    before = dg.evaluate_automation_conditions(graph, instance, asset_selection=wanted)
    assert before.total_requested == 0
    for event in events:
        instance.report_runless_asset_event(event)
    result = dg.evaluate_automation_conditions(graph, instance, asset_selection=wanted, cursor=before.cursor)
    return {path for path in DERIVED if result.get_num_requested(key(path))}


def test_all_that_is_made_of_a_topic_follows_its_landing_by_itself(
    folder: Path, instance: dg.DagsterInstance
) -> None:
    assert requested(instance, dg.AssetMaterialization(key(ORDERS))) == DERIVED


def test_nothing_is_derived_from_what_a_blocking_check_refuses(
    folder: Path, instance: dg.DagsterInstance
) -> None:
    refusal = dg.AssetCheckEvaluation(
        asset_key=key(ORDERS), check_name="row_count", passed=False, blocking=True
    )

    assert requested(instance, dg.AssetMaterialization(key(ORDERS)), refusal) == set()


def test_no_run_of_automation_reads_all_data_for_a_check(folder: Path) -> None:
    """Such a run takes along each check that has no condition of its own."""
    graph = defs().resolve_asset_graph()

    alone = {key.name for key in graph.asset_check_keys if graph.get(key).automation_condition}

    assert alone == {"query_agrees", "row_count_deep", "verified"} | {
        f"{system}_access" for system in SYSTEMS
    }


def test_a_table_made_by_a_function_is_an_asset_like_any_other(folder: Path) -> None:
    (folder / "spread.py").write_text("def derive(inputs, parameters):\n    return inputs['orders']\n")
    table = "    - {table: spread, kind: full, python: spread.py, inputs: [orders], publish: []}\n"
    (folder / "defs.yaml").write_text(PIPELINE + table)

    spec = next(s for s in defs().resolve_all_asset_specs() if s.key == key("iceberg/local/spread"))

    assert [d.asset_key for d in spec.deps] == [key(ORDERS)]
    assert spec.kinds == {"iceberg", "spark", "python"}
    assert Path(spec.metadata["dagster/code_references"].code_references[1].file_path).name == "spread.py"
    assert "dagster/column_schema" not in spec.metadata


def test_a_rebuild_can_be_asked_for_in_the_launchpad(folder: Path) -> None:
    step = op_name(("iceberg", "local", "large_orders"))
    job = defs().resolve_implicit_global_asset_job_def()

    dg.validate_run_config(job, {"ops": {step: {"config": {"rebuild": True}}}})


def test_a_wrong_column_is_found_when_definitions_load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_STRICT", "true")
    (folder / "large_orders.sql").write_text(LARGE.replace("SELECT customer", "SELECT custommer"))

    with pytest.raises(SpecError, match=r"large_orders\.sql:1:8: .*custommer.*customer"):
        defs()


def test_commands_for_topics_refuse_derived_tables_and_the_other_way_round(folder: Path) -> None:
    with pytest.raises(ConfigureError, match="is made of other tables, not of a topic"):
        select_topics(["large_orders"], every=False)
    with pytest.raises(ConfigureError, match="is made of a topic, not of other tables"):
        select_derived(["orders"], every=False)

    assert [spec.topic for spec in select_topics((), every=True).specs] == ["orders"]
    assert len(select_derived((), every=True).specs) == 2


def test_tables_are_derived_after_those_that_they_are_made_of(folder: Path) -> None:
    selection = select_derived(["large_orders_by_customer", "large_orders"], every=False)

    assert [spec.table for spec in selection.specs] == ["large_orders", "large_orders_by_customer"]
