"""Tables made of others in the asset graph, on real servers: from a topic to a derived table's readers."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.description import op_name
from frazil.derive.derive import derive
from frazil.landing.land import land
from frazil.tables.catalogs.handle import TableHandle
from kit.graph.graphs import Graph, MakeGraph, all_paths, evaluation_of, failures, materialized, verdicts
from kit.readers.targets import snowflake_path

FLAGS = {
    "table": "flags",
    "sql": "SELECT symbol, quantity, quantity > 2 AS large,"
    " IF(quantity = 1, concat('quantity is one: ', quantity), NULL) AS `$$error` FROM {input}",
    "checks": [
        {"name": "small", "expect": "quantity < 3"},
        {"name": "few", "expect": "count(*) < 6", "on_failure": "stop"},
    ],
}


def key(path: tuple[str, ...]) -> str:
    return "/".join(path)


@pytest.fixture
def graph(make_graph: MakeGraph, instance: dg.DagsterInstance) -> Graph:
    """A topic of four trades, and a table made of it that calls one of them bad."""
    graph = make_graph({"publish": []}, derived=[FLAGS])
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(4)
    return graph


def test_a_derivation_that_nobody_told_of_is_noticed_by_the_upkeep_sensor(
    graph: Graph, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensors.unheard.GRACE", 0.0)
    connections, key_made = graph.topics[0].connections, dg.AssetKey(graph.made.iceberg_path)
    land(graph.topics[0].spec, connections)
    report = derive(graph.derived[0], connections)

    graph.tick("upkeep", instance)

    event = instance.get_latest_materialization_event(key_made)
    assert event
    assert event.asset_materialization
    assert event.asset_materialization.metadata["snapshot_id"].value == str(report.snapshot_id)


@pytest.mark.nightly
def test_records_reach_the_readers_of_a_derived_table_once_and_a_rebuild_makes_it_anew(
    graph: Graph, instance: dg.DagsterInstance
) -> None:
    landed, made = graph.things.iceberg_path, graph.made
    rebuild = {"ops": {op_name(made.iceberg_path): {"config": {"rebuild": True}}}}

    first = graph.run(instance, [landed, *all_paths(made)[1:], made.dead_letters_path])
    graph.topics[0].trades(2)
    second = graph.run(instance, [landed, made.iceberg_path])
    rebuilt = graph.run(instance, [made.iceberg_path], rebuild)

    assert [failures(run) for run in (first, second, rebuilt)] == ["", "", ""]
    assert [name for name, passed in verdicts(first).items() if not passed] == []
    assert {"row_count", "schema", "inputs_read", "glue_pointer"} <= set(verdicts(first))
    assert "query_agrees" not in verdicts(first)  # it reads all data, and is asked for
    readers = materialized(first)
    assert readers[key(snowflake_path(made))]["dagster/row_count"] == 3
    assert readers[key(made.dead_letters_path)]["by_reason"].records == [
        dg.TableRecord({"reason_code": "quantity is one", "count": 1})
    ]
    runs = [materialized(run)[key(made.iceberg_path)] for run in (first, second, rebuilt)]
    names_of_numbers = ("rows_read", "rows_added", "dead_letters", "total_rows")
    # No dead letters are no news, so they are not told.
    assert [tuple(run.get(name, 0) for name in names_of_numbers) for run in runs] == [
        (4, 3, 1, 3),
        (2, 2, 0, 5),
        (6, 5, 1, 5),
    ]
    facts = [{each.data["fact"] for each in run["derivation"].records} for run in runs]
    assert all("bytes read" in names_of_numbers for names_of_numbers in facts)  # what is zero is left out
    assert runs[0]["dagster/column_lineage"].deps_by_column["large"] == [
        dg.TableColumnDep(dg.AssetKey(landed), "quantity")
    ]
    table = TableHandle(graph.topics[0].connections.catalog, made.table).load().scan().to_arrow()["quantity"]
    assert sorted(table.to_pylist()) == [0, 2, 3, 4, 5]
    assert own_verdicts(graph, instance) == {"check_small": (False, 3), "check_few": (True, 0)}

    graph.topics[0].trades(1)
    stopped = graph.run(instance, [landed, made.iceberg_path], rebuild)

    assert "fail check few" in failures(stopped)
    assert own_verdicts(graph, instance) == {"check_small": (False, 4), "check_few": (False, 1)}


def own_verdicts(graph: Graph, instance: dg.DagsterInstance) -> dict[str, tuple[bool, object]]:
    """Of each check of the user's own whether it passed when it was asked last, and how many rows fail."""
    asset = dg.AssetKey(graph.made.iceberg_path)
    by_name: dict[str, tuple[bool, object]] = {}
    for name in ("check_small", "check_few"):
        newest = evaluation_of(instance, dg.AssetCheckKey(asset, name))
        failing = newest.metadata.get("failing")  # nothing that is zero is told
        by_name[name] = (newest.passed, failing.value if failing else 0)
    return by_name
