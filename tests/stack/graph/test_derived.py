"""Tables made of others in the asset graph, on real servers: from a topic to a derived table's readers."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.described import op_name
from frazil.catalogs.iceberg import load_table
from kit.graphs import Graph, MakeGraph, all_paths, failures, materialized, verdicts

FLAGS = {
    "table": "flags",
    "sql": "SELECT symbol, quantity, quantity > 2 AS large,"
    " IF(quantity < 0, concat('quantity is negative: ', quantity), NULL) AS `$$error` FROM {input}",
}


def key(path: tuple[str, ...]) -> str:
    return "/".join(path)


@pytest.fixture
def graph(make_graph: MakeGraph, instance: dg.DagsterInstance) -> Graph:
    """A topic, and a table made of it."""
    graph = make_graph({"publish": []}, derived=[FLAGS])
    graph.run(instance, [graph.things.kafka_path])
    return graph


def rows(graph: Graph) -> int:
    return load_table(graph.topics[0].connections.catalog, graph.made.table).scan().to_arrow().num_rows


def test_one_selection_takes_records_to_the_readers_of_a_derived_table(
    graph: Graph, instance: dg.DagsterInstance
) -> None:
    graph.topics[0].trades(4)
    made = graph.made

    result = graph.run(instance, [graph.things.iceberg_path, *all_paths(made)[1:], made.dead_letters_path])

    told = materialized(result)
    derived = told[key(made.iceberg_path)]
    assert failures(result) == ""
    assert [name for name, passed in verdicts(result).items() if not passed] == []
    assert {"row_count", "schema", "inputs_read", "query_agrees", "file_health"} <= set(verdicts(result))
    assert (derived["rows_added"], derived["rows_read"], derived["dagster/row_count"]) == (4, 4, 4)
    assert derived["bytes_read"] > 0
    assert told[key(made.snowflake_path)]["dagster/row_count"] == 4
    assert told[key(made.dead_letters_path)]["dagster/row_count"] == 0
    assert derived["dagster/column_lineage"].deps_by_column["large"] == [
        dg.TableColumnDep(dg.AssetKey(graph.things.iceberg_path), "quantity")
    ]


def test_a_second_run_reads_what_is_new_and_a_rebuild_all(graph: Graph, instance: dg.DagsterInstance) -> None:
    both, step = [graph.things.iceberg_path, graph.made.iceberg_path], op_name(graph.made.iceberg_path)
    graph.topics[0].trades(3)
    graph.run(instance, both)
    graph.topics[0].trades(2)

    second = materialized(graph.run(instance, both))[key(graph.made.iceberg_path)]
    config = {"ops": {step: {"config": {"rebuild": True}}}}
    rebuilt = materialized(graph.run(instance, both[1:], config))[key(graph.made.iceberg_path)]

    assert (second["rows_added"], second["total_rows"], second["whole_inputs"]) == (2, 5, False)
    assert (rebuilt["rows_added"], rebuilt["total_rows"], rebuilt["whole_inputs"]) == (5, 5, True)
    assert rows(graph) == 5
